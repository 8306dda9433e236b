"""Exponential delays with jitter: the device against thundering herds (informers.md 1.2.1)."""

from __future__ import annotations

from random import Random

import msgspec

from clockwork import Clock


class BackoffOptions(msgspec.Struct, frozen=True):
    """How delays grow. The n-th in a row is uniform in [d, d + jitter_factor * d), d = min(cap, base * factor^n).

    The defaults are client-go's: 0.8 s doubled up to 30 s, up to twice that with jitter, anew after 120 s of quiet.
    """

    base_seconds: float = 0.8
    factor: float = 2.0
    cap_seconds: float = 30.0
    jitter_factor: float = 1.0
    reset_after_seconds: float = 120.0


class Backoff:
    """One sequence of delays; starts from its base again when none was asked for during `reset_after_seconds`.

    Not safe for several threads: each loop owns its own.
    """

    def __init__(self, options: BackoffOptions, *, clock: Clock, random: Random) -> None:
        self._options = options
        self._clock = clock
        self._random = random
        self._next_seconds = options.base_seconds
        self._last_used: float | None = None

    def next_delay(self) -> float:
        """Return the seconds to wait before the next attempt."""
        options = self._options
        now = self._clock.monotonic()
        if self._last_used is not None and now - self._last_used > options.reset_after_seconds:
            self._next_seconds = options.base_seconds
        self._last_used = now
        delay = self._next_seconds
        self._next_seconds = min(options.cap_seconds, delay * options.factor)
        return delay + delay * options.jitter_factor * self._random.random()
