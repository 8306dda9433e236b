from __future__ import annotations

from collections.abc import Callable

import pytest

from clockwork import FakeClock, OwnedThread, StopToken
from informers.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    ConnectionLost,
    ConnectionRefused,
    DecodeError,
    Forbidden,
    IdleTimeout,
    Invalid,
    NamespaceTerminating,
    ServerError,
    TooManyRequests,
)
from mpi_operator.events.write import Write
from mpi_operator.events.writer import RETRY_SECONDS, TRIES, Result, Writer
from test.builders.election import REAL_LIMIT_SECONDS, FixedRandom
from test.builders.event_server import EventServer

POST = Write(namespace="team", name="pi.1", manifest=b'{"metadata": {"name": "pi.1"}, "count": 2}')
PATCH = Write(namespace=POST.namespace, name=POST.name, manifest=POST.manifest, patch=b'{"count": 3}')
PATH = "/api/v1/namespaces/team/events/pi.1"


class Desk:
    """A writer in a thread of its own, on a fake clock."""

    def __init__(self, server: EventServer, *, jitter: float = 0.5) -> None:
        self.server = server
        self.clock = FakeClock()
        self.hurry = StopToken(clock=self.clock)
        self.abort = StopToken(clock=self.clock)
        self.results: list[Result] = []
        self._writer = Writer(server, "/api/v1", random=FixedRandom(jitter), hurry=self.hurry, abort=self.abort)

    def start(self, write: Write) -> OwnedThread:
        return OwnedThread("writing", lambda: self.results.append(self._writer.write(write))).start()

    def write(self, write: Write) -> Result:
        thread = self.start(write)
        assert thread.join(REAL_LIMIT_SECONDS)
        assert thread.error is None
        return self.results[-1]


def failing(error: ApiError, *, times: int = 1000) -> Callable[[str], None]:
    left = times

    def fail(_: str) -> None:
        nonlocal left
        if left:
            left -= 1
            raise error

    return fail


def test_a_first_event_is_posted_and_a_counted_one_patched() -> None:
    desk = Desk(EventServer())
    assert [desk.write(POST), desk.write(PATCH)] == [Result.WRITTEN, Result.WRITTEN]
    assert desk.server.requests == [("POST", "/api/v1/namespaces/team/events"), ("PATCH", PATH)]
    assert desk.server.events[PATH]["count"] == 3


def test_V7_a_patch_of_an_event_that_is_gone_is_followed_by_a_post_without_resource_version() -> None:
    desk = Desk(EventServer())
    assert desk.write(PATCH) is Result.WRITTEN
    assert desk.server.methods == ["PATCH", "POST"]
    assert desk.server.events[PATH] == {"metadata": {"name": "pi.1"}, "count": 2}


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(BadRequest("what?", code=400), id="V6 a request the server cannot understand is sent once"),
        pytest.param(Forbidden("no", code=403), id="V6 a forbidden one"),
        pytest.param(Invalid("no", code=422), id="V6 an invalid one"),
        pytest.param(TooManyRequests("later", code=429), id="V6 one too many"),
        pytest.param(ServerError("broken", code=503), id="V6 one the server failed at"),
        pytest.param(NamespaceTerminating("going", code=403), id="V6 one in a namespace that is going"),
    ],
)
@pytest.mark.parametrize("write", [POST, PATCH], ids=["post", "patch"])
def test_V6_what_the_server_refused_is_tried_once(error: ApiError, write: Write) -> None:
    desk = Desk(EventServer())
    desk.server.before = failing(error)
    assert desk.write(write) is Result.REFUSED
    assert len(desk.server.requests) == 1
    assert desk.clock.monotonic() == 0


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ConnectionLost("reset"), id="V6 a lost connection"),
        pytest.param(ConnectionRefused("nobody"), id="V6 a refused connection"),
        pytest.param(IdleTimeout("silence"), id="V6 silence"),
        pytest.param(DecodeError("half an answer"), id="V6 an answer that makes no sense"),
        pytest.param(ApiError("?"), id="V6 anything unknown"),
    ],
)
def test_V6_what_got_no_answer_is_tried_twelve_times_ten_seconds_apart(error: ApiError) -> None:
    desk = Desk(EventServer(), jitter=0.25)
    desk.server.before = failing(error)
    thread = desk.start(POST)
    delays: list[float | None] = []
    for _ in range(TRIES - 1):
        desk.clock.await_waiters(1)
        delays.append(desk.clock.next_deadline())
        desk.clock.step(delays[-1] or 0)
    assert thread.join(REAL_LIMIT_SECONDS)
    assert desk.results == [Result.UNREACHABLE]
    assert len(desk.server.requests) == TRIES == 12
    assert delays == [2.5] + [RETRY_SECONDS] * 10


def test_V6_what_fails_once_is_sent_twice() -> None:
    desk = Desk(EventServer())
    desk.server.before = failing(ConnectionLost("reset"), times=1)
    thread = desk.start(POST)
    desk.clock.await_waiters(1)
    desk.clock.step(5)
    assert thread.join(REAL_LIMIT_SECONDS)
    assert (desk.results, len(desk.server.requests)) == ([Result.WRITTEN], 2)


def test_a_post_whose_answer_was_lost_is_not_doubled() -> None:
    desk = Desk(EventServer())
    desk.server.after = failing(ConnectionLost("reset"), times=1)
    thread = desk.start(POST)
    desk.clock.await_waiters(1)
    desk.clock.step(5)
    assert thread.join(REAL_LIMIT_SECONDS)
    assert desk.results == [Result.WRITTEN]
    assert len(desk.server.events) == 1


def test_an_event_that_exists_is_passed_over_quietly() -> None:
    desk = Desk(EventServer())
    desk.server.before = failing(AlreadyExists("it exists", code=409))
    assert desk.write(POST) is Result.WRITTEN
    assert len(desk.server.requests) == 1


def test_V8_in_a_hurry_there_is_one_try_and_no_sleep() -> None:
    desk = Desk(EventServer())
    desk.server.before = failing(ConnectionLost("reset"))
    desk.hurry.set("closing")
    assert desk.write(POST) is Result.UNREACHABLE
    assert len(desk.server.requests) == 1


def test_V8_a_hurry_that_comes_while_sleeping_leaves_one_last_try() -> None:
    desk = Desk(EventServer())
    desk.server.before = failing(ConnectionLost("reset"))
    thread = desk.start(POST)
    desk.clock.await_waiters(1)
    desk.hurry.set("closing")
    assert thread.join(REAL_LIMIT_SECONDS)
    assert (desk.results, len(desk.server.requests)) == ([Result.UNREACHABLE], 2)


def test_an_abort_ends_even_the_try_under_way() -> None:
    desk = Desk(EventServer())
    desk.server.before = lambda _: desk.abort.set("time is over")
    assert desk.write(POST) is Result.UNREACHABLE
    assert (len(desk.server.requests), desk.server.events) == (1, {})
