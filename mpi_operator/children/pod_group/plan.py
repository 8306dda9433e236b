"""What is done about the objects that describe a job's gang."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpi_operator import names
from mpi_operator.actions import Action, Create, Delete
from mpi_operator.api.merge_patch import build_merge_patch
from mpi_operator.api.observed import Group
from mpi_operator.api.types import MPIJob
from mpi_operator.children.metadata import build_metadata
from mpi_operator.children.ownership import Holder, classify_holder, plan_patch
from mpi_operator.children.pod_group.quantity import parse_quantity
from mpi_operator.children.pod_group.scheduler import GangScheduler, GroupKind, GroupResource, build_gang

Groups = Mapping[GroupKind, Group | None]


def plan_groups(job: MPIJob, scheduler: GangScheduler, found: Groups) -> tuple[tuple[Action, ...], ...]:
    """Return the actions for each of the scheduler's kinds, to be taken in this order (B174-B176, G3).

    A missing object is created; of ours, the owned fields are patched, and nothing is written where they are as they
    should be. Nothing is done about an object that is somebody else's, or on its way out.
    """
    return tuple(_plan(job, scheduler, resource, found.get(resource.kind)) for resource in scheduler.resources)


def plan_group_removal(job: MPIJob, found: Groups) -> tuple[Delete, ...]:
    """Delete what describes the gang of a job that is suspended or has finished (B178, B206, A2.7)."""
    return tuple(
        _delete(kind, group)
        for kind, group in found.items()
        if group is not None and classify_holder(group.metadata, job) is Holder.OURS
    )


def is_outdated(job: MPIJob, scheduler: GangScheduler, resource: GroupResource, group: Group) -> bool:
    """Whether the object says something else of the gang than it should."""
    return bool(_changed_spec(job, scheduler, resource, group))


def build_group(job: MPIJob, scheduler: GangScheduler, resource: GroupResource) -> dict[str, Any]:
    """Return the manifest of one of the scheduler's objects."""
    metadata = build_metadata(job, names.pod_group_name(job.metadata.name))
    annotations = scheduler.build_annotations(job)
    if annotations:
        metadata["annotations"] = annotations
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        "spec": scheduler.build_spec(resource, job, build_gang(job)),
    }


def _plan(job: MPIJob, scheduler: GangScheduler, resource: GroupResource, group: Group | None) -> tuple[Action, ...]:
    holder = classify_holder(None if group is None else group.metadata, job)
    if group is None:
        metadata = job.metadata
        manifest = build_group(job, scheduler, resource)
        name = names.pod_group_name(metadata.name)
        return (Create(kind=resource.kind, namespace=metadata.namespace, name=name, manifest=manifest),)
    if holder is not Holder.OURS:
        return ()
    spec = _changed_spec(job, scheduler, resource, group)
    if spec and resource.on_change == "replace":
        return (_delete(resource.kind, group),)
    changes: dict[str, Any] = {}
    if spec and resource.on_change == "patch":
        changes["spec"] = spec
    annotations = {
        key: value
        for key, value in scheduler.build_annotations(job).items()
        if group.metadata.annotations.get(key) != value
    }
    if annotations:
        changes["metadata"] = {"annotations": annotations}
    return plan_patch(resource.kind, group.metadata, job, changes)


def _changed_spec(job: MPIJob, scheduler: GangScheduler, resource: GroupResource, group: Group) -> dict[str, Any]:
    """Return the merge patch of the owned fields that differ; amounts that only look different do not."""
    wanted = scheduler.build_spec(resource, job, build_gang(job))
    found = {key: group.spec.get(key) for key in wanted.keys() | scheduler.cleared_fields}
    if _are_same_amounts(found.get("minResources"), wanted.get("minResources")):
        found["minResources"] = wanted["minResources"]
    return build_merge_patch(found, wanted)


def _are_same_amounts(left: object, right: object) -> bool:
    if not isinstance(left, Mapping) or not isinstance(right, Mapping) or left.keys() != right.keys():
        return False
    try:
        return all(parse_quantity(left[name]).amount == parse_quantity(right[name]).amount for name in left)
    except ValueError:
        return False


def _delete(kind: GroupKind, group: Group) -> Delete:
    metadata = group.metadata
    return Delete(kind=kind, namespace=metadata.namespace, name=metadata.name, uid=metadata.uid)
