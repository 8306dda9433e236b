"""Snapshots for tests: a job that was accepted, with everything it should have, less or more what a row says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mpi_operator.api.types import Condition, MPIJob, MPIJobStatus, ReplicaStatus, ReplicaStatuses
from mpi_operator.plan.outcome import Plan
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from test.builders.children import a_config_map, a_secret, a_service
from test.builders.jobs import a_stored_job
from test.builders.pods import NOW, ago

ACCEPTED_AGO = 60
"""How long before NOW the jobs of rows were accepted and started."""


def a_condition(
    kind: str, status: str = "True", reason: str = "", message: str = "", *, since_ago: float = 30
) -> Condition:
    """A condition that has been so for some seconds."""
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message,
        last_update_time=ago(since_ago),
        last_transition_time=ago(since_ago),
    )


CREATED = a_condition("Created", "True", "MPIJobCreated", "MPIJob default/pi is created.", since_ago=ACCEPTED_AGO)
IS_RUNNING = a_condition("Running", "True", "MPIJobRunning", "MPIJob default/pi is running.")
IS_SUSPENDED = a_condition("Suspended", "True", "MPIJobSuspended", "MPIJob suspended")
IS_NOT_RUNNING_SUSPENDED = a_condition("Running", "False", "MPIJobSuspended", "MPIJob default/pi is suspended.")


def counts(*, launcher: Mapping[str, int] | None = None, worker: Mapping[str, int] | None = None) -> ReplicaStatuses:
    """The counts of both roles; a role that is not given has no entry."""
    return ReplicaStatuses(
        launcher=None if launcher is None else ReplicaStatus(**launcher),
        worker=None if worker is None else ReplicaStatus(**worker),
    )


def an_accepted_job(
    *conditions: Condition, replicas: ReplicaStatuses | None = None, started: bool = True, **fields: Any
) -> MPIJob:
    """A stored job whose status says Created, these conditions too, and that it started a minute ago."""
    status = MPIJobStatus(
        conditions=(CREATED, *conditions),
        replica_statuses=counts(launcher={}, worker={}) if replicas is None else replicas,
        start_time=ago(ACCEPTED_AGO) if started else None,
    )
    metadata = {"creationTimestamp": "2026-12-01T11:00:00Z", "resourceVersion": "10", **fields.pop("metadata", {})}
    return msgspec.structs.replace(a_stored_job(metadata=metadata, **fields), status=status)


def a_snapshot(job: MPIJob | None = None, *, running: Iterable[int] = (), **fields: Any) -> Snapshot:
    """The job with its Service, ConfigMap and Secret as they should be; `fields` are those of Snapshot.

    `running` are the ordinals that the ConfigMap lists as running.
    """
    found = job or an_accepted_job()
    kept = {
        "service": a_service(found),
        "config_map": a_config_map(found, running=running),
        "secret": a_secret(found),
    }
    return Snapshot(job=found, **{**kept, **fields})


def decide(snapshot: Snapshot, **settings: Any) -> Plan:
    """The plan for the snapshot at NOW."""
    return plan(snapshot, Settings(**settings), NOW)
