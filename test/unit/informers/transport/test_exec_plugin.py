import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clockwork import FakeClock
from informers import errors
from informers.testing import FakeApiServer
from informers.transport import ServerConfiguration, Transport
from informers.transport.exec_plugin import ExecPlugin, PluginCertificate
from test.builders.items import PODS

API_VERSION = "client.authentication.k8s.io/v1"


class Plugin:
    """A shell script that counts its runs and answers what the test wrote last."""

    def __init__(self, directory: Path, clock: FakeClock) -> None:
        self.directory = directory
        self.clock = clock
        self.script('echo run >> "$0.runs"; echo "$KUBERNETES_EXEC_INFO" > "$0.info"; cat "$0.answer"')

    def script(self, text: str) -> None:
        path = self.directory / "plugin"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)

    def answer(self, *, api_version: str = API_VERSION, expires_in: float | None = None, **status: str) -> None:
        if expires_in is not None:
            status["expirationTimestamp"] = (self.clock.wall() + timedelta(seconds=expires_in)).isoformat()
        credential = {"apiVersion": api_version, "kind": "ExecCredential", "status": status}
        (self.directory / "plugin.answer").write_bytes(msgspec.json.encode(credential))

    @property
    def runs(self) -> int:
        return len((self.directory / "plugin.runs").read_text().splitlines())

    @property
    def info(self) -> Any:
        return msgspec.json.decode((self.directory / "plugin.info").read_bytes())

    def credentials(self, *, timeout_seconds: float = 30.0, **spec: Any) -> ExecPlugin:
        return ExecPlugin(
            {"apiVersion": API_VERSION, "command": "./plugin", **spec},
            {"server": "https://server", "certificate-authority": "ca.crt"},
            self.directory,
            self.clock,
            timeout_seconds=timeout_seconds,
        )


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def plugin(tmp_path: Path, clock: FakeClock) -> Plugin:
    return Plugin(tmp_path, clock)


def test_3_6_row_19_credentials_are_kept_until_a_minute_before_they_expire(plugin: Plugin, clock: FakeClock) -> None:
    plugin.answer(token="t1", expires_in=600)
    credentials = plugin.credentials()
    assert credentials.headers() == {"Authorization": "Bearer t1"}
    plugin.answer(token="t2")
    clock.step(539)
    assert credentials.headers() == {"Authorization": "Bearer t1"}
    assert plugin.runs == 1
    clock.step(1)
    assert credentials.headers() == {"Authorization": "Bearer t2"}


def test_3_6_row_19_threads_share_one_run(plugin: Plugin) -> None:
    plugin.answer(token="t1")
    credentials = plugin.credentials()
    together = threading.Barrier(4)

    def ask() -> object:
        together.wait()
        return credentials.headers()

    with ThreadPoolExecutor(4) as executor:
        answers = [each.result() for each in [executor.submit(ask) for _ in range(4)]]
    assert answers == [{"Authorization": "Bearer t1"}] * 4
    assert plugin.runs == 1


def test_3_6_row_19_a_401_runs_it_once_more(plugin: Plugin) -> None:
    plugin.answer(token="t1")
    credentials = plugin.credentials()
    with (
        FakeApiServer(PODS, tokens=["t1"]) as server,
        Transport(ServerConfiguration(url=server.url, credentials=credentials)) as api,
    ):
        api.request("GET", PODS.path())
        plugin.answer(token="t2")
        server.expire_token("t1", replacement="t2")
        assert api.request("GET", PODS.path()).code == 200
    assert plugin.runs == 2


def test_3_6_row_19_a_401_to_what_another_thread_replaced_runs_nothing(plugin: Plugin) -> None:
    plugin.answer(token="t1")
    credentials = plugin.credentials()
    rejected = credentials.headers()
    plugin.answer(token="t2")
    assert credentials.refresh(rejected)
    assert credentials.refresh(rejected)
    assert plugin.runs == 2


def test_3_6_row_19_a_client_certificate_is_handed_on(plugin: Plugin) -> None:
    plugin.answer(clientCertificateData="CERT", clientKeyData="KEY")
    credentials = plugin.credentials()
    assert credentials.headers() == {}
    assert credentials.certificate() == PluginCertificate("CERT", "KEY")


def test_the_plugin_gets_its_arguments_environment_and_the_cluster(plugin: Plugin) -> None:
    plugin.script('echo "$@ $NAME" > "$0.seen"; echo "$KUBERNETES_EXEC_INFO" > "$0.info"; cat "$0.answer"')
    plugin.answer(token="t1")
    plugin.credentials(args=["a", "b"], env=[{"name": "NAME", "value": "v"}], provideClusterInfo=True).headers()
    assert (plugin.directory / "plugin.seen").read_text() == "a b v\n"
    assert plugin.info == {
        "apiVersion": API_VERSION,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://server"}},
    }


@pytest.mark.parametrize(
    ("script", "message"),
    [
        pytest.param("echo login first >&2; exit 3", "exited with 3: login first", id="3.6 row 19 it fails"),
        pytest.param("echo nonsense", "wrote no ExecCredential", id="it writes no JSON"),
        pytest.param('echo "{}"', "wrote no ExecCredential", id="it writes another object"),
        pytest.param("exec sleep 30", "did not end within 0.05 s", id="3.6 row 19 it hangs"),
    ],
)
def test_3_6_row_19_a_failure_is_raised_with_its_reason(plugin: Plugin, script: str, message: str) -> None:
    plugin.script(script)
    limit = 0.05 if "sleep" in script else 30.0
    with pytest.raises(errors.Unauthorized, match=message):
        plugin.credentials(timeout_seconds=limit).headers()


def test_3_6_row_19_after_a_failure_the_next_request_tries_again(plugin: Plugin) -> None:
    plugin.answer()
    credentials = plugin.credentials()
    with pytest.raises(errors.Unauthorized, match="neither a token nor a client certificate"):
        credentials.headers()
    plugin.answer(token="t1")
    assert credentials.headers() == {"Authorization": "Bearer t1"}


def test_an_answer_in_another_version_is_refused(plugin: Plugin) -> None:
    plugin.answer(api_version="client.authentication.k8s.io/v1beta1", token="t1")
    with pytest.raises(errors.Unauthorized, match="v1beta1"):
        plugin.credentials().headers()


def test_a_program_that_is_not_there_is_named_with_the_hint(plugin: Plugin) -> None:
    with pytest.raises(errors.Unauthorized, match=r"no-such-plugin.*install the login tool"):
        plugin.credentials(command="no-such-plugin", installHint="install the login tool").headers()
