from __future__ import annotations

import threading
from collections.abc import Iterator
from unittest import mock

import pytest

from clockwork import FakeClock, OwnedThread
from informers.errors import ConnectionLost
from mpi_operator.events import Correlation, Counts, Recorder, Series, Source
from mpi_operator.events.write import Flavour
from test.builders.election import REAL_LIMIT_SECONDS, FixedRandom
from test.builders.event_server import EventServer, a_job, a_node

SOURCE = Source("mpi-job-controller")


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


class Desk:
    """A recorder on a fake clock, before a server that can be told to keep requests waiting."""

    def __init__(self, flavour: Flavour | None = None, *, capacity: int = 1000) -> None:
        self.server = EventServer()
        self.clock = FakeClock()
        self.go_on = threading.Event()
        self.recorder = Recorder(
            self.server, flavour or Correlation(SOURCE), clock=self.clock, random=FixedRandom(0.5), capacity=capacity
        )

    def record(self, message: str = "MPIJob team/pi is running") -> None:
        self.recorder.event(a_job(), "Normal", "MPIJobRunning", message)

    def hold(self) -> None:
        """Keep the server from answering until `go_on` is set."""
        self.server.before = lambda _: self.go_on.wait(REAL_LIMIT_SECONDS)

    def messages(self) -> list[str]:
        return [event["message"] for event in self.server.events.values()]


def test_V1_an_event_is_posted_and_its_repetition_patched() -> None:
    desk = Desk()
    desk.record()
    desk.record()
    assert desk.recorder.close(5)
    assert desk.server.methods == ["POST", "PATCH"]
    assert desk.server.only()["count"] == 2
    assert desk.recorder.counts() == Counts(written=2)


def test_B246_the_event_is_about_the_job_and_from_the_component() -> None:
    desk = Desk()
    desk.record()
    desk.recorder.close(5)
    event = desk.server.only()
    assert event["involvedObject"]["uid"] == "job-uid"
    assert (event["source"], event["reportingComponent"]) == (
        {"component": "mpi-job-controller"},
        "mpi-job-controller",
    )


def test_V9_an_event_about_a_cluster_scoped_object_goes_to_default() -> None:
    desk = Desk()
    desk.recorder.event(a_node(), "Warning", "Gone", "it is gone")
    desk.recorder.close(5)
    assert desk.server.requests == [("POST", "/api/v1/namespaces/default/events")]


def test_V10_what_was_recorded_before_closing_is_delivered() -> None:
    desk = Desk()
    desk.hold()
    for number in range(9):
        desk.record(f"message {number}")
    desk.server.await_requests(1)
    results: list[bool] = []
    closing = OwnedThread("closing", lambda: results.append(desk.recorder.close(5))).start()
    desk.clock.await_waiters(1)
    desk.go_on.set()
    assert closing.join(REAL_LIMIT_SECONDS)
    assert results == [True]
    assert desk.messages() == [f"message {number}" for number in range(9)]


def test_V10_after_closing_events_are_dropped_and_counted() -> None:
    desk = Desk()
    desk.recorder.close(5)
    desk.record()
    assert desk.server.requests == []
    assert desk.recorder.counts() == Counts(dropped_closed=1)


def test_V10_closing_again_changes_nothing() -> None:
    desk = Desk()
    desk.record()
    assert [desk.recorder.close(5) for _ in range(3)] == [True] * 3
    assert len(desk.server.events) == 1


def test_V10_closing_gives_up_at_its_deadline() -> None:
    desk = Desk()
    # A server that answers only once its request is aborted.
    desk.server.before = lambda _: desk.recorder._abort.wait()
    for number in range(3):
        desk.record(f"message {number}")
    desk.server.await_requests(1)
    results: list[bool] = []
    closing = OwnedThread("closing", lambda: results.append(desk.recorder.close(5))).start()
    desk.clock.await_waiters(1)
    desk.clock.step(5)
    assert closing.join(REAL_LIMIT_SECONDS)
    assert results == [False]
    assert desk.recorder.counts() == Counts(failed=1, dropped_closed=2)


