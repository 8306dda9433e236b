from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from structlog.testing import capture_logs

from clockwork import FakeClock, OwnedThread, StopToken
from informers.errors import ConnectionLost, Forbidden
from mpi_operator.leader_election.client import LeaseClient
from mpi_operator.leader_election.vacancy import Vacancy, is_vacated
from test.builders.election import REAL_LIMIT_SECONDS, FixedRandom
from test.builders.lease_server import LeaseServer, a_spec, options

HELD = {"spec": a_spec("other")}
EMPTY = {"spec": a_spec("")}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param({"type": "MODIFIED", "object": EMPTY}, True, id="its holder was emptied"),
        pytest.param({"type": "ADDED", "object": {}}, True, id="it was created without a spec"),
        pytest.param({"type": "DELETED", "object": HELD}, True, id="it was deleted while held"),
        pytest.param({"type": "MODIFIED", "object": HELD}, False, id="it was renewed"),
        pytest.param({"type": "BOOKMARK", "object": {"metadata": {}}}, False, id="a bookmark tells nothing"),
        pytest.param({"type": "ERROR", "object": {"kind": "Status", "code": 410}}, False, id="an error tells nothing"),
        pytest.param({"type": "MODIFIED", "object": {"spec": 3}}, False, id="what does not decode tells nothing"),
    ],
)
def test_a_line_of_a_watch_says_whether_the_lease_is_free(event: object, expected: bool) -> None:
    assert is_vacated(msgspec.json.encode(event)) is expected


class Standby:
    def __init__(self, server: LeaseServer) -> None:
        self.clock = FakeClock()
        self.stop = StopToken(clock=self.clock)
        self.server = server
        chosen = options()
        self.vacancy = Vacancy(LeaseClient(server, chosen), chosen, self.stop, self.clock, FixedRandom(0.5))

    def wait(self) -> OwnedThread:
        return OwnedThread("waiting", lambda: self.vacancy.wait(2)).start()


@pytest.fixture
def standby() -> Iterator[Standby]:
    standby = Standby(LeaseServer(a_spec("other")))
    yield standby
    standby.vacancy.close()


def test_a_wait_ends_when_its_time_is_over(standby: Standby) -> None:
    waiting = standby.wait()
    standby.clock.await_waiters(1)
    standby.clock.step(2)
    assert waiting.join(REAL_LIMIT_SECONDS)


def test_1_9_5_a_wait_ends_when_the_holder_empties(standby: Standby) -> None:
    waiting = standby.wait()
    standby.server.await_stream()
    standby.server.change(holderIdentity="")
    assert waiting.join(REAL_LIMIT_SECONDS)
    assert standby.clock.monotonic() == 0


def test_a_wait_ends_when_stopped(standby: Standby) -> None:
    waiting = standby.wait()
    standby.clock.await_waiters(1)
    standby.stop.set("SIGTERM")
    assert waiting.join(REAL_LIMIT_SECONDS)


def test_a_vacancy_is_told_once(standby: Standby) -> None:
    first = standby.wait()
    standby.server.await_stream()
    standby.server.change(holderIdentity="")
    assert first.join(REAL_LIMIT_SECONDS)
    second = standby.wait()
    standby.clock.await_waiters(1)
    assert second.is_alive()
    standby.clock.step(2)
    assert second.join(REAL_LIMIT_SECONDS)


def test_a_watch_that_ends_is_opened_again(standby: Standby) -> None:
    waiting = standby.wait()
    stream = standby.server.await_stream()
    assert stream.query == {"watch": "1", "fieldSelector": "metadata.name=mpi-operator", "timeoutSeconds": "450"}
    assert stream.idle_timeout == 30
    standby.clock.await_waiters(1)
    stream.stop()
    standby.clock.await_waiters(2)
    standby.clock.step(2)
    assert waiting.join(REAL_LIMIT_SECONDS)
    again = standby.wait()
    standby.clock.await_waiters(2)
    standby.clock.step(1)
    standby.server.await_stream()
    standby.server.change(holderIdentity="")
    assert again.join(REAL_LIMIT_SECONDS)


def test_a_watch_that_cannot_be_opened_is_tried_again() -> None:
    standby = Standby(LeaseServer(a_spec("other")))
    standby.server.watch_error = ConnectionLost("reset")
    waiting = standby.wait()
    standby.clock.await_waiters(2)
    standby.clock.step(2)
    assert waiting.join(REAL_LIMIT_SECONDS)
    standby.server.watch_error = None
    again = standby.wait()
    standby.clock.await_waiters(2)
    standby.clock.step(1)
    standby.server.await_stream()
    standby.server.change(holderIdentity="")
    assert again.join(REAL_LIMIT_SECONDS)
    standby.vacancy.close()


def test_a_failure_that_lasts_is_warned_of_once() -> None:
    standby = Standby(LeaseServer(a_spec("other")))
    standby.server.watch_error = Forbidden("leases may not be watched", code=403)
    with capture_logs() as logs:
        for _ in range(3):
            waiting = standby.wait()
            standby.clock.await_waiters(2)
            standby.clock.step(3)
            assert waiting.join(REAL_LIMIT_SECONDS)
        standby.clock.await_waiters(1)
        standby.vacancy.close()
    assert [log["log_level"] for log in logs] == ["warning", "debug", "debug", "debug"]


def test_no_thread_watches_before_the_first_wait(standby: Standby) -> None:
    assert standby.server.streams == []
