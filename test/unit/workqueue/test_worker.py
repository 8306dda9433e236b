"""What becomes of a key when its reconcile has ended, and how a pool of workers ends (informers.md 1.8)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from clockwork import FakeClock, StopToken
from test.unit.workqueue.conftest import InBackground
from workqueue import (
    INITIAL_PRIORITY,
    Attempt,
    Done,
    ExponentialLimiter,
    PriorityOrder,
    Queue,
    Reconcile,
    RequeueAfter,
    Result,
    TerminalError,
    WorkerPool,
)

LIMIT_SECONDS = 30.0


@pytest.fixture
def stop(clock: FakeClock) -> StopToken:
    return StopToken(clock=clock)


@pytest.fixture
def queue(clock: FakeClock) -> Queue[str]:
    return Queue("test", clock=clock, limiter=ExponentialLimiter(1.0), order=PriorityOrder())


class Workers:
    """Starts pools on one queue, and knows when a single worker has gone idle."""

    def __init__(self, queue: Queue[str], stop: StopToken, clock: FakeClock) -> None:
        self.queue = queue
        self.stop = stop
        self.clock = clock
        self.pools: list[WorkerPool[str]] = []

    def start(self, reconcile: Reconcile[str], *keys: str, size: int = 1, **options: Any) -> WorkerPool[str]:
        """Add the keys and start a pool."""
        for key in keys:
            self.queue.add(key)
        pool = WorkerPool(self.queue, reconcile, size=size, stop=self.stop, clock=self.clock, **options)
        self.pools.append(pool)
        pool.start()
        return pool

    def await_idle(self) -> None:
        """Wait until the worker waits for the next delay; there is always one, far away."""
        self.clock.await_waiters(1)

    def step(self, seconds: float) -> None:
        """Let time pass up to the ready time of a key, and wait until the worker is idle again."""
        self.clock.step(seconds)
        self.await_idle()


@pytest.fixture
def workers(queue: Queue[str], stop: StopToken, clock: FakeClock) -> Iterator[Workers]:
    queue.add_after("far away", 1e6)
    workers = Workers(queue, stop, clock)
    yield workers
    stop.set("the test ended")
    for pool in workers.pools:
        assert pool.join(LIMIT_SECONDS) == []


class Script:
    """A reconcile function that plays a list of results and errors, then `Done`; it keeps what it was called with."""

    def __init__(self, *script: Result | BaseException) -> None:
        self.script = list(script)
        self.keys: list[str] = []
        self.attempts: list[Attempt] = []

    def __call__(self, key: str, attempt: Attempt) -> Result:
        self.keys.append(key)
        self.attempts.append(attempt)
        step = self.script.pop(0) if self.script else Done()
        if isinstance(step, BaseException):
            raise step
        return step


class Gate:
    """A reconcile function that says when it has been entered and waits to be let go."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.go = threading.Event()
        self.stops: list[StopToken] = []

    def __call__(self, key: str, attempt: Attempt) -> Result:
        self.stops.append(attempt.stop)
        self.entered.release()
        assert self.go.wait(LIMIT_SECONDS)
        return Done()

    def await_entered(self) -> None:
        assert self.entered.acquire(timeout=LIMIT_SECONDS)


def test_a_key_that_is_done_is_forgotten_and_not_seen_again(workers: Workers, queue: Queue[str]) -> None:
    reconcile = Script(ValueError("once"))
    pool = workers.start(reconcile, "foo")
    workers.await_idle()
    workers.step(1.0)
    assert reconcile.keys == ["foo", "foo"]
    assert queue.failures("foo") == 0
    assert queue.statistics().delayed == 1
    assert queue.statistics().processing == 0
    assert pool.endings() == {"failed": 1, "done": 1}


def test_a_key_that_asks_for_it_comes_back_later_without_its_failures(workers: Workers, queue: Queue[str]) -> None:
    reconcile = Script(ValueError("once"), RequeueAfter(30.0))
    pool = workers.start(reconcile, "foo")
    workers.await_idle()
    workers.step(1.0)
    assert queue.failures("foo") == 0
    workers.step(30.0)
    assert [attempt.number for attempt in reconcile.attempts] == [1, 2, 1]
    assert pool.endings() == {"failed": 1, "requeued": 1, "done": 1}


