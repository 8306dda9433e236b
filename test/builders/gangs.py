"""Gangs for tests: what describes them, as the server has it, and the jobs whose pods are in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mpi_operator.actions import Create, Delete, Patch
from mpi_operator.api.observed import Group
from mpi_operator.api.types import MPIJob
from mpi_operator.children.pod_group.choice import find_candidates, find_scheduler
from mpi_operator.children.pod_group.member import decorate_job
from mpi_operator.children.pod_group.plan import build_group
from mpi_operator.children.pod_group.scheduler import GangScheduler, GroupKind, GroupResource
from mpi_operator.plan.snapshot import Snapshot
from test.builders.children import observed_metadata
from test.builders.jobs import JSONObject
from test.builders.pods import defaulted
from test.builders.snapshots import a_snapshot, an_accepted_job

COSCHEDULING = "scheduler-plugins-scheduler"
VERSIONS = {"volcano": "v1beta1", COSCHEDULING: "v1alpha1", "kubernetes": "v1beta1"}


def a_scheduler(gang_scheduling: str = "volcano", version: str = "") -> GangScheduler:
    """The scheduler that the flag's value stands for, in the newest version unless told otherwise."""
    found = find_scheduler(gang_scheduling, version or VERSIONS.get(gang_scheduling, ""))
    assert found is not None
    return found


def in_gang(job: MPIJob, gang_scheduling: str = "volcano", version: str = "") -> MPIJob:
    """The job with its defaults, and templates that put its pods into its gang."""
    return decorate_job(defaulted(job), a_scheduler(gang_scheduling, version))


def group_manifest(
    job: MPIJob, gang_scheduling: str = "volcano", version: str = "", *, kind: str = "PodGroup"
) -> JSONObject:
    """What is created for the job's gang, of one kind."""
    scheduler = a_scheduler(gang_scheduling, version)
    return build_group(defaulted(job), scheduler, resource_of(scheduler, kind))


def resource_of(scheduler: GangScheduler, kind: str = "PodGroup") -> GroupResource:
    """The scheduler's resource of that kind."""
    return next(each for each in scheduler.resources if each.kind == kind)


def a_group(
    job: MPIJob | None = None,
    gang_scheduling: str = "volcano",
    version: str = "",
    *,
    kind: str = "PodGroup",
    spec: Mapping[str, Any] | None = None,
    conditions: Iterable[Mapping[str, Any]] = (),
    **metadata: Any,
) -> Group:
    """What the server has of the job's gang; `spec` adds to it, or takes away with None."""
    manifest = group_manifest(job or an_accepted_job(), gang_scheduling, version, kind=kind)
    found = {**manifest["spec"], **(spec or {})}
    manifest["spec"] = {key: value for key, value in found.items() if value is not None}
    manifest["metadata"] = observed_metadata(manifest["metadata"], **{"uid": f"{kind}-uid", **metadata})
    manifest["status"] = {"conditions": list(conditions)}
    return msgspec.convert(manifest, Group)


def a_gang_snapshot(
    job: MPIJob | None = None, gang_scheduling: str = "volcano", version: str = "", **fields: Any
) -> Snapshot:
    """The job's world with a gang scheduler whose API is served; what describes the gang is there unless said."""
    found = job or an_accepted_job()
    served = version or VERSIONS.get(gang_scheduling, "")
    scheduler = a_scheduler(gang_scheduling, served)
    kinds = tuple(resource.kind for resource in scheduler.resources)
    groups = {
        "pod_group" if kind == "PodGroup" else "workload": a_group(found, gang_scheduling, served, kind=kind)
        for kind in kinds
    }
    return a_snapshot(found, **{"gang_version": served, "group_kinds": kinds, **groups, **fields})


def group_names(gang_scheduling: str) -> set[str]:
    """The resources that the flag's value can mean, as RBAC names them."""
    return {resource.name for scheduler in find_candidates(gang_scheduling) for resource in scheduler.resources}


def delete_group(group: Group, kind: GroupKind = "PodGroup") -> Delete:
    """That very object is deleted."""
    metadata = group.metadata
    return Delete(kind=kind, namespace=metadata.namespace, name=metadata.name, uid=metadata.uid)


def patch_group(group: Group, changes: Mapping[str, Any], kind: GroupKind = "PodGroup") -> Patch:
    """That very object is patched."""
    metadata = group.metadata
    return Patch(kind=kind, namespace=metadata.namespace, name=metadata.name, patch=changes, uid=metadata.uid)


def create_group(
    job: MPIJob, gang_scheduling: str = "volcano", version: str = "", kind: GroupKind = "PodGroup"
) -> Create:
    """What describes the job's gang is created."""
    manifest = group_manifest(job, gang_scheduling, version, kind=kind)
    return Create(kind=kind, namespace=job.metadata.namespace, name=job.metadata.name, manifest=manifest)
