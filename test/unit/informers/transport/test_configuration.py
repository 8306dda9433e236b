import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest

from informers.testing import FakeApiServer
from informers.transport import ConfigurationError, ServerConfiguration, Transport, load_configuration
from informers.transport.credentials import TokenFile
from informers.transport.exec_plugin import ExecPlugin
from test.builders.items import PODS

IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def write_kubeconfig(
    directory: Path, *, user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None
) -> str:
    path = directory / "kubeconfig"
    path.write_bytes(
        msgspec.json.encode(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [
                    {"name": "one", "cluster": {"server": "https://server:6443/", **(cluster or {})}},
                    {"name": "two", "cluster": {"server": "https://two"}},
                ],
                "users": [{"name": "me", "user": user or {}}],
                "contexts": [
                    {"name": "first", "context": {"cluster": "one", "user": "me"}},
                    {"name": "second", "context": {"cluster": "two", "user": "me"}},
                ],
                "current-context": "first",
            }
        )
    )
    return str(path)


def load(kubeconfig: str = "", **arguments: Any) -> ServerConfiguration:
    return load_configuration(kubeconfig=kubeconfig, **{"environ": {}, **arguments})


@pytest.fixture
def service_account(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("pod-token")
    (tmp_path / "ca.crt").write_text("a certificate")
    return tmp_path


class TestWhere:
    def test_the_current_context_of_a_kubeconfig(self, tmp_path: Path) -> None:
        assert load(write_kubeconfig(tmp_path)).url == "https://server:6443"

    def test_another_context(self, tmp_path: Path) -> None:
        assert load(write_kubeconfig(tmp_path), context="second").url == "https://two"

    def test_the_kubeconfig_of_the_environment(self, tmp_path: Path) -> None:
        environ = {**IN_CLUSTER, "KUBECONFIG": write_kubeconfig(tmp_path)}
        assert load(environ=environ).url == "https://server:6443"

    def test_the_service_account_of_the_pod(self, service_account: Path) -> None:
        found = load(environ=IN_CLUSTER, service_account=service_account)
        assert found.url == "https://10.96.0.1:443"
        assert found.ca_file == str(service_account / "ca.crt")
        assert found.credentials.headers() == {"Authorization": "Bearer pod-token"}

    def test_master_overrides_the_url_and_nothing_else(self, tmp_path: Path, service_account: Path) -> None:
        kubeconfig = write_kubeconfig(tmp_path, user={"token": "t"})
        found = load(kubeconfig, master="https://elsewhere/")
        assert (found.url, found.credentials.headers()) == ("https://elsewhere", {"Authorization": "Bearer t"})
        found = load(environ=IN_CLUSTER, service_account=service_account, master="https://elsewhere")
        assert (found.url, found.credentials.headers()) == (
            "https://elsewhere",
            {"Authorization": "Bearer pod-token"},
        )

    def test_master_alone_is_enough(self) -> None:
        assert load(master="http://127.0.0.1:8001") == ServerConfiguration(
            url="http://127.0.0.1:8001", credentials=ServerConfiguration(url="").credentials
        )

    def test_what_was_found_is_logged_without_passwords(self, tmp_path: Path, logs: list[Any]) -> None:
        load(write_kubeconfig(tmp_path, cluster={"proxy-url": "http://user:secret@proxy:3128"}))
        (entry,) = logs
        assert entry["url"] == "https://server:6443"
        assert entry["proxy"] == "http://…@proxy:3128"
        assert entry["because"] == "proxy-url in the kubeconfig"


class TestAsWhom:
    def test_a_token(self, tmp_path: Path) -> None:
        found = load(write_kubeconfig(tmp_path, user={"token": "t"}))
        assert found.credentials.headers() == {"Authorization": "Bearer t"}
        assert not found.credentials.refresh(found.credentials.headers())

    def test_a_user_name_with_a_password(self, tmp_path: Path) -> None:
        found = load(write_kubeconfig(tmp_path, user={"username": "u", "password": "p"}))
        assert found.credentials.headers() == {"Authorization": "Basic dTpw"}

    def test_3_6_row_18_a_token_file_is_followed_and_comes_before_a_token(self, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text("from the file")
        found = load(write_kubeconfig(tmp_path, user={"tokenFile": "secret", "token": "from the kubeconfig"}))
        assert isinstance(found.credentials, TokenFile)
        assert found.credentials.headers() == {"Authorization": "Bearer from the file"}

    def test_3_6_row_19_a_plugin_is_not_run_before_a_request(self, tmp_path: Path) -> None:
        plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./missing"}
        assert isinstance(load(write_kubeconfig(tmp_path, user={"exec": plugin})).credentials, ExecPlugin)

    def test_certificates_in_files_and_inline(self, tmp_path: Path) -> None:
        for name in ("ca.crt", "me.crt"):
            (tmp_path / name).write_text(name)
        user = {"client-certificate": "me.crt", "client-key-data": base64.b64encode(b"a key").decode()}
        found = load(write_kubeconfig(tmp_path, user=user, cluster={"certificate-authority": "ca.crt"}))
        assert (found.ca_file, found.certificate_file) == (str(tmp_path / "ca.crt"), str(tmp_path / "me.crt"))
        assert Path(found.key_file).read_text() == "a key"

    def test_how_the_server_is_verified(self, tmp_path: Path) -> None:
        cluster = {"insecure-skip-tls-verify": True, "tls-server-name": "kubernetes.default"}
        found = load(write_kubeconfig(tmp_path, cluster=cluster))
        assert (found.verify, found.server_name) == (False, "kubernetes.default")


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            pytest.param({}, "--kubeconfig.*service account.*--master", id="nothing is there"),
            pytest.param({"kubeconfig": "/no/such/file"}, "no kubeconfig at /no/such/file", id="no such file"),
            pytest.param({"environ": IN_CLUSTER}, "service account in .*token", id="a pod without a token"),
        ],
    )
    def test_what_is_missing_is_named(self, tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigurationError, match=message):
            load(**{"service_account": tmp_path, **arguments})

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            pytest.param("", "empty", id="an empty file"),
            pytest.param("{{", "kubeconfig at", id="no YAML"),
            pytest.param("[1, 2]", "kubeconfig at", id="a list"),
            pytest.param("clusters: {a: b}", "kubeconfig at", id="clusters that are no list"),
            pytest.param("contexts: []", "current-context", id="no current context"),
        ],
    )
    def test_a_kubeconfig_that_cannot_be_used_is_named(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "kubeconfig"
        path.write_text(text)
        with pytest.raises(ConfigurationError, match=message):
            load(str(path))

    def test_an_unknown_context_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match="third"):
            load(write_kubeconfig(tmp_path), context="third")

    def test_impersonation_is_refused_rather_than_ignored(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match="impersonation"):
            load(write_kubeconfig(tmp_path, user={"token": "t", "as": "somebody"}))


def test_the_kubeconfig_of_the_fake_server_leads_to_it() -> None:
    with FakeApiServer(PODS, tokens=["t"]) as server, Transport(load(str(server.kubeconfig))) as api:
        assert api.request("GET", PODS.path()).code == 200
