"""An elector on a fake clock, with work that says what happens to it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random
from typing import Any

from clockwork import FakeClock, OwnedThread, StopToken
from informers.api import Api
from mpi_operator.events import EventType, ObjectReference
from mpi_operator.leader_election.config import Callbacks
from mpi_operator.leader_election.elector import Elector
from mpi_operator.leader_election.metrics import Metrics, NoMetrics
from mpi_operator.leader_election.outcome import Outcome
from test.builders.lease_server import LeaseServer, options

REAL_LIMIT_SECONDS = 30.0


class ListRecorder:
    """An `EventRecorder` that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[ObjectReference, EventType, str, str]] = []

    def event(
        self,
        regarding: ObjectReference,
        event_type: EventType,
        reason: str,
        message: str,
        *,
        action: str = "",
        related: ObjectReference | None = None,
    ) -> None:
        """Keep the event."""
        self.events.append((regarding, event_type, reason, message))

    @property
    def messages(self) -> list[str]:
        """The messages so far."""
        return [message for _, _, _, message in self.events]


class Diary:
    """What happened, in order; any thread writes, the test waits for entries."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._entries: list[str] = []

    def note(self, entry: str) -> None:
        """Add an entry."""
        with self._changed:
            self._entries.append(entry)
            self._changed.notify_all()

    def await_entry(self, entry: str) -> None:
        """Wait until `entry` is there."""
        with self._changed:
            assert self._changed.wait_for(lambda: entry in self._entries, REAL_LIMIT_SECONDS), self._entries

    @property
    def entries(self) -> list[str]:
        """All entries so far."""
        with self._changed:
            return list(self._entries)


def join_threads(name: str) -> None:
    """Wait for the end of every thread called `name`."""
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join(REAL_LIMIT_SECONDS)


class FixedRandom(Random):
    """Always gives the same number."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def random(self) -> float:
        """Return the number."""
        return self._value


class Bench:
    """One elector, its server, its clock, and a diary of what its callbacks saw.

    `api` takes the place of the server in memory. The work waits for its token, and the workers end when told, unless
    a test replaces `work` or `stop_workers`.
    """

    def __init__(
        self,
        server: LeaseServer,
        *,
        api: Api | None = None,
        jitter: float = 0.0,
        metrics: Metrics | None = None,
        **changes: Any,
    ) -> None:
        self.server = server
        self.clock = FakeClock()
        self.stop = StopToken(clock=self.clock)
        self.diary = Diary()
        self.recorder = ListRecorder()
        self.token: StopToken | None = None
        self.work: Callable[[StopToken], object] = lambda token: token.wait()
        self.stop_workers: Callable[[float], bool] = lambda _: True
        self.on_new_leader: Callable[[str], object] = lambda _: None
        self.outcome: Outcome | None = None
        self.elector = Elector(
            api or server,
            options(**changes),
            Callbacks(
                on_started=self._start,
                stop_workers=self._stop_workers,
                on_stopped=lambda: self.diary.note("stopped"),
                on_new_leader=self._greet,
            ),
            self.recorder,
            clock=self.clock,
            random=FixedRandom(jitter),
            metrics=metrics or NoMetrics(),
        )
        self._thread = OwnedThread("elector", self._run)

    def _run(self) -> None:
        self.outcome = self.elector.run(self.stop)

    def _start(self, token: StopToken) -> None:
        self.token = token
        self.diary.note("work started")
        try:
            self.work(token)
        finally:
            self.diary.note("work ended")

    def _stop_workers(self, timeout_seconds: float) -> bool:
        self.diary.note(f"stop workers within {timeout_seconds:g} s")
        have_ended = self.stop_workers(timeout_seconds)
        self.server.operations.append("workers have ended" if have_ended else "workers go on")
        return have_ended

    def _greet(self, identity: str) -> None:
        self.diary.note(f"new leader {identity}")
        self.on_new_leader(identity)

    def start(self) -> Bench:
        """Run the elector in a thread."""
        self._thread.start()
        return self

    def lead(self) -> Bench:
        """Run the elector, and wait until it leads and sleeps until its first renewal."""
        self.start()
        self.diary.await_entry("work started")
        self.clock.await_waiters(2)
        return self

    def step(self, seconds: float) -> None:
        """Let time go by for a leader, and wait until it sleeps again."""
        self.clock.step(seconds)
        self.clock.await_waiters(2)

    def finish(self) -> Outcome:
        """Wait for the end of the election; return its outcome."""
        assert self._thread.join(REAL_LIMIT_SECONDS), "the elector did not end"
        assert self._thread.error is None
        assert self.outcome is not None
        return self.outcome

    def finish_with_error(self) -> BaseException:
        """Wait for the end of the election; return what it raised."""
        assert self._thread.join(REAL_LIMIT_SECONDS), "the elector did not end"
        assert self._thread.error is not None
        return self._thread.error
