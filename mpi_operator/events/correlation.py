"""The core/v1 flavour: similar events are combined, equal ones counted, too many left out (informers.md 1.10.1)."""

from __future__ import annotations

from typing import Any

import msgspec
from cachetools import LRUCache

from mpi_operator.events.aggregation import REMEMBERED, Aggregation, Key
from mpi_operator.events.event import Event, Source
from mpi_operator.events.naming import Naming
from mpi_operator.events.spam_filter import SpamFilter
from mpi_operator.events.text import MESSAGE_BYTES, WORD_BYTES, fit
from mpi_operator.events.timestamps import build_time
from mpi_operator.events.write import Write, find_namespace


class _Observation(msgspec.Struct, frozen=True):
    name: str
    first_seen: str
    count: int


class Correlation:
    """Turns each event into a POST, a PATCH of its count, or nothing; a `Flavour`, belonging to one thread.

    Events left out by the spam filter count all the same: the next one that passes carries them.
    """

    api_path = "/api/v1"

    def __init__(self, source: Source, *, spam_filter: SpamFilter | None = None) -> None:
        self._source = source
        self._aggregation = Aggregation(source)
        self._spam_filter = spam_filter or SpamFilter(source)
        self._naming = Naming()
        self._observations: LRUCache[Key, _Observation] = LRUCache(REMEMBERED)

    def observe(self, event: Event) -> Write | None:
        """Count `event`; return what is to be written for it, None when it is left out."""
        aggregated = self._aggregation.aggregate(event)
        seen_at = build_time(event.wall)
        known = self._observations.get(aggregated.key)
        if known is None:
            name = self._naming.name(event.regarding.name, event.wall)
            observation = _Observation(name=name, first_seen=seen_at, count=1)
        else:
            observation = msgspec.structs.replace(known, count=known.count + 1)
        self._observations[aggregated.key] = observation
        if not self._spam_filter.admit(event):
            return None
        changes = {
            "count": observation.count,
            "lastTimestamp": seen_at,
            "message": fit(aggregated.message, MESSAGE_BYTES),
        }
        return Write(
            namespace=find_namespace(event.regarding),
            name=observation.name,
            manifest=msgspec.json.encode(self._build_manifest(event, observation, changes)),
            patch=None if known is None else msgspec.json.encode(changes),
        )

    def _build_manifest(self, event: Event, observation: _Observation, changes: dict[str, Any]) -> dict[str, Any]:
        source = {"component": self._source.component}
        if self._source.host:
            source["host"] = self._source.host
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": observation.name, "namespace": find_namespace(event.regarding)},
            "involvedObject": event.regarding,
            "type": event.type,
            "reason": fit(event.reason, WORD_BYTES),
            "source": source,
            "reportingComponent": self._source.component,
            "firstTimestamp": observation.first_seen,
            **changes,
        }

    def next_due(self) -> None:
        """Return None: nothing here happens because of the time alone."""

    def collect_due(self, monotonic: float) -> tuple[Write, ...]:  # noqa: ARG002 - the flavour's signature
        """Return nothing."""
        return ()

    def collect_rest(self) -> tuple[Write, ...]:
        """Return nothing: every count has been written or left out on purpose."""
        return ()
