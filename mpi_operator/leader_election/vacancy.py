"""How a standby learns at once that the Lease has no holder any more (informers.md 1.9.5)."""

from __future__ import annotations

import threading
from random import Random

import msgspec
import structlog

from clockwork import Clock, OwnedThread, StopToken
from informers.errors import ApiError, Stopped
from mpi_operator.leader_election.client import LeaseClient
from mpi_operator.leader_election.config import Options
from mpi_operator.leader_election.lease import LeaseSpec

_log = structlog.get_logger(__name__)
_SHORTEST_WATCH_SECONDS = 300


class _WatchedLease(msgspec.Struct, frozen=True):
    spec: LeaseSpec | None = None


class _Line(msgspec.Struct, frozen=True):
    type: str
    object: _WatchedLease


_LINES = msgspec.json.Decoder(_Line)


def is_vacated(line: bytes) -> bool:
    """Return whether this line of a watch says that nobody holds the Lease: it was deleted or its holder emptied."""
    try:
        event = _LINES.decode(line)
    except msgspec.MsgspecError:
        return False
    if event.type == "DELETED":
        return True
    return event.type in ("ADDED", "MODIFIED") and not (event.object.spec and event.object.spec.holder)


class Vacancy:
    """Waits for the Lease to become free, watching it from the first `wait()` on. One thread waits.

    The watch only makes a standby faster. It never decides anything, and while it fails the standby tries at its own
    pace.
    """

    def __init__(self, client: LeaseClient, options: Options, stop: StopToken, clock: Clock, random: Random) -> None:
        self._client = client
        self._options = options
        self._clock = clock
        self._random = random
        self._stop = stop.child()
        self._changed = threading.Condition(threading.Lock())
        self._is_vacant = False
        self._known_error = ""
        self._thread: OwnedThread | None = None
        self._stop.on_set(self._wake)

    def wait(self, timeout_seconds: float) -> None:
        """Return when the Lease was vacated since the last wait, the stop token is set, or the time is over."""
        if self._thread is None:
            self._thread = OwnedThread("leader-election-watch", self._watch, on_error=self._report).start()
        deadline = self._clock.monotonic() + timeout_seconds
        with self._changed:
            while not self._is_vacant and not self._stop.is_set():
                remaining = deadline - self._clock.monotonic()
                if remaining <= 0:
                    break
                self._clock.wait(self._changed, remaining)
            self._is_vacant = False

    def close(self) -> None:
        """End the watch and its thread."""
        self._stop.set("no longer waiting for the Lease")
        self._stop.close()
        if self._thread is not None:
            self._thread.join()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                self._follow()
            except Stopped:
                return
            except ApiError as error:
                self._note_failure(str(error))
            self._stop.wait(self._options.retry_period_seconds * (1 + self._random.random()))

    def _follow(self) -> None:
        timeout_seconds = round(_SHORTEST_WATCH_SECONDS * (1 + self._random.random()))
        # A healthy holder writes every retry period, and a dead one is replaced after a lease: so long a silence
        # means that the connection is dead.
        idle_timeout = 2 * self._options.lease_duration_seconds
        with self._client.watch(timeout_seconds=timeout_seconds, idle_timeout=idle_timeout, stop=self._stop) as lines:
            self._known_error = ""
            for line in lines:
                if is_vacated(line):
                    with self._changed:
                        self._is_vacant = True
                        self._changed.notify_all()

    def _note_failure(self, error: str) -> None:
        """Log each failure once while it lasts: it repeats every few seconds, and nothing is wrong but the speed."""
        log = _log.debug if error == self._known_error else _log.warning
        log("the Lease cannot be watched; it is still read every retry period", error=error)
        self._known_error = error

    def _report(self, error: BaseException) -> None:
        _log.error("watching the Lease failed; it is still read every retry period", exc_info=error)
