"""Creates and deletes that were asked for and have not been seen in the cache yet (informers.md 1.11.3)."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import structlog

from clockwork import Clock, SystemClock
from informers.owner import Owner

_log = structlog.get_logger(__name__)


class _Outstanding:
    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.creates = 0  # negative after more children appeared than were asked for, which is harmless
        self.deletes: set[str] = set()
        self.set_at = 0.0


class Expectations:
    """What each owner still has to see before its cached children can be counted. Safe from any thread.

    The order of use matters. `expect()` comes before the calls it announces; each call that failed, or was not made,
    is taken back at once. `is_satisfied()` comes before the children are read from the cache: in the other order an
    event in between makes the count stale although the expectation looks satisfied. While it is not satisfied an
    owner creates and deletes nothing, but may write its status.

    An entry belongs to one uid of its owner: a namesake created later inherits nothing. An entry older than
    `ttl_seconds` means that an event was missed; it is logged, counted in `expired_total` and forgotten.

    Nothing survives a restart: only deterministic names keep a new process from creating a child twice.
    """

    def __init__(self, *, ttl_seconds: float = 300.0, clock: Clock | None = None) -> None:
        self._ttl_seconds = ttl_seconds
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._entries: dict[str, _Outstanding] = {}
        self._expired = 0

    @property
    def expired_total(self) -> int:
        """How many entries were given up because their time ran out."""
        with self._lock:
            return self._expired

    def expect(self, owner: Owner, *, creates: int = 0, deletes: Iterable[str] = ()) -> None:
        """Announce that many creates, and the deletes of the children with these uids, on top of what is outstanding.

        The time to live starts anew.
        """
        with self._lock:
            entry = self._entry(owner)
            if entry is None:
                entry = self._entries[owner.key] = _Outstanding(owner.uid)
            entry.creates = max(0, entry.creates) + creates
            entry.deletes.update(deletes)
            entry.set_at = self._clock.monotonic()

    def take_back_creates(self, owner: Owner, count: int = 1) -> None:
        """Announced creates have failed or will not be tried."""
        self._lower(owner, count)

    def take_back_delete(self, owner: Owner, uid: str) -> None:
        """An announced delete has failed, or found no child of that uid."""
        self._remove(owner, uid)

    def child_added(self, owner: Owner, uid: str, *, is_terminating: bool) -> None:
        """A child appeared in the cache; one that is already terminating counts as a delete, not as a create."""
        if is_terminating:
            self._remove(owner, uid)
        else:
            self._lower(owner, 1)

    def child_updated(self, owner: Owner, uid: str, *, is_terminating: bool) -> None:
        """A child changed in the cache; once it is terminating its delete has been seen."""
        if is_terminating:
            self._remove(owner, uid)

    def child_deleted(self, owner: Owner, uid: str) -> None:
        """A child left the cache."""
        self._remove(owner, uid)

    def is_satisfied(self, owner: Owner) -> bool:
        """Return whether the cached children of the owner may be counted."""
        with self._lock:
            entry = self._entry(owner)
            if entry is None or (entry.creates <= 0 and not entry.deletes):
                return True
            age_seconds = self._clock.monotonic() - entry.set_at
            if age_seconds < self._ttl_seconds:
                return False
            del self._entries[owner.key]
            self._expired += 1
        _log.warning(
            "an expected event did not come: the children are counted as the cache has them",
            owner=owner.key,
            creates=entry.creates,
            deletes=sorted(entry.deletes),
            age_seconds=age_seconds,
        )
        return True

    def forget(self, owner: Owner) -> None:
        """Forget a deleted owner; without effect on a namesake with another uid."""
        with self._lock:
            if self._entry(owner) is not None:
                del self._entries[owner.key]

    def _entry(self, owner: Owner) -> _Outstanding | None:
        entry = self._entries.get(owner.key)
        return entry if entry is not None and entry.uid == owner.uid else None

    def _lower(self, owner: Owner, count: int) -> None:
        with self._lock:
            entry = self._entry(owner)
            if entry is not None:
                entry.creates -= count

    def _remove(self, owner: Owner, uid: str) -> None:
        with self._lock:
            entry = self._entry(owner)
            if entry is not None:
                entry.deletes.discard(uid)
