"""Finds code that changes cached objects, for tests (informers.md 1.4.7)."""

from __future__ import annotations

import threading
from hashlib import sha256
from typing import Generic

import msgspec

from clockwork import StopToken
from informers.metadata import Object, key_of
from informers.notifications import Deleted


class MutatedObjectsError(AssertionError):
    """Cached objects are not what they were when they came; `keys` says which."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        super().__init__(f"cached objects were changed by their readers: {', '.join(keys)}; copy before changing")
        self.keys = keys


class MutationDetector(Generic[Object]):
    """Keeps a digest of each object and compares it later.

    Register it with an informer as its first handler, with `enqueue_keys`, so that it sees objects before others do.
    Frozen structs cannot be changed, but the lists and dicts in them can. Safe from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[Object, bytes]] = {}

    def on_add(self, obj: Object, *, is_initial: bool) -> None:  # noqa: ARG002 - a handler is told, whether it cares
        """Remember a new object."""
        self._remember(obj)

    def on_update(self, old: Object, new: Object) -> None:
        """Remember a new state; a resync repeats the old one, which must not renew its digest."""
        if new is not old:
            self._remember(new)

    def on_delete(self, deleted: Deleted[Object]) -> None:
        """Forget an object."""
        with self._lock:
            self._seen.pop(deleted.key, None)

    def _remember(self, obj: Object) -> None:
        digest = _digest(obj)
        with self._lock:
            self._seen[key_of(obj)] = (obj, digest)

    def check(self) -> None:
        """Raise MutatedObjectsError naming every object that changed since it came."""
        with self._lock:
            seen = dict(self._seen)
        changed = tuple(key for key, (obj, digest) in seen.items() if _digest(obj) != digest)
        if changed:
            raise MutatedObjectsError(changed)

    def run(self, stop: StopToken, *, period_seconds: float) -> None:
        """Check every `period_seconds` until `stop` is set, and once more then; the body of a thread of the owner."""
        while not stop.wait(period_seconds):
            self.check()
        self.check()


def _digest(obj: Object) -> bytes:
    return sha256(msgspec.msgpack.encode(obj)).digest()
