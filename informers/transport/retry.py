"""When a refused request is sent again: when the server says so, and only then (informers.md 1.1.6)."""

from __future__ import annotations

from http import HTTPStatus

from clockwork import Clock

MOST_RETRIES = 10


def read_retry_after(code: int, header: str | None) -> float | None:
    """Return the seconds after which the server wants the request again; None when it does not ask for that.

    Only codes 429 and 5xx count, and only a number of seconds, as API servers send it.
    """
    if code != HTTPStatus.TOO_MANY_REQUESTS and code < HTTPStatus.INTERNAL_SERVER_ERROR:
        return None
    return float(header) if header is not None and header.strip().isdecimal() else None


class RetryBudget:
    """How often and how long one request may be repeated: ten times, and not beyond its limit in seconds, if any."""

    def __init__(self, clock: Clock, limit_seconds: float | None) -> None:
        self._clock = clock
        self._limit_seconds = limit_seconds
        self._started_at = clock.monotonic()
        self._left = MOST_RETRIES

    def remaining_seconds(self) -> float | None:
        """Return what is left of the limit; None without one."""
        if self._limit_seconds is None:
            return None
        return self._limit_seconds - (self._clock.monotonic() - self._started_at)

    def allows(self, delay_seconds: float | None) -> bool:
        """Return whether one more attempt may be made after that delay, and count it; never when there is no delay."""
        remaining = self.remaining_seconds()
        if delay_seconds is None or self._left == 0 or (remaining is not None and delay_seconds >= remaining):
            return False
        self._left -= 1
        return True
