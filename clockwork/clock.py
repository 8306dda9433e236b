"""The clock that components are given instead of calling `time` (informers.md 0.1)."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """A source of time and of timed waits. Every method is safe from any thread.

    Durations are measured with `monotonic()`, lease validity with `boottime()`, and `wall()` is only for values
    written into API objects or shown to people: it may jump.
    """

    def monotonic(self) -> float:
        """Seconds that never go backwards; the origin means nothing."""
        ...

    def boottime(self) -> float:
        """Like `monotonic()`, but also counts the time the machine was suspended."""
        ...

    def wall(self) -> datetime:
        """The time of day, aware, in UTC."""
        ...

    def wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        """Wait on `condition`, whose lock the caller holds, for at most `timeout` seconds (None: without limit).

        Return False when the time ran out, else True. As with `Condition.wait`, a True answer may be spurious: the
        caller re-checks its predicate in a loop.
        """
        ...


class SystemClock:
    """The machine's own clock."""

    def monotonic(self) -> float:
        """Return `time.monotonic()`."""
        return time.monotonic()

    def boottime(self) -> float:
        """Return CLOCK_BOOTTIME where the system has it, else `time.monotonic()`."""
        return time.clock_gettime(_BOOTTIME) if _BOOTTIME is not None else time.monotonic()

    def wall(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)

    def wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        """Wait on `condition` in real time; a timeout longer than a lock can wait ends early, after some 290 years."""
        # A server may ask for any delay: one that does not fit must not become an OverflowError in a loop's thread.
        return condition.wait(None if timeout is None else min(max(0.0, timeout), threading.TIMEOUT_MAX))


_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)
