"""Our own writes, seen before the watch brings them: a write-through overlay over a store (informers.md 1.4.9)."""

from __future__ import annotations

import threading
from typing import Generic

import msgspec

from clockwork import Clock
from informers.metadata import Object, key_of
from informers.notifications import Deleted
from informers.resource_version import compare
from informers.store import Store

DEFAULT_LIFETIME_SECONDS = 300.0


class _Tombstone(msgspec.Struct, frozen=True, gc=False):
    uid: str
    resource_version: str


class Overlay(Generic[Object]):
    """Answers the newer of what we wrote and what the store holds; keeps a write for `lifetime_seconds` at most.

    Register it with the store's informer as a handler with `enqueue_keys`: news as new as our write, or newer, takes
    the write's place; a deletion of the same uid, or at a newer version, removes it and leaves a tombstone, so that
    the late answer to a write cannot bring the object back. Versions that cannot be compared leave the store's answer.
    Safe from any thread.
    """

    def __init__(
        self, store: Store[Object], *, clock: Clock, lifetime_seconds: float = DEFAULT_LIFETIME_SECONDS
    ) -> None:
        self._store = store
        self._clock = clock
        self._lifetime_seconds = lifetime_seconds
        self._lock = threading.Lock()
        self._entries: dict[str, tuple[float, Object | _Tombstone]] = {}

    def get(self, key: str) -> Object | None:
        """Return the newest known state, or None."""
        stored = self._store.get(key)
        with self._lock:
            self._expire()
            _, ours = self._entries.get(key, (0.0, None))
        if ours is None or isinstance(ours, _Tombstone):
            return stored
        return ours if stored is None or _is_newer(_version(ours), _version(stored)) else stored

    def note_written(self, obj: Object) -> None:
        """Remember the server's answer to our create, update or patch."""
        key = key_of(obj)
        stored = self._store.get(key)
        with self._lock:
            self._expire()
            _, known = self._entries.get(key, (0.0, None))
            if isinstance(known, _Tombstone):
                is_outdated = known.uid == obj.metadata.uid or not _is_newer(_version(obj), known.resource_version)
            else:
                newest = known or stored
                is_outdated = newest is not None and not _is_newer(_version(obj), _version(newest))
            if not is_outdated:
                self._put(key, obj)

    def on_add(self, obj: Object, *, is_initial: bool) -> None:  # noqa: ARG002 - a handler is told, whether it cares
        """Take news from the informer."""
        self._clear(obj)

    def on_update(self, old: Object, new: Object) -> None:  # noqa: ARG002 - only the newest state matters
        """Take news from the informer."""
        self._clear(new)

    def _clear(self, news: Object) -> None:
        key = key_of(news)
        with self._lock:
            _, ours = self._entries.get(key, (0.0, None))
            if ours is None or isinstance(ours, _Tombstone):
                return
            if not _is_newer(_version(ours), _version(news)):
                del self._entries[key]

    def on_delete(self, deleted: Deleted[Object]) -> None:
        """Take a deletion from the informer."""
        gone = deleted.last_known
        if gone is None:
            return
        with self._lock:
            _, ours = self._entries.get(deleted.key, (0.0, None))
            if ours is not None and not isinstance(ours, _Tombstone):
                is_other = ours.metadata.uid != gone.metadata.uid
                if is_other and not _is_newer(_version(gone), _version(ours)):
                    return
            self._put(deleted.key, _Tombstone(gone.metadata.uid or "", _version(gone)))

    def _put(self, key: str, entry: Object | _Tombstone) -> None:
        self._entries.pop(key, None)
        self._entries[key] = (self._clock.monotonic() + self._lifetime_seconds, entry)

    def _expire(self) -> None:
        now = self._clock.monotonic()
        # Insertion order is the order of expiry, because every lifetime is the same.
        expired = []
        for key, (until, _) in self._entries.items():
            if until > now:
                break
            expired.append(key)
        for key in expired:
            del self._entries[key]


def _version(obj: Object) -> str:
    return obj.metadata.resource_version or ""


def _is_newer(left: str, right: str) -> bool:
    return compare(left, right) == 1
