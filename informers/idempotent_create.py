"""Creating an object whose name is deterministic, so that creating it twice makes one (informers.md 1.11.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from informers.api import Api
from informers.errors import AlreadyExists, NamespaceTerminating, NotFound
from informers.object_identity import Identity, OwnerReference, decode_identity, identity_of
from informers.resource import Resource


class Created(msgspec.Struct, frozen=True):
    """The object was made; `body` is the server's answer."""

    identity: Identity
    body: bytes


class AlreadyOurs(msgspec.Struct, frozen=True):
    """The object was there and has our controller: as good as created. `body` is its live state."""

    identity: Identity
    body: bytes


class NameTerminating(msgspec.Struct, frozen=True):
    """The name is still held by an object of ours that is being deleted, or by one of our owner's predecessor.

    A predecessor had the owner's kind and name and another uid; its children go without our doing. Try again soon.
    """

    identity: Identity


class NameTaken(msgspec.Struct, frozen=True):
    """The name is held by an object that is not ours and will not go by itself."""

    identity: Identity


class NamespaceGoing(msgspec.Struct, frozen=True):
    """The namespace is being deleted: nothing new can be made in it, and nothing needs to be."""

    message: str


CreateOutcome = Created | AlreadyOurs | NameTerminating | NameTaken | NamespaceGoing


def create_once(
    api: Api, resource: Resource, manifest: Mapping[str, Any], *, timeout: float | None = None
) -> CreateOutcome:
    """Create the object, or say who holds its name.

    `manifest` has a name and one controller in its ownerReferences, whose uid decides what is ours; it is not
    changed. When the name is taken its holder is read live, never from a cache. May be repeated after a lost answer,
    a restart or a change of leader: there is one object in the end. Raises an ApiError for every other failure, and
    AlreadyExists if the holder vanished before it could be read. `timeout` is in seconds, of each request.
    """
    wanted = identity_of(manifest)
    owner = wanted.controller
    if owner is None:
        raise ValueError(f"{resource.kind} {wanted.namespace}/{wanted.name} has no controller: add its ownerReference")
    action = f"create {resource.kind} {wanted.namespace}/{wanted.name}"
    path = resource.path(namespace=wanted.namespace)
    try:
        answer = api.request("POST", path, body=msgspec.json.encode(manifest), timeout=timeout, action=action)
    except NamespaceTerminating as error:
        return NamespaceGoing(error.message)
    except AlreadyExists as taken:
        outcome = _judge_holder(api, resource, wanted, owner, timeout=timeout)
        if outcome is None:
            raise taken from None
        return outcome
    return Created(decode_identity(answer.body, action=action), answer.body)


def _judge_holder(
    api: Api, resource: Resource, wanted: Identity, owner: OwnerReference, *, timeout: float | None
) -> AlreadyOurs | NameTerminating | NameTaken | None:
    """Return whose the object of the wanted name is, or None if there is none any more."""
    action = f"read the {resource.kind} that holds the name {wanted.namespace}/{wanted.name}"
    path = resource.path(namespace=wanted.namespace, name=wanted.name)
    try:
        answer = api.request("GET", path, timeout=timeout, action=action)
    except NotFound:
        return None
    holder = decode_identity(answer.body, action=action)
    other = holder.controller
    if other is not None and other.uid == owner.uid:
        return NameTerminating(holder) if holder.is_terminating else AlreadyOurs(holder, answer.body)
    if other is not None and (other.kind, other.name) == (owner.kind, owner.name):
        return NameTerminating(holder)
    return NameTaken(holder)
