"""What an informer counts, and what it can tell at a scrape (informers.md 1.2.10)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

import msgspec


class Total(msgspec.Struct, frozen=True):
    """How many observations there were, and their sum in seconds: what a Prometheus summary shows."""

    count: int = 0
    seconds: float = 0.0


class HandlerReadings(msgspec.Struct, frozen=True):
    """One handler at the time of a scrape; `oldest_age_seconds` is how long the next notification has waited."""

    name: str
    depth: int
    oldest_age_seconds: float
    is_synced: bool
    errors: int


class InformerReadings(msgspec.Struct, frozen=True):
    """One informer at the time of a scrape.

    `last_event_age_seconds` also counts bookmarks, so on a healthy watch it stays near a minute; it is None before
    the first event.
    """

    name: str
    lists: Mapping[str, int]
    list_time: Total
    list_items: int
    watches: Mapping[str, int]
    watch_time: Total
    events: Mapping[str, int]
    last_event_age_seconds: float | None
    store_objects: int
    is_synced: bool
    decode_errors: int
    index_errors: int
    streaming_fallbacks: int
    inconsistencies: int
    handlers: tuple[HandlerReadings, ...]


class InformerMetrics:
    """The counters behind `InformerReadings`. Safe from any thread.

    Exporters read `Informer.readings()` when they are scraped; nothing is pushed, so the library knows no exporter.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lists: Counter[str] = Counter()
        self._list_seconds = 0.0
        self._list_items = 0
        self._watches: Counter[str] = Counter()
        self._watch_seconds = 0.0
        self._events: Counter[str] = Counter()
        self._last_event: float | None = None
        self._decode_errors = 0
        self._streaming_fallbacks = 0
        self._inconsistencies = 0

    def record_list(self, result: str, seconds: float, items: int = 0) -> None:
        """Count a list by its result: ok, expired, error."""
        with self._lock:
            self._lists[result] += 1
            self._list_seconds += seconds
            if result == "ok":
                self._list_items = items

    def record_watch(self, end: str, seconds: float) -> None:
        """Count a watch by its end."""
        with self._lock:
            self._watches[end] += 1
            self._watch_seconds += seconds

    def record_event(self, event_type: str, now: float) -> None:
        """Count an event that was received at `now`, seconds of the informer's clock."""
        with self._lock:
            self._events[event_type] += 1
            self._last_event = now

    def count_decode_errors(self, count: int = 1) -> None:
        """Count objects, pages and lines that did not decode."""
        with self._lock:
            self._decode_errors += count

    def count_streaming_fallback(self) -> None:
        """Count a streaming list that was given up for a paged one."""
        with self._lock:
            self._streaming_fallbacks += 1

    def count_inconsistency(self) -> None:
        """Count a failed consistency check."""
        with self._lock:
            self._inconsistencies += 1

    def read(
        self,
        name: str,
        *,
        now: float,
        store_objects: int,
        index_errors: int,
        is_synced: bool,
        handlers: tuple[HandlerReadings, ...],
    ) -> InformerReadings:
        """Return everything as it stands at `now`."""
        with self._lock:
            return InformerReadings(
                name=name,
                lists=dict(self._lists),
                list_time=Total(self._lists.total(), self._list_seconds),
                list_items=self._list_items,
                watches=dict(self._watches),
                watch_time=Total(self._watches.total(), self._watch_seconds),
                events=dict(self._events),
                last_event_age_seconds=None if self._last_event is None else now - self._last_event,
                store_objects=store_objects,
                is_synced=is_synced,
                decode_errors=self._decode_errors,
                index_errors=index_errors,
                streaming_fallbacks=self._streaming_fallbacks,
                inconsistencies=self._inconsistencies,
                handlers=handlers,
            )
