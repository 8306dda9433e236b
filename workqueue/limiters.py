"""How long a key that failed has to wait before it is tried again (informers.md 1.7.4)."""

from __future__ import annotations

import random as random_module
import threading
from collections import Counter
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

from clockwork import Clock, SystemClock
from workqueue.order import K

K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)

# 2**1023 is the largest power of two that a float holds.
_LARGEST_EXPONENT = 1023


class Limiter(Protocol[K_contra]):
    """Answers with delays and remembers failures by key. Every method is safe from any thread and never blocks."""

    def when(self, key: K_contra) -> float:
        """Count one failure of the key and return the seconds to wait before it is tried again, at least 0."""
        ...

    def forget(self, key: K_contra) -> None:
        """Forget the key's failures. A key that is never forgotten is remembered for ever."""
        ...

    def failures(self, key: K_contra) -> int:
        """Return the failures counted since the key was last forgotten."""
        ...


class _Failures(Generic[K]):
    """Failures by key; safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[K] = Counter()

    def count(self, key: K) -> int:
        """Count one more; return the number before."""
        with self._lock:
            before = self._counts[key]
            self._counts[key] = before + 1
            return before

    def forget(self, key: K) -> None:
        """Forget the key's failures."""
        with self._lock:
            self._counts.pop(key, None)

    def failures(self, key: K) -> int:
        """Return the failures counted since the key was last forgotten."""
        with self._lock:
            return self._counts.get(key, 0)


class ExponentialLimiter(_Failures[K]):
    """`base_seconds` after the first failure of a key, doubled with each further one up to `cap_seconds`.

    With `jitter` 0.1 each answer is multiplied by a random number in [0.9, 1.1], so that keys that failed together do
    not all come back together; the cap is applied before that.
    """

    def __init__(
        self,
        base_seconds: float = 0.005,
        cap_seconds: float = 1000.0,
        *,
        jitter: float = 0.0,
        random: random_module.Random | None = None,
    ) -> None:
        super().__init__()
        self._base_seconds = base_seconds
        self._cap_seconds = cap_seconds
        self._jitter = jitter
        self._random = random or random_module.Random()  # noqa: S311 - spreads load, keeps no secret

    def when(self, key: K) -> float:
        """Count one failure and return the key's delay."""
        exponent = min(self.count(key), _LARGEST_EXPONENT)
        delay_seconds = min(self._base_seconds * 2.0**exponent, self._cap_seconds)
        return delay_seconds * self._random.uniform(1.0 - self._jitter, 1.0 + self._jitter)


class FastSlowLimiter(_Failures[K]):
    """`fast_seconds` for the first `fast_attempts` failures of a key, then `slow_seconds`."""

    def __init__(self, fast_seconds: float, slow_seconds: float, fast_attempts: int) -> None:
        super().__init__()
        self._fast_seconds = fast_seconds
        self._slow_seconds = slow_seconds
        self._fast_attempts = fast_attempts

    def when(self, key: K) -> float:
        """Count one failure and return the key's delay."""
        return self._fast_seconds if self.count(key) < self._fast_attempts else self._slow_seconds


class BucketLimiter:
    """A token bucket shared by all keys: `burst` tokens at once, then `rate_per_second`.

    Each call reserves a token and answers with the delay until that token is there: callers are served in the order
    of their calls. It remembers no failures.
    """

    def __init__(self, rate_per_second: float = 10.0, burst: int = 100, *, clock: Clock | None = None) -> None:
        self._rate_per_second = rate_per_second
        self._burst = float(burst)
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._tokens = self._burst  # as of _filled_at; negative when tokens to come are reserved
        self._filled_at = self._clock.monotonic()

    def when(self, key: Hashable) -> float:  # noqa: ARG002 - one bucket for all keys
        """Reserve a token and return the seconds until it is there."""
        with self._lock:
            now = self._clock.monotonic()
            filled = self._tokens + (now - self._filled_at) * self._rate_per_second
            self._tokens = min(self._burst, filled) - 1.0
            self._filled_at = now
            return max(0.0, -self._tokens / self._rate_per_second)

    def forget(self, key: Hashable) -> None:
        """Do nothing: a reserved token is spent."""

    def failures(self, key: Hashable) -> int:  # noqa: ARG002 - as in when
        """Return 0."""
        return 0


class MaxOfLimiter(Generic[K]):
    """The longest of several limiters' delays. Every one is asked each time, so that all of them advance."""

    def __init__(self, *limiters: Limiter[K]) -> None:
        self._limiters = limiters

    def when(self, key: K) -> float:
        """Return the longest delay."""
        return max([limiter.when(key) for limiter in self._limiters])

    def forget(self, key: K) -> None:
        """Forget the key in all limiters."""
        for limiter in self._limiters:
            limiter.forget(key)

    def failures(self, key: K) -> int:
        """Return the largest count."""
        return max(limiter.failures(key) for limiter in self._limiters)


class MaxWaitLimiter(Generic[K]):
    """Another limiter's delays, but never more than `max_seconds`."""

    def __init__(self, limiter: Limiter[K], max_seconds: float) -> None:
        self._limiter = limiter
        self._max_seconds = max_seconds

    def when(self, key: K) -> float:
        """Return the delay, capped."""
        return min(self._limiter.when(key), self._max_seconds)

    def forget(self, key: K) -> None:
        """Forget the key in the other limiter."""
        self._limiter.forget(key)

    def failures(self, key: K) -> int:
        """Return the other limiter's count."""
        return self._limiter.failures(key)


def default_limiter(*, clock: Clock | None = None, random: random_module.Random | None = None) -> Limiter[Hashable]:
    """Return client-go's default, with jitter: per key 5 ms doubled up to 1000 s, and 10/s with a burst of 100 in all.

    The jitter of ±10 % is not client-go's.
    """
    exponential: Limiter[Hashable] = ExponentialLimiter(jitter=0.1, random=random)
    return MaxOfLimiter(exponential, BucketLimiter(clock=clock))
