"""The barrier that keeps an owner from being reconciled on a cache older than its own writes (informers.md 1.11.4)."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import msgspec

from informers import resource_version
from informers.owner import Owner


class _Written(msgspec.Struct, frozen=True):
    uid: str
    versions: dict[str, str]


class WrittenVersions:
    """The highest resourceVersion that was written for each owner, by resource. Safe from any thread.

    After each write `record()` its version; before a reconcile ask `find_stale()` with each store's last version and
    come back later while it names anything. Unlike expectations this covers updates too, and needs no count and no
    time limit: the event of our own write opens the barrier, at the latest the next bookmark.

    Record a write only under the resource of an informer whose selector the written object matches: any other store
    would see it with the next bookmark only.

    A write whose answer was lost is not known here; deterministic names deal with that. Where versions have no order
    the barrier is open, `incomparable_total` counts it, and expectations have to do.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written: dict[str, _Written] = {}
        self._incomparable = 0
        self._stale = 0

    @property
    def incomparable_total(self) -> int:
        """How often a version could not be compared, so that the barrier stayed open."""
        with self._lock:
            return self._incomparable

    @property
    def stale_total(self) -> int:
        """How often a cache was found to be older than a write."""
        with self._lock:
            return self._stale

    def record(self, owner: Owner, resource: str, version: str) -> None:
        """Remember that the server answered a write to an object of `resource` with `version`."""
        with self._lock:
            if not resource_version.is_comparable(version):
                self._incomparable += 1
                return
            written = self._written.get(owner.key)
            if written is None or written.uid != owner.uid:
                written = self._written[owner.key] = _Written(owner.uid, {})
            known = written.versions.get(resource)
            if known is None or resource_version.compare(version, known) == 1:
                written.versions[resource] = version

    def find_stale(self, owner: Owner, last_versions: Mapping[str, str]) -> tuple[str, ...]:
        """Return the resources whose store is older than our last write for this owner, in alphabetical order.

        `last_versions` holds each store's last version by resource; "" or a missing one has seen nothing yet.
        """
        with self._lock:
            written = self._written.get(owner.key)
            if written is None or written.uid != owner.uid:
                return ()
            stale = tuple(
                resource
                for resource, version in sorted(written.versions.items())
                if self._is_older(last_versions.get(resource, ""), version)
            )
            self._stale += bool(stale)
            return stale

    def forget(self, owner: Owner) -> None:
        """Forget a deleted owner; without effect on a namesake with another uid."""
        with self._lock:
            written = self._written.get(owner.key)
            if written is not None and written.uid == owner.uid:
                del self._written[owner.key]

    def _is_older(self, seen: str, version: str) -> bool:
        if not seen:
            return True
        order = resource_version.compare(seen, version)
        if order is None:
            self._incomparable += 1
        return order == -1
