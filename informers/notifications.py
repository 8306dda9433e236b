"""What handlers are told, and the rules that turn two states of the cache into it (informers.md 1.2.8, 1.5, 1.6.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic

import msgspec

from informers.metadata import Object, split_key


class Added(msgspec.Struct, Generic[Object], frozen=True, gc=False):
    """An object that the handler had not seen; `is_initial` when it existed before the handler began to listen."""

    object: Object
    is_initial: bool = False


class Updated(msgspec.Struct, Generic[Object], frozen=True, gc=False):
    """A new state of an object, of the same uid as `old`, which is what the cache held just before.

    States in between may be missing. `is_resync` marks a repetition: nothing changed.
    """

    old: Object
    new: Object
    is_resync: bool = False


class Deleted(msgspec.Struct, Generic[Object], frozen=True, gc=False):
    """An object that is gone.

    `final` says whether `last_known` is the last state the object had. Otherwise the deletion itself was missed, and
    `last_known` is the last state that was seen: possibly stale, None when there is none.
    """

    key: str
    last_known: Object | None
    final: bool

    @property
    def namespace(self) -> str:
        """The namespace in the key, "" for a cluster-scoped object; raises ValueError for what is no key."""
        return split_key(self.key)[0]

    @property
    def name(self) -> str:
        """The name in the key; raises ValueError for what is no key."""
        return split_key(self.key)[1]


Notification = Added[Object] | Updated[Object] | Deleted[Object]


def plan_put(
    key: str, old: Object | None, new: Object, *, is_initial: bool = False
) -> tuple[Notification[Object], ...]:
    """Return what to tell about `new` taking the place of `old`.

    Another uid means that a delete and a create were missed, so two notifications say so.
    """
    if old is None:
        return (Added(new, is_initial),)
    before, after = old.metadata, new.metadata
    if before.uid != after.uid:
        return (Deleted(key, old, final=False), Added(new, is_initial))
    unchanged = bool(after.resource_version) and before.resource_version == after.resource_version
    return (Updated(old, new, unchanged),)


def plan_delete(key: str, old: Object | None, final_state: Object | None) -> tuple[Notification[Object], ...]:
    """Return what to tell about a DELETED event.

    Nothing for an object that the cache did not hold: its deletion has been told already, or its creation never was.
    The final state of another incarnation is not passed off as that of the one that was known.
    """
    if old is None:
        return ()
    if final_state is None or final_state.metadata.uid != old.metadata.uid:
        return (Deleted(key, old, final=False),)
    return (Deleted(key, final_state, final=True),)


def plan_replace(
    before: Mapping[str, Object], after: Mapping[str, Object], *, is_initial: bool
) -> list[Notification[Object]]:
    """Return what to tell about a whole list taking the place of the cache's content.

    First the deletions that were missed, in the cache's order; then adds and updates, in the list's order.
    """
    deleted: list[Notification[Object]] = [
        Deleted(key, old, final=False) for key, old in before.items() if key not in after
    ]
    changed: list[Notification[Object]] = []
    for key, new in after.items():
        for notification in plan_put(key, before.get(key), new, is_initial=is_initial):
            (deleted if type(notification) is Deleted else changed).append(notification)
    return deleted + changed
