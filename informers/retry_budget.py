"""For how long a watch may go on after InternalErrors without a new list (informers.md 1.2.1)."""

from __future__ import annotations

_QUIET_SECONDS = 60.0


class RetryBudget:
    """A budget of `seconds`, measured from the first failure, anew after a quiet minute. One thread only."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._first: float | None = None
        self._last = 0.0

    def allows_retry(self, now: float) -> bool:
        """Note a failure at `now` (monotonic seconds) and return whether it may be retried; if not, start anew."""
        if self._first is None or now - self._last >= _QUIET_SECONDS:
            self._first = now
        self._last = now
        if self._seconds > 0 and now - self._first <= self._seconds:
            return True
        self._first = None
        return False
