"""A token bucket per object, against a component that reports without end (informers.md 1.10.1)."""

from __future__ import annotations

from collections.abc import Callable

from cachetools import LRUCache

from mpi_operator.events.aggregation import REMEMBERED, Key
from mpi_operator.events.event import Event, Source

BURST = 25
REFILL_SECONDS = 300.0


class _Bucket:
    def __init__(self, tokens: float, filled_at: float) -> None:
        self.tokens = tokens
        self.filled_at = filled_at


def build_spam_key(source: Source, event: Event) -> Key:
    """Return which bucket `event` draws from: the source's, for this object and type, whatever the reason.

    A tuple, where joined text would let two objects share a bucket.
    """
    return (source.component, source.host, event.regarding.identity, event.type)


class SpamFilter:
    """Lets `burst` events per key through, then one every `refill_seconds`; belongs to one thread."""

    def __init__(
        self,
        source: Source,
        *,
        burst: int = BURST,
        refill_seconds: float = REFILL_SECONDS,
        build_key: Callable[[Source, Event], Key] = build_spam_key,
    ) -> None:
        self._source = source
        self._burst = burst
        self._refill_seconds = refill_seconds
        self._build_key = build_key
        self._buckets: LRUCache[Key, _Bucket] = LRUCache(REMEMBERED)

    def admit(self, event: Event) -> bool:
        """Return whether `event` may be sent, and take its token if so."""
        key = self._build_key(self._source, event)
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket(float(self._burst), event.monotonic)
        gained = (event.monotonic - bucket.filled_at) / self._refill_seconds
        bucket.tokens = min(float(self._burst), bucket.tokens + gained)
        bucket.filled_at = event.monotonic
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True
