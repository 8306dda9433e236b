"""The objects of the fake API server, with their past: what etcd and the watch cache are to a real one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from informers.resource import Resource
from informers.testing.rejection import build_expired, build_too_large

JsonObject = dict[str, Any]
Key = tuple[str, str]


class Change(msgspec.Struct, frozen=True, gc=False):
    """One write: the object before (None: created) and after (None: deleted), at the version it made."""

    version: int
    key: Key
    old: JsonObject | None
    new: JsonObject | None


class _Collection:
    def __init__(self) -> None:
        self.live: dict[Key, JsonObject] = {}
        self.changes: list[Change] = []


class History:
    """Objects by resource and key, under one counter of versions. Safe from any thread.

    Objects are shared: nobody changes one that was handed in or out. `changed` is notified, with its lock held, at
    every write; whoever waits on it re-reads.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.Lock())
        self._collections: dict[Resource, _Collection] = {}
        self._version = 1
        self._compacted = 0

    @property
    def version(self) -> int:
        """The version of the latest write of any resource."""
        return self._version

    def get(self, resource: Resource, key: Key) -> JsonObject | None:
        """Return the object now at `key`."""
        with self.changed:
            return self._collection(resource).live.get(key)

    def read(self, resource: Resource) -> tuple[int, dict[Key, JsonObject]]:
        """Return the current version with all objects, in the order of their keys."""
        with self.changed:
            return self._version, dict(sorted(self._collection(resource).live.items()))

    def read_at(self, resource: Resource, version: int) -> dict[Key, JsonObject]:
        """Return the objects as they were at `version`; raise Rejection when it is compacted or not yet reached."""
        with self.changed:
            self.check_reached(version)
            if version < self._compacted:
                raise build_expired()
            collection = self._collection(resource)
            if not collection.changes or collection.changes[-1].version <= version:
                return dict(sorted(collection.live.items()))
            objects: dict[Key, JsonObject] = {}
            _replay(objects, (change for change in collection.changes if change.version <= version))
            return dict(sorted(objects.items()))

    def changes_after(self, resource: Resource, version: int) -> tuple[Change, ...]:
        """Return what was written after `version`, compacted or not. The caller holds `changed`."""
        newer: list[Change] = []
        for change in reversed(self._collection(resource).changes):
            if change.version <= version:
                break
            newer.append(change)
        return tuple(reversed(newer))

    def write(
        self, resource: Resource, key: Key, change: Callable[[JsonObject | None], JsonObject | None]
    ) -> JsonObject:
        """Replace the object at `key` by what `change` makes of it, atomically; return it, or the one deleted.

        `change` may raise Rejection, then nothing happens. An object that comes out equal keeps its version.
        """
        with self.changed:
            collection = self._collection(resource)
            old = collection.live.get(key)
            new = change(old)
            if new is not None and old is not None and _versionless(new) == _versionless(old):
                return old
            self._version += 1
            stamped = _at_version(new if new is not None else old or {}, self._version)
            if new is None:
                collection.live.pop(key, None)
                collection.changes.append(Change(self._version, key, stamped, None))
            else:
                collection.live[key] = stamped
                collection.changes.append(Change(self._version, key, old, stamped))
            self.changed.notify_all()
            return stamped

    def compact(self) -> None:
        """Forget the past: older versions, and the pages and new watches that need them, are Expired from now on.

        Watches that are open go on, wherever they are.
        """
        with self.changed:
            self._compacted = self._version

    def check_reached(self, version: int) -> None:
        """Raise Rejection when `version` is of the future."""
        if version > self._version:
            raise build_too_large(version, self._version)

    def check_watchable(self, version: int) -> None:
        """Raise Rejection when no watch can begin at `version`."""
        if version < self._compacted:
            raise build_expired(f"too old resource version: {version} ({self._compacted})")

    def advance(self, versions: int = 1) -> int:
        """Raise the version without a write, as writes of other resources do; return it."""
        with self.changed:
            self._version += versions
            return self._version

    def _collection(self, resource: Resource) -> _Collection:
        return self._collections.setdefault(resource, _Collection())


def _replay(objects: dict[Key, JsonObject], changes: Iterable[Change]) -> None:
    for change in changes:
        if change.new is None:
            objects.pop(change.key, None)
        else:
            objects[change.key] = change.new


def _at_version(item: JsonObject, version: int) -> JsonObject:
    return {**item, "metadata": {**item.get("metadata", {}), "resourceVersion": str(version)}}


def _versionless(item: JsonObject) -> JsonObject:
    return _at_version(item, 0)