def test_V10_closing_wakes_a_writer_that_waits_to_try_again() -> None:
    desk = Desk()

    def fail(_: str) -> None:
        raise ConnectionLost("reset")

    desk.server.before = fail
    desk.record()
    desk.clock.await_waiters(1)
    assert desk.recorder.close(5)
    assert len(desk.server.requests) == 2
    assert desk.clock.monotonic() == 0


def test_V11_two_recorders_share_nothing() -> None:
    first, second = Desk(), Desk()
    for desk in (first, second):
        desk.record()
        desk.recorder.close(5)
    assert [desk.server.only()["count"] for desk in (first, second)] == [1, 1]


def test_V12_a_second_event_during_the_first_post_is_a_series_of_the_same_object() -> None:
    desk = Desk(Series(SOURCE, started_at=0.0))
    desk.hold()
    desk.record()
    desk.server.await_requests(1)
    desk.record()
    desk.go_on.set()
    desk.server.await_requests(2)
    desk.recorder.close(5)
    assert desk.server.methods == ["POST", "PATCH"]
    assert desk.server.only()["series"]["count"] == 2


def test_V13_a_quiet_series_is_finished_by_time_alone() -> None:
    desk = Desk(Series(SOURCE, started_at=0.0))
    for _ in range(10):
        desk.record()
    desk.server.await_requests(2)
    desk.clock.await_waiters(1)
    assert desk.clock.next_deadline() == 360
    desk.clock.step(360)
    desk.server.await_requests(3)
    desk.recorder.close(5)
    assert desk.server.only()["series"]["count"] == 10
    assert desk.server.methods == ["POST", "PATCH", "PATCH"]


def test_1_10_3_closing_tells_what_a_series_had_not_told_yet() -> None:
    desk = Desk(Series(SOURCE, started_at=0.0))
    for _ in range(7):
        desk.record()
    desk.recorder.close(5)
    assert desk.server.only()["series"]["count"] == 7


def test_V16_a_full_queue_drops_and_counts_without_waiting() -> None:
    desk = Desk(capacity=2)
    desk.hold()
    desk.record("written")
    desk.server.await_requests(1)
    # The writer is in a request now, so the caller would wait for ever if it waited at all.
    for number in range(5):
        desk.record(f"message {number}")
    assert desk.recorder.counts().dropped_full == 3
    desk.go_on.set()
    desk.recorder.close(5)
    assert desk.messages() == ["written", "message 0", "message 1"]


def test_V16_the_queue_holds_a_thousand() -> None:
    desk = Desk()
    desk.hold()
    desk.record("written")
    desk.server.await_requests(1)
    for _ in range(1001):
        desk.record()
    assert desk.recorder.counts() == Counts(dropped_full=1)
    desk.go_on.set()
    desk.recorder.close(5)


def test_1_10_3_no_thread_exists_before_the_first_event() -> None:
    before = threading.active_count()
    desk = Desk()
    assert threading.active_count() == before
    desk.record()
    assert "event-recorder" in {thread.name for thread in threading.enumerate()}
    desk.recorder.close(5)


def test_an_event_that_cannot_be_built_does_not_stop_the_next() -> None:
    desk = Desk()
    desk.recorder.event(a_job(), "Normal", "Odd", b"bytes")  # type: ignore[arg-type]
    desk.record()
    desk.recorder.close(5)
    assert len(desk.server.events) == 1
    assert desk.recorder.counts() == Counts(written=1, failed=1)


def test_a_machine_without_threads_does_not_raise_into_the_caller() -> None:
    desk = Desk()
    with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
        desk.record("first")
    desk.record("second")
    desk.recorder.close(5)
    assert desk.messages() == ["first", "second"]


def test_a_machine_that_never_had_a_thread_drops_and_counts_at_closing() -> None:
    desk = Desk()
    with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
        desk.record()
    assert not desk.recorder.close(5)
    assert desk.recorder.counts() == Counts(dropped_closed=1)


def test_V2_what_the_spam_filter_leaves_out_is_counted() -> None:
    desk = Desk()
    for _ in range(27):
        desk.record()
    desk.recorder.close(5)
    assert desk.recorder.counts() == Counts(written=25, left_out=2)
