import os
from pathlib import Path

import msgspec
import pytest

from clockwork import FakeClock, StopToken
from informers import errors
from informers.testing import FakeApiServer, faults
from informers.transport import ServerConfiguration, Transport
from informers.transport.credentials import Certificate, Headers
from informers.transport.tls import TlsContexts
from test.builders.certificates import Authority, CertificatePair
from test.builders.items import PODS
from test.builders.tasks import LIMIT_SECONDS, running

PATH = PODS.path()


def write_later(path: Path, text: str) -> None:
    """Write with an mtime that differs, however coarse the file system's clock is."""
    modified = path.stat().st_mtime
    path.write_text(text)
    os.utime(path, (modified + 1, modified + 1))


def write_authority(authority: Authority, directory: Path) -> Path:
    path = directory / "ca.crt"
    path.write_text(authority.certificate)
    return path


class CertificateOnly:
    """Credentials whose certificate a test can exchange."""

    def __init__(self, pair: CertificatePair) -> None:
        self.pair = pair

    def headers(self) -> Headers:
        return {}

    def certificate(self) -> Certificate | None:
        return self.pair

    def refresh(self, rejected: Headers) -> bool:
        return False


def test_a_server_that_the_authority_vouches_for_is_talked_to(tmp_path: Path) -> None:
    authority = Authority()
    with FakeApiServer(PODS, tls=authority.server_context(tmp_path)) as server:
        configuration = ServerConfiguration(url=server.url, ca_file=str(write_authority(authority, tmp_path)))
        with Transport(configuration) as api:
            assert api.request("GET", PATH).code == 200


def test_any_other_is_not(tmp_path: Path) -> None:
    with FakeApiServer(PODS, tls=Authority().server_context(tmp_path)) as server:
        configuration = ServerConfiguration(url=server.url, ca_file=str(write_authority(Authority(), tmp_path)))
        with Transport(configuration) as api, pytest.raises(errors.ConnectionLost, match="CERTIFICATE_VERIFY_FAILED"):
            api.request("GET", PATH, body=b"{}")
    assert server.requests == ()


def test_the_name_in_the_certificate_may_be_another_than_in_the_url(tmp_path: Path) -> None:
    authority = Authority()
    with FakeApiServer(PODS, tls=authority.server_context(tmp_path, host="kubernetes")) as server:
        configuration = ServerConfiguration(url=server.url, ca_file=str(write_authority(authority, tmp_path)))
        with Transport(configuration) as api, pytest.raises(errors.ConnectionLost):
            api.request("GET", PATH)
        with Transport(msgspec.structs.replace(configuration, server_name="kubernetes")) as api:
            assert api.request("GET", PATH).code == 200


def test_an_unverified_server_is_talked_to_with_a_warning(tmp_path: Path, logs: list[dict[str, object]]) -> None:
    with FakeApiServer(PODS, tls=Authority().server_context(tmp_path)) as server, server.transport() as api:
        assert api.request("GET", PATH).code == 200
    assert [entry["event"] for entry in logs] == ["the API server's certificate is not verified"]


def test_3_6_row_10_stop_wakes_a_reader_over_tls(tmp_path: Path) -> None:
    stop = StopToken()
    with FakeApiServer(PODS, tls=Authority().server_context(tmp_path)) as server, server.transport() as api:
        server.script(faults.SendBookmark())
        with api.stream(PATH, query={"watch": "1"}, stop=stop) as lines:
            reader = iter(lines)
            next(reader)
            with running(lambda: next(reader)) as waiting:
                stop.set("enough")
                with pytest.raises(errors.Stopped):
                    waiting.result(LIMIT_SECONDS)


def test_3_6_row_21_the_context_is_shared_and_made_anew_when_a_file_changes(tmp_path: Path) -> None:
    clock, old, new = FakeClock(), Authority("old"), Authority("new")
    path = write_authority(old, tmp_path)
    contexts = TlsContexts(ServerConfiguration(url="https://server", ca_file=str(path)), clock)
    first = contexts.current(None)
    assert contexts.current(None) is first
    write_later(path, new.certificate)
    assert contexts.current(None) is first, "files are looked at once a minute"
    clock.step(60)
    second = contexts.current(None)
    assert second is not first
    clock.step(60)
    assert contexts.current(None) is second


def test_3_6_row_21_an_authority_that_changed_is_found_after_a_failed_handshake(tmp_path: Path) -> None:
    clock, old, new = FakeClock(), Authority("old"), Authority("new")
    path = write_authority(old, tmp_path)
    with FakeApiServer(PODS, tls=new.server_context(tmp_path)) as server:
        configuration = ServerConfiguration(url=server.url, ca_file=str(path))
        with Transport(configuration, clock=clock) as api:
            with pytest.raises(errors.ConnectionLost):
                api.request("GET", PATH)
            write_later(path, new.certificate)
            assert api.request("GET", PATH).code == 200


def test_3_6_row_21_half_of_a_rotation_leaves_the_old_context(tmp_path: Path) -> None:
    clock, authority = FakeClock(), Authority()
    certificate, key = authority.issue("client").write(tmp_path, "client")
    configuration = ServerConfiguration(url="https://server", certificate_file=str(certificate), key_file=str(key))
    contexts = TlsContexts(configuration, clock)
    first = contexts.current(None)
    other = authority.issue("client")
    write_later(certificate, other.certificate)
    clock.step(60)
    assert contexts.current(None) is first
    write_later(key, other.key)
    clock.step(60)
    assert contexts.current(None) is not first


def test_3_6_row_19_a_certificate_of_the_credentials_makes_a_context_of_its_own(tmp_path: Path) -> None:
    authority = Authority()
    credentials = CertificateOnly(Authority().issue("client"))
    with FakeApiServer(PODS, tls=authority.server_context(tmp_path, wants_client=True)) as server:
        configuration = ServerConfiguration(
            url=server.url, ca_file=str(write_authority(authority, tmp_path)), credentials=credentials
        )
        with Transport(configuration) as api:
            with pytest.raises(errors.ConnectionLost):
                api.request("GET", PATH)
            credentials.pair = authority.issue("client")
            assert api.request("GET", PATH).code == 200


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    configuration = ServerConfiguration(url="https://127.0.0.1:1", ca_file=str(tmp_path / "missing"))
    with Transport(configuration) as api, pytest.raises(errors.ConnectionLost, match="TLS files"):
        api.request("GET", PATH)
