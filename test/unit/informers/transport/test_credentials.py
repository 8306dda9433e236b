import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from clockwork import FakeClock, StopToken
from informers import errors
from informers.testing import FakeApiServer
from informers.transport import ServerConfiguration, Transport
from informers.transport.credentials import FixedCredentials, TokenFile
from test.builders.items import PODS

PATH = PODS.path()
WATCH = {"watch": "1", "allowWatchBookmarks": "true"}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer(PODS, tokens=["old"]) as server:
        yield server


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("old\n")
    return path


def write_later(path: Path, text: str) -> None:
    modified = path.stat().st_mtime
    path.write_text(text)
    os.utime(path, (modified + 1, modified + 1))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_3_6_row_18_a_token_file_is_looked_at_at_most_once_a_minute(token: Path, clock: FakeClock) -> None:
    credentials = TokenFile(token, clock)
    assert credentials.headers() == bearer("old")
    write_later(token, "new")
    clock.step(59)
    assert credentials.headers() == bearer("old")
    clock.step(1)
    assert credentials.headers() == bearer("new")


def test_3_6_row_18_a_file_that_did_not_change_is_not_read(token: Path, clock: FakeClock) -> None:
    credentials = TokenFile(token, clock)
    credentials.headers()
    modified = token.stat().st_mtime
    token.write_text("unseen")
    os.utime(token, (modified, modified))
    clock.step(60)
    assert credentials.headers() == bearer("old")


def test_3_6_row_18_a_rejected_token_is_read_anew_at_once(token: Path, clock: FakeClock) -> None:
    credentials = TokenFile(token, clock)
    rejected = credentials.headers()
    write_later(token, "new")
    assert credentials.refresh(rejected)
    assert credentials.headers() == bearer("new")


def test_a_file_that_is_gone_for_a_moment_leaves_the_last_token(token: Path, clock: FakeClock) -> None:
    credentials = TokenFile(token, clock)
    credentials.headers()
    token.unlink()
    clock.step(60)
    assert credentials.headers() == bearer("old")


def test_an_error_of_credentials_says_for_what_they_were_wanted(server: FakeApiServer, clock: FakeClock) -> None:
    configuration = ServerConfiguration(url=server.url, credentials=TokenFile(Path("/no/such/token"), clock))
    with Transport(configuration) as api, pytest.raises(errors.Unauthorized, match="list pods: the token file"):
        api.request("GET", PATH, action="list pods")


@pytest.mark.parametrize("text", [None, " \n"], ids=["no file", "an empty file"])
def test_no_token_at_all_is_told_with_the_files_name(token: Path, clock: FakeClock, text: str | None) -> None:
    token.unlink()
    if text is not None:
        token.write_text(text)
    with pytest.raises(errors.Unauthorized, match=r"token file .*token"):
        TokenFile(token, clock).headers()


def test_3_6_row_18_a_401_makes_one_repetition_with_the_fresh_token(
    server: FakeApiServer, token: Path, clock: FakeClock
) -> None:
    with Transport(ServerConfiguration(url=server.url, credentials=TokenFile(token, clock)), clock=clock) as api:
        api.request("GET", PATH)
        write_later(token, "new")
        server.expire_token("old", replacement="new")
        assert api.request("POST", PODS.path(namespace="a"), body=b'{"metadata":{"name":"a"}}').code == 201
    assert [seen.headers["authorization"] for seen in server.requests] == ["Bearer old", "Bearer old", "Bearer new"]


def test_3_6_row_18_a_second_401_is_raised(server: FakeApiServer, token: Path, clock: FakeClock) -> None:
    server.expire_token("old")
    configuration = ServerConfiguration(url=server.url, credentials=TokenFile(token, clock))
    with Transport(configuration, clock=clock) as api, pytest.raises(errors.Unauthorized):
        api.request("GET", PATH)
    assert len(server.requests) == 2


def test_a_401_to_credentials_that_cannot_change_is_raised_at_once(server: FakeApiServer) -> None:
    configuration = ServerConfiguration(url=server.url, credentials=FixedCredentials(bearer("wrong")))
    with Transport(configuration) as api, pytest.raises(errors.Unauthorized):
        api.request("GET", PATH)
    assert len(server.requests) == 1


def test_3_6_row_18_a_watch_connects_with_the_fresh_token_and_outlives_its_expiry(
    server: FakeApiServer, token: Path, clock: FakeClock
) -> None:
    configuration = ServerConfiguration(url=server.url, credentials=TokenFile(token, clock))
    with (
        Transport(configuration, clock=clock) as api,
        api.stream(PATH, query=WATCH, stop=StopToken()) as lines,
    ):
        reader = iter(lines)
        server.await_watches(1)
        write_later(token, "new")
        server.expire_token("old", replacement="new")
        server.put(PODS, {"metadata": {"name": "a", "namespace": "team"}})
        assert b'"a"' in next(reader)
        with api.stream(PATH, query=WATCH, stop=StopToken()) as other:
            assert b'"a"' in next(iter(other))