def test_Q13_a_key_whose_reconcile_raises_is_given_back_and_retried_with_growing_delays(
    workers: Workers, queue: Queue[str]
) -> None:
    reconcile = Script(ValueError("first"), ValueError("second"))
    with capture_logs() as logs:
        pool = workers.start(reconcile, "foo")
        workers.await_idle()
        assert queue.statistics().processing == 0
        workers.step(1.0)
        workers.step(2.0)
    assert [attempt.number for attempt in reconcile.attempts] == [1, 2, 3]
    assert pool.endings() == {"failed": 2, "done": 1}
    assert queue.statistics().retries_total == 2
    assert [(log["log_level"], log["queue"], log["key"], log["attempt"]) for log in logs] == [
        ("warning", "test", "foo", 1),
        ("warning", "test", "foo", 2),
    ]


def test_a_terminal_error_is_counted_and_logged_but_not_retried(workers: Workers, queue: Queue[str]) -> None:
    reconcile = Script(ValueError("once"), TerminalError("the spec is wrong"))
    with capture_logs() as logs:
        pool = workers.start(reconcile, "foo")
        workers.await_idle()
        workers.step(1.0)
    assert queue.failures("foo") == 0
    assert queue.statistics().delayed == 1
    assert pool.endings() == {"failed": 1, "terminal": 1}
    assert (logs[-1]["log_level"], logs[-1]["error"], logs[-1]["attempt"]) == ("error", "the spec is wrong", 2)


@pytest.mark.parametrize("bug", [KeyboardInterrupt(), GeneratorExit(), None], ids=["interrupt", "exit", "no result"])
def test_a_worker_survives_what_should_have_killed_it(
    bug: BaseException | None, workers: Workers, queue: Queue[str]
) -> None:
    reconcile = Script(bug)  # type: ignore[arg-type] # None stands for a function that returns nothing
    with capture_logs() as logs:
        pool = workers.start(reconcile, "foo")
        workers.await_idle()
        assert queue.statistics().processing == 0
        workers.step(1.0)
    assert reconcile.keys == ["foo", "foo"]
    assert pool.endings() == {"crashed": 1, "done": 1}
    assert [(log["log_level"], log["key"]) for log in logs] == [("critical", "foo")]


def test_a_worker_survives_a_broken_limiter(stop: StopToken, clock: FakeClock) -> None:
    class Broken(ExponentialLimiter[str]):
        def when(self, key: str) -> float:
            raise ZeroDivisionError(key)

    queue: Queue[str] = Queue("test", clock=clock, limiter=Broken())
    workers = Workers(queue, stop, clock)
    reconcile = Script(ValueError("once"), RequeueAfter(1e6))
    pool = workers.start(reconcile, "foo")
    workers.await_idle()
    workers.step(1.0)
    assert pool.endings() == {"crashed": 1, "requeued": 1}
    stop.set("the test ended")
    assert pool.join(LIMIT_SECONDS) == []


def test_the_exit_of_the_process_ends_the_worker_and_is_reported(workers: Workers, queue: Queue[str]) -> None:
    errors: list[BaseException] = []
    pool = workers.start(Script(SystemExit(3)), "foo", on_error=errors.append)
    assert pool.join(LIMIT_SECONDS) == []
    assert [type(error) for error in errors] == [SystemExit]
    assert queue.statistics().processing == 0


def test_a_reconcile_is_told_its_deadline(workers: Workers, clock: FakeClock) -> None:
    clock.step(100.0)
    reconcile = Script()
    workers.start(reconcile, "foo", deadline_seconds=30.0)
    workers.await_idle()
    (attempt,) = reconcile.attempts
    assert attempt.deadline == 130.0
    assert attempt.remaining_seconds() == 30.0
    clock.step(40.0)
    assert attempt.remaining_seconds() == 0.0


