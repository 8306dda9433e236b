"""Rows of decision tables: a sentence, what is given, and the whole plan that is expected."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from _pytest.mark.structures import ParameterSet

from mpi_operator import names
from mpi_operator.actions import Create, CreateWorkers, Delete, EnsureSecret, Kind, Patch
from mpi_operator.api.metadata import ObjectMeta
from mpi_operator.api.observed import ConfigMap, Job, Pod, Secret, Service
from mpi_operator.api.types import Condition, MPIJob
from mpi_operator.children.config_map.build import build_config_map
from mpi_operator.children.launcher.build import build_launcher_job
from mpi_operator.children.service.build import build_service
from mpi_operator.children.workers.build import build_worker
from mpi_operator.plan.outcome import Event, EventType, Plan, Step
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from test.builders.pods import NOW, defaulted

Observed = Pod | Job | Service | ConfigMap | Secret | MPIJob

ROWS: list[Plan] = []
"""Every plan that some row expects, so that a test can tell what no row shows."""


def a_row(
    sentence: str,
    given: Snapshot,
    *,
    status: dict[str, Any] | None = None,
    settings: Settings | None = None,
    **expected: Any,
) -> ParameterSet:
    """A row: `status` are the fields of the status that change, `expected` the other fields of the plan."""
    following = msgspec.structs.replace(given.job.status, **(status or {}))
    plan = Plan(status=following, **{"status_write": "last" if status else "none", **expected})
    return pytest.param(given, settings or Settings(), shown(plan), id=sentence)


def shown(plan: Plan) -> Plan:
    """The plan, noted as one that a row expects."""
    ROWS.append(plan)
    return plan


def now(kind: str, status: str, reason: str, message: str) -> Condition:
    """A condition that changes now."""
    return since(kind, status, reason, message, NOW)


def since(kind: str, status: str, reason: str, message: str, transition: Any) -> Condition:
    """A condition that is written now and has had its status since then."""
    return Condition(
        type=kind, status=status, reason=reason, message=message, last_update_time=NOW, last_transition_time=transition
    )


def normal(reason: str, message: str) -> Event:
    """A Normal event."""
    return _event("Normal", reason, message, "")


def warning(reason: str, message: str, once: str = "") -> Event:
    """A Warning event."""
    return _event("Warning", reason, message, once)


def _event(kind: EventType, reason: str, message: str, once: str) -> Event:
    return Event(type=kind, reason=reason, message=message, once=once)


def create_service(job: MPIJob) -> Create:
    """The job's Service is created."""
    return _create("Service", job, names.service_name(job.metadata.name), build_service(defaulted(job)))


def create_config_map(job: MPIJob) -> Create:
    """The job's ConfigMap is created; no worker runs yet."""
    manifest = build_config_map(defaulted(job), running=())
    return _create("ConfigMap", job, names.config_map_name(job.metadata.name), manifest)


def ensure_secret(job: MPIJob, found: Secret | None = None) -> EnsureSecret:
    """A key pair is made for the job's Secret."""
    return EnsureSecret(
        namespace=job.metadata.namespace,
        name=names.ssh_secret_name(job.metadata.name),
        job=defaulted(job),
        uid="" if found is None else found.metadata.uid,
        resource_version="" if found is None else found.metadata.resource_version,
    )


def kept(job: MPIJob) -> Step:
    """What outlives a suspension is created."""
    return create_service(job), create_config_map(job), ensure_secret(job)


def create_launcher(job: MPIJob, *, suspended: bool = False) -> Create:
    """The launcher's Job is created."""
    manifest = build_launcher_job(defaulted(job), is_suspended=suspended)
    return _create("Job", job, names.launcher_name(job.metadata.name), manifest)


def create_workers(job: MPIJob, *ordinals: int) -> CreateWorkers:
    """These workers are created, in one batch."""
    return CreateWorkers(
        pods=tuple(
            _create("Pod", job, names.worker_name(job.metadata.name, ordinal), build_worker(defaulted(job), ordinal))
            for ordinal in ordinals
        )
    )


def _create(kind: Kind, job: MPIJob, name: str, manifest: dict[str, Any]) -> Create:
    return Create(kind=kind, namespace=job.metadata.namespace, name=name, manifest=manifest)


def delete(found: Observed) -> Delete:
    """That very object is deleted."""
    metadata = found.metadata
    return Delete(kind=kind_of(found), namespace=metadata.namespace, name=metadata.name, uid=metadata.uid)


def patch(found: Observed, changes: dict[str, Any], *, exactly: bool = False, status: bool = False) -> Patch:
    """That very object is patched; `exactly` in the version that was read, `status` its status."""
    metadata: ObjectMeta = found.metadata
    return Patch(
        kind=kind_of(found),
        namespace=metadata.namespace,
        name=metadata.name,
        patch=changes,
        uid=metadata.uid,
        resource_version=metadata.resource_version if exactly else "",
        subresource="status" if status else "",
    )


def kind_of(found: Observed) -> Kind:
    """The kind of an observed object, which its type says."""
    kinds: dict[type, Kind] = {
        Pod: "Pod",
        Job: "Job",
        Service: "Service",
        ConfigMap: "ConfigMap",
        Secret: "Secret",
        MPIJob: "MPIJob",
    }
    return kinds[type(found)]
