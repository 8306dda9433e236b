"""Combining similar events, so that a reason with ever new messages does not flood the server (informers.md 1.10.1)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

import msgspec
from cachetools import LRUCache

from mpi_operator.events.event import Event, Source

COMBINED_PREFIX = "(combined from similar events): "
DISTINCT_MESSAGES = 10
WINDOW_SECONDS = 600.0
REMEMBERED = 4096

Key: TypeAlias = tuple[Hashable, ...]


class _Group:
    def __init__(self) -> None:
        self.messages: dict[str, None] = {}
        self.last_seen = 0.0


class Aggregated(msgspec.Struct, frozen=True):
    """An event with the message it is to carry, and the key under which it is counted."""

    message: str
    key: Key


class Aggregation:
    """Counts the distinct messages of each group of similar events; belongs to one thread.

    A group's window rolls: it ends when nothing of the group was seen for `WINDOW_SECONDS`.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._groups: LRUCache[Key, _Group] = LRUCache(REMEMBERED)

    def aggregate(self, event: Event) -> Aggregated:
        """Note `event`; from the tenth distinct message of its group on, combine it with the group."""
        group_key = build_group_key(self._source, event)
        group = self._groups.get(group_key)
        if group is None or event.monotonic - group.last_seen > WINDOW_SECONDS:
            group = _Group()
        group.messages[event.message] = None
        group.last_seen = event.monotonic
        self._groups[group_key] = group
        if len(group.messages) < DISTINCT_MESSAGES:
            return Aggregated(event.message, (*group_key, event.message, event.regarding.field_path))
        # Forgetting the oldest bounds the group, and keeps it one short of combining.
        del group.messages[next(iter(group.messages))]
        return Aggregated(COMBINED_PREFIX + event.message, group_key)


def build_group_key(source: Source, event: Event) -> Key:
    """Return what similar events have in common."""
    return (source.component, source.host, event.regarding.identity, event.type, event.reason)
