"""The recorder: takes events from any thread without making it wait, and has them written (informers.md 1.10.3)."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterable
from random import Random
from typing import Protocol

import msgspec
import structlog

from clockwork import Clock, OwnedThread, StopToken
from informers.api import Api
from mpi_operator.events.event import Event, EventType
from mpi_operator.events.reference import ObjectReference
from mpi_operator.events.write import Flavour, Write
from mpi_operator.events.writer import Result, Writer

CAPACITY = 1000
_ABORT_LIMIT_SECONDS = 5.0

_log = structlog.get_logger(__name__)


class EventRecorder(Protocol):
    """Somebody who takes events."""

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
        """Report that `reason` happened to `regarding`; return at once, raise nothing."""
        ...


class Counts(msgspec.Struct, frozen=True):
    """What became of the events so far: `written` and `failed` count writes, the others count events.

    `left_out` were counted but not sent, by the spam filter or as part of a series.
    """

    written: int = 0
    left_out: int = 0
    failed: int = 0
    dropped_full: int = 0
    dropped_closed: int = 0


class Recorder:
    """An `EventRecorder` with a bounded queue and one thread, which exists from the first event to `close()`.

    Safe from any thread. `event()` never waits for the server and never raises; a full queue drops the new event and
    counts it, and so does a closed recorder. Events of one recorder are written in order. Not promised: that an event
    is written at all. Two recorders share nothing. `flavour` says what is written, and belongs to this recorder.
    """

    def __init__(self, api: Api, flavour: Flavour, *, clock: Clock, random: Random, capacity: int = CAPACITY) -> None:
        self._flavour = flavour
        self._clock = clock
        self._capacity = capacity
        self._changed = threading.Condition(threading.Lock())
        self._queue: deque[Event] = deque()
        self._counts: Counter[str] = Counter()
        self._thread: OwnedThread | None = None
        self._closing = StopToken(clock=clock)
        self._abort = StopToken(clock=clock)
        self._has_ended = StopToken(clock=clock)
        self._writer = Writer(api, flavour.api_path, random=random, hurry=self._closing, abort=self._abort)

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
        """Report that `reason` happened to `regarding`; return at once, raise nothing.

        `message` is cut to 1024 bytes. `action` and `related` matter to events.k8s.io/v1 only.
        """
        event = Event(
            regarding=regarding,
            type=event_type,
            reason=reason,
            message=message,
            wall=self._clock.wall(),
            monotonic=self._clock.monotonic(),
            action=action,
            related=related,
        )
        with self._changed:
            if self._closing.is_set():
                self._counts["dropped_closed"] += 1
            elif len(self._queue) >= self._capacity:
                self._counts["dropped_full"] += 1
            else:
                self._queue.append(event)
                self._changed.notify_all()
                self._ensure_thread()

    def _ensure_thread(self) -> None:
        if self._thread is not None:
            return
        thread = OwnedThread("event-recorder", self._run)
        try:
            self._thread = thread.start()
        except RuntimeError as error:
            # The machine has no thread left. The event waits in the queue for the next one's try.
            _log.warning("the event recorder cannot start its thread; raise the limit of threads", error=str(error))

    def counts(self) -> Counts:
        """Return what became of the events so far."""
        with self._changed:
            return Counts(**self._counts)

    def close(self, timeout_seconds: float) -> bool:
        """Write what is queued, for at most `timeout_seconds`, and end the thread. Idempotent.

        Return whether everything was tried. Meanwhile each write gets one try; what is left then is dropped, counted.
        """
        with self._changed:
            self._closing.set("the event recorder is closing")
            self._changed.notify_all()
            thread = self._thread
            if thread is None:
                return self._drop_queue() == 0
        is_flushed = self._has_ended.wait(timeout_seconds)
        self._abort.set("the event recorder was not flushed in time")
        if not thread.join(_ABORT_LIMIT_SECONDS):
            _log.error("the thread of the event recorder hangs in a request that does not heed its stop token")
        return is_flushed

    def _run(self) -> None:
        try:
            while not self._abort.is_set() and (self._wait_for_work() or not self._closing.is_set()):
                self._work()
            if not self._abort.is_set():
                self._write_all(self._flavour.collect_rest())
        finally:
            with self._changed:
                self._drop_queue()
            self._has_ended.set("the event recorder has ended")

    def _drop_queue(self) -> int:
        """Drop what is queued, with the lock held; return how much that was."""
        dropped = len(self._queue)
        self._queue.clear()
        if dropped:
            self._counts["dropped_closed"] += dropped
        return dropped

    def _wait_for_work(self) -> bool:
        """Wait for an event, for the flavour's next due time, or for closing; return whether an event is queued."""
        with self._changed:
            while not self._queue and not self._closing.is_set():
                due = self._flavour.next_due()
                remaining = None if due is None else due - self._clock.monotonic()
                if remaining is not None and remaining <= 0:
                    break
                self._clock.wait(self._changed, remaining)
            return bool(self._queue)

    def _work(self) -> None:
        with self._changed:
            event = self._queue.popleft() if self._queue else None
        try:
            if event is not None:
                write = self._flavour.observe(event)
                if write is None:
                    self._count("left_out")
                else:
                    self._write_all((write,))
            self._write_all(self._flavour.collect_due(self._clock.monotonic()))
        except Exception:  # noqa: BLE001 - one event that cannot be expressed must not end the recording of all others
            self._count("failed")
            _log.exception("an event was dropped because it could not be built", reason=event and event.reason)

    def _write_all(self, writes: Iterable[Write]) -> None:
        for write in writes:
            result = self._writer.write(write)
            self._count("written" if result is Result.WRITTEN else "failed")

    def _count(self, name: str) -> None:
        with self._changed:
            self._counts[name] += 1
