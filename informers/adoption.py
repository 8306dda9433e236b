"""Taking an orphan for one's own, and letting a child go (informers.md 1.11.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from informers.api import STRATEGIC_MERGE_PATCH, Api
from informers.errors import NotFound
from informers.metadata import split_key
from informers.object_identity import Identity, decode_identity
from informers.owner import Owner
from informers.resource import Resource


class Adopted(msgspec.Struct, frozen=True):
    """The child is the owner's now."""

    identity: Identity


class OwnerGone(msgspec.Struct, frozen=True):
    """The owner has been deleted, is being deleted, or was replaced by a namesake: it adopts nothing any more."""


def adopt(
    api: Api,
    *,
    owner: Owner,
    owner_resource: Resource,
    owner_reference: Mapping[str, Any],
    child: Identity,
    child_resource: Resource,
) -> Adopted | OwnerGone:
    """Make `owner` the controller of `child`, if it is alive on the server now, whatever the cache says.

    The patch names the child's uid, so that a namesake created meanwhile is not adopted: that raises Conflict.
    Only for built-in kinds, which know strategic merge patches. Raises ApiError.
    """
    namespace, name = split_key(owner.key)
    action = f"read {owner_resource.kind} {owner.key} before it adopts {child.namespace}/{child.name}"
    try:
        answer = api.request("GET", owner_resource.path(namespace=namespace, name=name), action=action)
    except NotFound:
        return OwnerGone()
    live = decode_identity(answer.body, action=action)
    if live.uid != owner.uid or live.is_terminating:
        return OwnerGone()
    return Adopted(_patch_owners(api, child_resource, child, owner_reference, verb="adopt"))


def release(api: Api, *, owner: Owner, child: Identity, child_resource: Resource) -> None:
    """Take `owner` out of the child's owners; a child that is gone is released. Raises ApiError."""
    removal = {"$patch": "delete", "uid": owner.uid}
    try:
        _patch_owners(api, child_resource, child, removal, verb="release")
    except NotFound:
        return


def _patch_owners(
    api: Api, resource: Resource, child: Identity, owner_reference: Mapping[str, Any], *, verb: str
) -> Identity:
    action = f"{verb} {resource.kind} {child.namespace}/{child.name}"
    answer = api.request(
        "PATCH",
        resource.path(namespace=child.namespace, name=child.name),
        body=msgspec.json.encode({"metadata": {"uid": child.uid, "ownerReferences": [owner_reference]}}),
        content_type=STRATEGIC_MERGE_PATCH,
        action=action,
    )
    return decode_identity(answer.body, action=action)
