"""The events.k8s.io/v1 flavour: equal events become a series that is refreshed and finished (informers.md 1.10.2)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from cachetools import LRUCache

from mpi_operator.events.aggregation import REMEMBERED, Key
from mpi_operator.events.event import Event, Source
from mpi_operator.events.naming import Naming
from mpi_operator.events.text import MESSAGE_BYTES, WORD_BYTES, fit
from mpi_operator.events.timestamps import build_micro_time
from mpi_operator.events.write import Write, find_namespace

FINISH_PERIOD_SECONDS = 360.0
REFRESH_PERIOD_SECONDS = 1800.0


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A series under way: `first` is its first event, `written_count` what the server was last told."""

    first: Event
    name: str
    count: int
    written_count: int
    last_seen: datetime
    last_seen_monotonic: float

    @property
    def is_series(self) -> bool:
        return self.count > 1


class Series:
    """Turns the first event of a kind into a POST, the second into a series, and counts the others in memory.

    A `Flavour`, belonging to one thread; `started_at` is the monotonic second from which its periods run. Because one
    thread observes and writes, a second event cannot overtake the POST of the first.
    """

    api_path = "/apis/events.k8s.io/v1"

    def __init__(self, source: Source, *, started_at: float) -> None:
        self._source = source
        self._naming = Naming()
        self._entries: LRUCache[Key, _Entry] = LRUCache(REMEMBERED)
        self._finish_at = started_at + FINISH_PERIOD_SECONDS
        self._refresh_at = started_at + REFRESH_PERIOD_SECONDS

    def observe(self, event: Event) -> Write | None:
        """Count `event`; return a write for the first and the second of its kind, None for further ones."""
        key = self._build_key(event)
        known = self._entries.get(key)
        if known is None:
            entry = _Entry(
                first=event,
                name=self._naming.name(event.regarding.name, event.wall),
                count=1,
                written_count=1,
                last_seen=event.wall,
                last_seen_monotonic=event.monotonic,
            )
            self._entries[key] = entry
            return self._build_write(entry)
        entry = msgspec.structs.replace(
            known, count=known.count + 1, last_seen=event.wall, last_seen_monotonic=event.monotonic
        )
        self._entries[key] = entry
        return None if known.is_series else self._write(key)

    def next_due(self) -> float:
        """Return when the next refreshing or finishing is due."""
        return min(self._finish_at, self._refresh_at)

    def collect_due(self, monotonic: float) -> tuple[Write, ...]:
        """Return the last writes of series that went quiet, and the refreshed ones of those still alive."""
        writes: list[Write] = []
        if monotonic >= self._finish_at:
            self._finish_at = monotonic + FINISH_PERIOD_SECONDS
            writes += self._finish(monotonic)
        if monotonic >= self._refresh_at:
            self._refresh_at = monotonic + REFRESH_PERIOD_SECONDS
            # A refresh that fails changes nothing here: the series goes on and is refreshed next time.
            writes += [self._write(key) for key, entry in tuple(self._entries.items()) if entry.is_series]
        return tuple(writes)

    def collect_rest(self) -> tuple[Write, ...]:
        """Return the counts that the server has not been told yet."""
        unwritten = [key for key, entry in self._entries.items() if entry.count > entry.written_count]
        return tuple(self._write(key) for key in unwritten)

    def _finish(self, monotonic: float) -> list[Write]:
        writes: list[Write] = []
        for key, entry in tuple(self._entries.items()):
            if monotonic - entry.last_seen_monotonic < FINISH_PERIOD_SECONDS:
                continue
            if entry.is_series:
                writes.append(self._build_write(entry))
            del self._entries[key]
        return writes

    def _write(self, key: Key) -> Write:
        entry = msgspec.structs.replace(self._entries[key], written_count=self._entries[key].count)
        self._entries[key] = entry
        return self._build_write(entry)

    def _build_write(self, entry: _Entry) -> Write:
        manifest = self._build_manifest(entry)
        series = {"series": manifest["series"]} if entry.is_series else None
        return Write(
            namespace=find_namespace(entry.first.regarding),
            name=entry.name,
            manifest=msgspec.json.encode(manifest),
            patch=None if series is None else msgspec.json.encode(series),
        )

    def _build_manifest(self, entry: _Entry) -> dict[str, Any]:
        event = entry.first
        manifest: dict[str, Any] = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": entry.name, "namespace": find_namespace(event.regarding)},
            "regarding": event.regarding,
            "type": event.type,
            "reason": fit(event.reason, WORD_BYTES),
            # The API requires an action; an event that names none is its own action.
            "action": fit(event.action or event.reason, WORD_BYTES),
            "note": fit(event.message, MESSAGE_BYTES),
            "eventTime": build_micro_time(event.wall),
            "reportingController": self._source.component,
            "reportingInstance": fit(self._source.host or self._source.component, WORD_BYTES),
        }
        if event.related is not None:
            manifest["related"] = event.related
        if entry.is_series:
            manifest["series"] = {"count": entry.count, "lastObservedTime": build_micro_time(entry.last_seen)}
        return manifest

    def _build_key(self, event: Event) -> Key:
        related = None if event.related is None else event.related.identity
        return (
            event.type,
            event.action,
            event.reason,
            self._source.component,
            self._source.host,
            event.regarding.identity,
            event.regarding.field_path,
            related,
        )
