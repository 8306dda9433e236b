"""Who an object on the server is and whom it belongs to: what must be known before it is taken for ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from informers.errors import DecodeError


class OwnerReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One entry of an object's ownerReferences."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Identity(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The part of an object's metadata that tells it from its namesakes; all of it may be missing in a manifest."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] | None = None

    @property
    def is_terminating(self) -> bool:
        """Whether the object is being deleted."""
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls the object, or None."""
        return next((owner for owner in self.owner_references or () if owner.controller), None)


class _Object(msgspec.Struct, frozen=True, gc=False):
    metadata: Identity


_DECODER = msgspec.json.Decoder(_Object)


def decode_identity(body: bytes, *, action: str) -> Identity:
    """Return the identity of the object in an answer; raise DecodeError if it is none. `action` names the request."""
    try:
        return _DECODER.decode(body).metadata
    except msgspec.MsgspecError as error:
        raise DecodeError(f"the answer is not an object with metadata: {error}", action=action) from error


def identity_of(manifest: Mapping[str, Any]) -> Identity:
    """Return the identity that a manifest asks for; raise msgspec.ValidationError if its metadata is malformed."""
    return msgspec.convert(manifest["metadata"], Identity)
