"""The client's own limit on its requests, for those who want one (informers.md 1.12)."""

from __future__ import annotations

import threading

from clockwork import Clock


class Throttle:
    """A token bucket: `rate` requests a second, `burst` of them at once. Safe from any thread."""

    def __init__(self, rate: float, burst: int, clock: Clock) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"a throttle needs a rate above 0 and a burst of at least 1, not {rate:g} and {burst}")
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._lock = threading.Lock()
        self._tokens = float(burst)
        self._filled_at = clock.monotonic()

    def reserve(self) -> float:
        """Take a token and return the seconds to wait until it is there; 0 for one that is."""
        with self._lock:
            now = self._clock.monotonic()
            self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
            self._filled_at = now
            self._tokens -= 1
            return max(0.0, -self._tokens / self._rate)