def test_a_retry_keeps_the_priority_of_its_key(workers: Workers, queue: Queue[str]) -> None:
    reconcile = Script(ValueError("low"), ValueError("high"))
    queue.add("low", priority=INITIAL_PRIORITY)
    queue.add_after("high", 0.0, priority=1)
    queue.forget("low")
    workers.start(reconcile)
    workers.await_idle()
    workers.step(1.0)
    assert reconcile.keys == ["high", "low", "high", "low"]


def test_several_workers_work_at_once_but_never_on_one_key(workers: Workers, queue: Queue[str]) -> None:
    gate = Gate()
    workers.start(gate, "foo", "bar", size=3)
    gate.await_entered()
    gate.await_entered()
    queue.add("foo")
    assert queue.statistics().processing == 2
    assert len(queue) == 0, "the third worker does not get a key that is in hand"
    gate.go.set()
    gate.await_entered()


def test_a_stop_lets_work_in_hand_finish_and_begins_none(workers: Workers, queue: Queue[str], stop: StopToken) -> None:
    gate = Gate()
    with capture_logs() as logs:
        pool = workers.start(gate, "in hand", "queued")
        gate.await_entered()
        stop.set("leadership was lost")
    assert [(log["event"], log["dropped"], log["reason"]) for log in logs] == [
        ("keys were dropped at the stop", 2, "leadership was lost")
    ]
    assert [token.is_set() for token in gate.stops] == [True]
    assert pool.join(0.0) == ["test-worker-0"]
    gate.go.set()
    assert pool.join(LIMIT_SECONDS) == []
    assert pool.endings() == {"done": 1}
    assert len(queue) == 0


def test_a_key_handed_out_while_the_stop_is_set_is_not_begun(
    workers: Workers, queue: Queue[str], stop: StopToken
) -> None:
    reconcile = Script()
    stop.set("stopped before the start")
    pool = workers.start(reconcile, "foo")
    assert pool.join(LIMIT_SECONDS) == []
    assert reconcile.keys == []


def test_a_drain_works_off_what_is_queued_before_the_stop(
    workers: Workers, queue: Queue[str], in_background: InBackground
) -> None:
    gate = Gate()
    pool = workers.start(gate, "in hand", "queued")
    gate.await_entered()
    drain = in_background(lambda: pool.stop(drain_seconds=10.0))
    gate.go.set()
    assert drain.result(LIMIT_SECONDS) == 1, "only the key that is far away"
    assert pool.join(LIMIT_SECONDS) == []
    assert pool.endings() == {"done": 2}


def test_a_drain_ends_at_its_deadline_and_tells_the_work_in_hand_to_stop(
    workers: Workers, clock: FakeClock, in_background: InBackground
) -> None:
    gate = Gate()
    pool = workers.start(gate, "in hand", "queued")
    gate.await_entered()
    drain = in_background(lambda: pool.stop(drain_seconds=10.0))
    clock.await_waiters(1)
    assert not gate.stops[0].is_set()
    clock.step(10.0)
    assert drain.result(LIMIT_SECONDS) == 2
    assert gate.stops[0].is_set()
    gate.go.set()
    assert pool.join(LIMIT_SECONDS) == []
    assert pool.endings() == {"done": 1}


def test_a_stop_during_a_drain_ends_it_at_once(
    workers: Workers, clock: FakeClock, stop: StopToken, in_background: InBackground
) -> None:
    gate = Gate()
    pool = workers.start(gate, "in hand", "queued")
    gate.await_entered()
    drain = in_background(lambda: pool.stop(drain_seconds=10.0))
    clock.await_waiters(1)
    stop.set("second signal")
    drain.result(LIMIT_SECONDS)
    gate.go.set()
    assert pool.join(LIMIT_SECONDS) == []
    assert pool.endings() == {"done": 1}


def test_stopping_the_workers_leaves_the_owners_token_alone(workers: Workers, stop: StopToken) -> None:
    pool = workers.start(Script())
    pool.stop()
    assert pool.join(LIMIT_SECONDS) == []
    assert not stop.is_set()
