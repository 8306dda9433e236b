"""The order in which ready keys are handed out: what a queue asks of it, and first in, first out."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Protocol, TypeVar

K = TypeVar("K", bound=Hashable)


class ReadyOrder(Protocol[K]):
    """The ready keys of one queue, each at most once, in the order in which they are to be handed out.

    Not thread-safe: its queue calls it under the queue's lock. `now` and `since` are seconds of the queue's clock and
    never go back from one call to the next.
    """

    @property
    def merges_delayed(self) -> bool:
        """Whether a key has one entry at most, ready or delayed: the earlier time and the higher priority win."""
        ...

    def __len__(self) -> int:
        """Return the number of ready keys."""
        ...

    def push(self, key: K, priority: int, since: float) -> None:
        """Append a key that is not here, ready `since` then."""
        ...

    def raise_to(self, key: K, priority: int) -> None:
        """Give a key that is here a higher priority."""
        ...

    def pop(self, now: float) -> K:
        """Remove and return the next key; there is one."""
        ...

    def clear(self) -> None:
        """Forget all keys."""
        ...


class FirstInFirstOut(ReadyOrder[K]):
    """The order of arrival. Priorities mean nothing, so no key starves."""

    merges_delayed = False

    def __init__(self) -> None:
        self._keys: deque[K] = deque()

    def __len__(self) -> int:
        return len(self._keys)

    def push(self, key: K, priority: int, since: float) -> None:  # noqa: ARG002 - the order of arrival is all
        """Append the key."""
        self._keys.append(key)

    def raise_to(self, key: K, priority: int) -> None:
        """Do nothing: the key keeps its place."""

    def pop(self, now: float) -> K:  # noqa: ARG002 - as in push
        """Remove and return the key that has been here longest."""
        return self._keys.popleft()

    def clear(self) -> None:
        """Forget all keys."""
        self._keys.clear()
