"""Keys that are to become ready later: one entry a key, in a heap by ready time (informers.md 1.7.3)."""

from __future__ import annotations

import heapq
import itertools
from typing import Generic, NamedTuple

from workqueue.order import K

_SLACK = 64


class Delayed(NamedTuple, Generic[K]):
    """A key, when it is ready in seconds of the queue's clock, and its priority."""

    key: K
    ready_at: float
    priority: int


class Delays(Generic[K]):
    """The delayed keys of one queue. Not thread-safe: its queue calls it under the queue's lock.

    Keys ready at the same instant come out in the order in which they were scheduled. An entry that was moved or
    cancelled leaves its old place in the heap behind; such places never outnumber the entries by more than a few.
    """

    def __init__(self) -> None:
        self._entries: dict[K, tuple[float, int, int]] = {}  # ready_at, place, priority
        self._heap: list[tuple[float, int, K]] = []  # ready_at, place, key; current if the entry names the place
        self._places = itertools.count()

    def __len__(self) -> int:
        return len(self._entries)

    def schedule(self, key: K, ready_at: float, priority: int) -> bool:
        """Add the key, or keep the earlier of two times and the higher of two priorities.

        Return whether the first of all ready times has moved forward.
        """
        first = self.next_ready_at()
        known = self._entries.get(key)
        if known is not None and known[0] <= ready_at:
            self._entries[key] = (known[0], known[1], max(known[2], priority))
            return False
        place = next(self._places)
        self._entries[key] = (ready_at, place, priority if known is None else max(known[2], priority))
        heapq.heappush(self._heap, (ready_at, place, key))
        self._compact()
        return first is None or ready_at < first

    def cancel(self, key: K) -> int | None:
        """Forget the key; return its priority, or None if it was not delayed."""
        known = self._entries.pop(key, None)
        self._compact()
        return None if known is None else known[2]

    def next_ready_at(self) -> float | None:
        """Return the earliest ready time, or None without delayed keys."""
        while self._heap:
            ready_at, place, key = self._heap[0]
            if self._is_current(key, place):
                return ready_at
            heapq.heappop(self._heap)
        return None

    def pop_ready(self, now: float) -> Delayed[K] | None:
        """Remove and return the key that was ready first, or None if none is ready."""
        ready_at = self.next_ready_at()
        if ready_at is None or ready_at > now:
            return None
        key = heapq.heappop(self._heap)[2]
        priority = self._entries.pop(key)[2]
        self._compact()
        return Delayed(key, ready_at, priority)

    def clear(self) -> int:
        """Forget all keys; return how many there were."""
        count = len(self._entries)
        self._entries.clear()
        self._heap.clear()
        return count

    def _is_current(self, key: K, place: int) -> bool:
        known = self._entries.get(key)
        return known is not None and known[1] == place

    def _compact(self) -> None:
        if not self._entries:
            self._heap.clear()  # old places would keep keys alive
        elif len(self._heap) > 2 * len(self._entries) + _SLACK:
            self._heap = [entry for entry in self._heap if self._is_current(entry[2], entry[1])]
            heapq.heapify(self._heap)
