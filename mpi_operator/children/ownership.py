"""Who holds a name that belongs to a job's child, and what follows from it (lifecycle.md 2)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from mpi_operator import names
from mpi_operator.actions import Kind, Patch
from mpi_operator.api.metadata import ObjectMeta
from mpi_operator.api.types import GROUP, KIND, MPIJob


class Holder(Enum):
    """What the object under a child's name is to the job."""

    NOBODY = "the name is free"
    OURS = "the job is its controller, and it stays"
    LEAVING = "ours and terminating, or left by a predecessor of the same name: it is waited for"
    FOREIGN = "somebody else's: it is never touched"


def classify_holder(metadata: ObjectMeta | None, job: MPIJob) -> Holder:
    """Return who holds a name; None is an object that does not exist.

    Only the controller's uid makes an object ours, whatever its labels. A predecessor is an MPIJob of the same name
    with another uid: its children are on their way out, so they are not an error (A4.12).
    """
    if metadata is None:
        return Holder.NOBODY
    if metadata.is_controlled_by(job.metadata.uid):
        return Holder.LEAVING if metadata.is_terminating else Holder.OURS
    controller = metadata.controller
    is_predecessor = (
        controller is not None
        and controller.kind == KIND
        and controller.api_version.partition("/")[0] == GROUP
        and controller.name == job.metadata.name
    )
    return Holder.LEAVING if is_predecessor else Holder.FOREIGN


def missing_labels(metadata: ObjectMeta, job: MPIJob) -> dict[str, str]:
    """Return the labels that our child lacks to be seen by the operator's caches and selectors: empty if none."""
    wanted = names.child_labels(job.metadata.name)
    return {key: value for key, value in wanted.items() if metadata.labels.get(key) != value}


def plan_patch(kind: Kind, metadata: ObjectMeta, job: MPIJob, changes: Mapping[str, Any]) -> tuple[Patch, ...]:
    """Return one patch of our child with these changes, and with the labels that adopt it; none if there is neither."""
    labels = missing_labels(metadata, job)
    patch = dict(changes)
    if labels:
        patch["metadata"] = {**patch.get("metadata", {}), "labels": labels}
    if not patch:
        return ()
    return (
        Patch(
            kind=kind,
            namespace=metadata.namespace,
            name=metadata.name,
            patch=patch,
            uid=metadata.uid,
        ),
    )
