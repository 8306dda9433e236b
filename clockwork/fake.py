"""A clock for tests: it moves only when told, and can say who waits on it."""

from __future__ import annotations

import heapq
import itertools
import threading
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
_REAL_LIMIT_SECONDS = 30.0


class _Waiter:
    def __init__(self, deadline: float, order: int, condition: threading.Condition) -> None:
        self.deadline = deadline
        self.order = order
        self.condition = condition
        self.expired = False

    def __lt__(self, other: _Waiter) -> bool:
        return (self.deadline, self.order) < (other.deadline, other.order)


class FakeClock:
    """A `Clock` whose time advances only by `step()`; safe from any thread.

    Waiters whose deadline a step reaches are woken in the order of their deadlines. Waits without a timeout are not
    counted as waiters: no step can end them.
    """

    def __init__(self, wall: datetime = _EPOCH) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._seconds = 0.0
        self._wall = wall
        self._waiters: list[_Waiter] = []
        self._order = itertools.count()

    def monotonic(self) -> float:
        """Return the seconds stepped so far."""
        with self._changed:
            return self._seconds

    def boottime(self) -> float:
        """Return the same as `monotonic()`: a fake machine is never suspended."""
        return self.monotonic()

    def wall(self) -> datetime:
        """Return the start time plus the seconds stepped so far."""
        with self._changed:
            return self._wall + timedelta(seconds=self._seconds)

    def wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        """Wait on `condition` until it is notified or a step reaches the deadline."""
        if timeout is None:
            return condition.wait()
        if timeout <= 0:
            return False
        with self._changed:
            waiter = _Waiter(self._seconds + timeout, next(self._order), condition)
            heapq.heappush(self._waiters, waiter)
            self._changed.notify_all()
        try:
            condition.wait()
        finally:
            with self._changed:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
                    heapq.heapify(self._waiters)
                self._changed.notify_all()
        return not waiter.expired

    def step(self, seconds: float) -> None:
        """Advance by `seconds` and wake every waiter whose deadline has come.

        The caller must not hold the lock of a condition that somebody waits on.
        """
        if seconds < 0:
            raise ValueError(f"a clock cannot go back: step({seconds})")
        with self._changed:
            self._seconds += seconds
            due: list[_Waiter] = []
            while self._waiters and self._waiters[0].deadline <= self._seconds:
                waiter = heapq.heappop(self._waiters)
                waiter.expired = True
                due.append(waiter)
        for waiter in due:
            # The waiter registered while it held this lock, so once we have it the waiter is really waiting.
            with waiter.condition:
                waiter.condition.notify_all()

    def waiters(self) -> int:
        """Return how many timed waits are under way."""
        with self._changed:
            return len(self._waiters)

    def next_deadline(self) -> float | None:
        """Return the seconds until the earliest waiter's deadline, or None without waiters."""
        with self._changed:
            return self._waiters[0].deadline - self._seconds if self._waiters else None

    def await_waiters(self, count: int, limit_seconds: float = _REAL_LIMIT_SECONDS) -> None:
        """Block, in real time, until at least `count` timed waits are under way; raise TimeoutError past the limit.

        This is what tests call instead of sleeping: afterwards a `step()` is sure to be seen.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._waiters) >= count, limit_seconds):
                raise TimeoutError(f"{len(self._waiters)} of {count} waiters after {limit_seconds} s")
