"""What is to be sent to the server about one Event object."""

from __future__ import annotations

from typing import Protocol

import msgspec

from mpi_operator.events.event import Event
from mpi_operator.events.reference import ObjectReference

CLUSTER_SCOPED_NAMESPACE = "default"


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """One write: `manifest` is the whole object, without a resourceVersion; `patch` is set once it has been posted.

    A patch whose object is gone is followed by a POST of the manifest. Both are JSON text.
    """

    namespace: str
    name: str
    manifest: bytes
    patch: bytes | None = None


class Flavour(Protocol):
    """Turns events into writes: core/v1 or events.k8s.io/v1. It belongs to the one thread that writes."""

    @property
    def api_path(self) -> str:
        """The path of the API that takes the writes, as `/api/v1`."""
        ...

    def observe(self, event: Event) -> Write | None:
        """Count `event`; return what is to be written for it, None for nothing."""
        ...

    def next_due(self) -> float | None:
        """Return the monotonic second at which `collect_due()` wants to be called, None for never."""
        ...

    def collect_due(self, monotonic: float) -> tuple[Write, ...]:
        """Return what is to be written at `monotonic` seconds because of the time alone."""
        ...

    def collect_rest(self) -> tuple[Write, ...]:
        """Return what is still to be written when no more events will come."""
        ...


def find_namespace(regarding: ObjectReference) -> str:
    """Return the namespace of an event about `regarding`."""
    return regarding.namespace or CLUSTER_SCOPED_NAMESPACE
