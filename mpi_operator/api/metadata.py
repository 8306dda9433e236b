"""Object metadata, as much of it as the operator reads; the rest is dropped while decoding.

The Structs of this package are trees and can be part of no cycle, so the garbage collector need not follow them
(`gc=False`): a cache of thousands of pods then costs it nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

import msgspec

Timestamp = Annotated[datetime, msgspec.Meta(tz=True)]
"""An aware time. Kubernetes keeps whole seconds: a time that is written has no microseconds."""


class OwnerReference(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """One owner of an object; `controller` marks the one that manages it (at most one per object)."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """The metadata of any object. An absent text is empty, an absent map or list is empty, an absent time is None."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def is_terminating(self) -> bool:
        """Whether the object has been told to go and only waits for its grace period or finalizers."""
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object, if any."""
        return next((owner for owner in self.owner_references if owner.controller), None)

    def is_controlled_by(self, uid: str) -> bool:
        """Whether the managing owner is the object with this uid: the only test of "ours" (lifecycle.md 2)."""
        controller = self.controller
        return controller is not None and controller.uid == uid


def whole_seconds(time: datetime) -> datetime:
    """Return the time as Kubernetes keeps it."""
    return time.replace(microsecond=0)
