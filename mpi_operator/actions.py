"""Everything that the operator ever does to the API server beside a job's status: a closed union of plain values.

An action says what, never how: the shell turns it into requests. Preconditions are part of the action, so that a
decision made from a stale cache cannot hit an object that it did not look at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from mpi_operator.api.types import MPIJob

Kind = Literal["Service", "ConfigMap", "Secret", "Workload", "PodGroup", "Pod", "Job", "MPIJob"]
"""The kinds that actions touch; which API version serves each is the shell's knowledge."""


class Create(msgspec.Struct, frozen=True, kw_only=True):
    """Create one object of a fixed name.

    AlreadyExists is answered by a live GET: an object of our owner's uid that is not terminating counts as created;
    anything else goes into the next Snapshot, and the job is planned again. The manifest belongs to this action alone.
    """

    kind: Kind
    namespace: str
    name: str
    manifest: Mapping[str, Any]


class CreateWorkers(msgspec.Struct, frozen=True, kw_only=True):
    """Create worker pods, in order, in parallel batches of 1, 2, 4 … that stop after a batch with an error (B132)."""

    pods: tuple[Create, ...]


class EnsureSecret(msgspec.Struct, frozen=True, kw_only=True):
    """Make sure that the job's ssh Secret holds a usable key pair; the shell makes the pair.

    With `uid` empty the Secret is built from `job` and created as by `Create`. With a `uid` it exists without a usable
    pair: its two keys are patched in, under both preconditions, and other keys stay (B115).
    """

    namespace: str
    name: str
    job: MPIJob
    uid: str = ""
    resource_version: str = ""


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """Merge-patch one object, or its `status` subresource.

    `uid` and, unless empty, `resource_version` are put into the body's metadata as preconditions. A Conflict means
    that the decision was made from an old view: look again, quietly. NotFound means the same.
    """

    kind: Kind
    namespace: str
    name: str
    patch: Mapping[str, Any]
    uid: str
    resource_version: str = ""
    subresource: Literal["", "status"] = ""


class Delete(msgspec.Struct, frozen=True, kw_only=True):
    """Delete the object with this uid; NotFound and another uid under that name are success (A4.14).

    A Job is always deleted with `propagationPolicy: Background`, because batch/v1 orphans pods by default.
    """

    kind: Kind
    namespace: str
    name: str
    uid: str


Action: TypeAlias = Create | CreateWorkers | EnsureSecret | Patch | Delete
ACTION_TYPES = (Create, CreateWorkers, EnsureSecret, Patch, Delete)
