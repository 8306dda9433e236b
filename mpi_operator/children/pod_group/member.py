"""Making a job's pods members of its gang, by what their templates say."""

from __future__ import annotations

from typing import Any

import msgspec

from mpi_operator.api.types import LAUNCHER, WORKER, MPIJob, ReplicaSpec
from mpi_operator.children.pod_group.choice import KUBERNETES, find_scheduler
from mpi_operator.children.pod_group.native import has_group_of_its_own
from mpi_operator.children.pod_group.scheduler import GangScheduler


def choose_scheduler(job: MPIJob, gang_scheduling: str, version: str) -> GangScheduler | None:
    """Return who schedules the job's gang; None for nobody, or for a group that the user put the pods into."""
    return None if brings_own_group(job, gang_scheduling) else find_scheduler(gang_scheduling, version)


def brings_own_group(job: MPIJob, gang_scheduling: str) -> bool:
    """Whether a template names a group of Kubernetes' own: then none is made for any of the job's pods (G3)."""
    return gang_scheduling == KUBERNETES and any(
        has_group_of_its_own(replica_spec) for replica_spec in (job.spec.launcher, job.spec.worker)
    )


def decorate_job(job: MPIJob, scheduler: GangScheduler) -> MPIJob:
    """Return the valid job with templates whose pods belong to its gang; the job given is not changed.

    Everything that is made from a template follows: workers, the launcher's Job, what is compared at a resume.
    """
    specs = dict(job.spec.mpi_replica_specs or {})
    for role in (LAUNCHER, WORKER):
        replica_spec = specs.get(role)
        if replica_spec is not None:
            specs[role] = _decorate(replica_spec, job, scheduler)
    spec = msgspec.structs.replace(job.spec, mpi_replica_specs=specs)
    return msgspec.structs.replace(job, spec=spec)


def find_replaced_scheduler_names(job: MPIJob, decorated: MPIJob) -> tuple[str, ...]:
    """Return the names that the user gave for schedulers and that the gang's takes the place of (B186)."""
    replaced = {
        before
        for role in (LAUNCHER, WORKER)
        if (before := _scheduler_name(job, role)) and before != _scheduler_name(decorated, role)
    }
    return tuple(sorted(replaced))


def _decorate(replica_spec: ReplicaSpec, job: MPIJob, scheduler: GangScheduler) -> ReplicaSpec:
    template = replica_spec.template
    pod: dict[str, Any] = {
        **template,
        "metadata": dict(template.get("metadata") or {}),
        "spec": dict(template.get("spec") or {}),
    }
    scheduler.decorate(pod, job)
    return msgspec.structs.replace(replica_spec, template=pod)


def _scheduler_name(job: MPIJob, role: str) -> str:
    replica_spec = (job.spec.mpi_replica_specs or {}).get(role)
    spec = {} if replica_spec is None else replica_spec.template.get("spec") or {}
    return str(spec.get("schedulerName") or "")
