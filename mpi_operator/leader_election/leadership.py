"""The running side of a term: the work itself, and the guard that ends it in time."""

from __future__ import annotations

import threading
from collections.abc import Callable

from clockwork import Clock, OwnedThread, StopToken
from mpi_operator.leader_election.outcome import End
from mpi_operator.leader_election.validity import Validity


class Leadership:
    """Owns the thread of `on_started` and a guard thread, for one term. The first end it is given stays.

    The guard is there because a renewal may hang in the network (in a name lookup even beyond its timeout): it sets
    `token` when the term is over, and with it interrupts the hanging request.
    """

    def __init__(self, on_started: Callable[[StopToken], None], validity: Validity, clock: Clock) -> None:
        self.token = StopToken(clock=clock)
        self._on_started = on_started
        self._validity = validity
        self._lock = threading.Lock()
        self._end: End | None = None
        self._has_returned = StopToken(clock=clock)
        self._work = OwnedThread("leader", self._run_work, on_error=self._fail)
        self._guard = OwnedThread("leader-election-guard", self._watch_time)

    def start(self) -> None:
        """Start the work and the guard."""
        self._guard.start()
        self._work.start()

    def finish(self, end: End, reason: str) -> None:
        """End the term: set the token. Safe from any thread; later calls change nothing."""
        with self._lock:
            if self._end is None:
                self._end = end
        self.token.set(reason)

    @property
    def end(self) -> End | None:
        """Why the term ended, None while it has not."""
        with self._lock:
            return self._end

    @property
    def error(self) -> BaseException | None:
        """What `on_started` raised."""
        return self._work.error

    def join(self, timeout_seconds: float) -> bool:
        """Wait for both threads, after `finish()`; return whether the work has ended in time."""
        self._guard.join()
        return self._has_returned.wait(timeout_seconds) and self._work.join()

    def _run_work(self) -> None:
        try:
            self._on_started(self.token)
        finally:
            self._has_returned.set("on_started returned")

    def _fail(self, error: BaseException) -> None:
        self.finish(End.FAILED, f"on_started failed: {error!r}")

    def _watch_time(self) -> None:
        while not self.token.wait(self._validity.seconds_to_act()):
            if not self._validity.is_leader():
                self.finish(End.LOST, "the Lease was not renewed before the renew deadline")
