"""An order by priority in which no key starves (informers.md 1.7.6)."""

from __future__ import annotations

import bisect
from collections import OrderedDict
from typing import NamedTuple

from workqueue.order import K, ReadyOrder

INITIAL_PRIORITY = -100
"""By convention the priority of keys from an initial list or a resync; changes have 0."""


class _Place(NamedTuple):
    priority: int
    since: float


class PriorityOrder(ReadyOrder[K]):
    """The higher priority first, and within one priority the order of arrival at it.

    A key raised to a higher priority goes to the end of that level. Ageing keeps low priorities from starving: when
    the key that has waited longest has been ready for `age_seconds`, every second key handed out is the oldest one,
    whatever its priority. So an aged key with m older ones waits for at most 2(m + 1) hand-outs, and a long backlog
    of aged keys still leaves every other hand-out to the highest priority.

    Each operation costs O(log p) for p distinct priorities in use, but a new or emptied priority costs O(p).
    """

    merges_delayed = True

    def __init__(self, age_seconds: float = 60.0) -> None:
        self._age_seconds = age_seconds
        # By arrival, so that the first has waited longest: raising a key does not make it younger.
        self._places: OrderedDict[K, _Place] = OrderedDict()
        self._levels: dict[int, OrderedDict[K, None]] = {}
        self._priorities: list[int] = []  # ascending; exactly the keys of _levels
        self._last_was_aged = False

    def __len__(self) -> int:
        return len(self._places)

    def push(self, key: K, priority: int, since: float) -> None:
        """Append the key at the end of its priority."""
        self._places[key] = _Place(priority, since)
        self._join_level(key, priority)

    def raise_to(self, key: K, priority: int) -> None:
        """Move the key to the end of the higher priority; its age stays."""
        place = self._places[key]
        self._leave_level(key, place.priority)
        self._places[key] = place._replace(priority=priority)
        self._join_level(key, priority)

    def pop(self, now: float) -> K:
        """Remove and return the oldest key if it is aged and its turn, else the first of the highest priority."""
        key, place = next(iter(self._places.items()))
        self._last_was_aged = not self._last_was_aged and now - place.since >= self._age_seconds
        if not self._last_was_aged:
            key = next(iter(self._levels[self._priorities[-1]]))
        self._leave_level(key, self._places.pop(key).priority)
        return key

    def clear(self) -> None:
        """Forget all keys."""
        self._places.clear()
        self._levels.clear()
        self._priorities.clear()

    def _join_level(self, key: K, priority: int) -> None:
        level = self._levels.get(priority)
        if level is None:
            level = self._levels[priority] = OrderedDict()
            bisect.insort(self._priorities, priority)
        level[key] = None

    def _leave_level(self, key: K, priority: int) -> None:
        level = self._levels[priority]
        del level[key]
        if not level:
            del self._levels[priority]
            del self._priorities[bisect.bisect_left(self._priorities, priority)]
