"""Specs that are not valid: of new, running and suspended jobs, and scales that are refused alone (lifecycle.md 1)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import settings as hypothesis_settings

from mpi_operator.api.types import MPIJob
from mpi_operator.plan.outcome import Plan
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from test.builders.children import SUSPENDED, a_config_map, a_launcher_job
from test.builders.jobs import a_stored_job
from test.builders.pods import NOW, a_launcher_pod, a_worker, ago
from test.builders.rows import a_row, create_launcher, create_workers, delete, kept, normal, now, patch, warning
from test.builders.snapshots import (
    CREATED,
    IS_NOT_RUNNING_SUSPENDED,
    IS_RUNNING,
    IS_SUSPENDED,
    a_condition,
    a_snapshot,
    an_accepted_job,
    counts,
)
from test.builders.strategies import stored_jobs

FOUND = "Found validation errors: spec.mpiReplicaSpecs[Launcher].replicas: Invalid value: 2: must be 1"
TWO: dict[str, Any] = {"launcher": {"replicas": 2}}
INVALID = a_stored_job(**TWO)
EDITED: dict[str, Any] = {"metadata": {"generation": 3}, **TWO}
WARNED = warning("ValidationError", FOUND, "ValidationError/3")
REFUSED = now("Created", "False", "ValidationError", FOUND)
REFUSED_BEFORE = a_condition("Created", "False", "ValidationError", FOUND)

WORKERS = (a_worker(0), a_worker(1))
LAUNCHER = a_launcher_pod()
RUNS = counts(launcher={"active": 1}, worker={"active": 2})
LAUNCHER_JOB = a_launcher_job()


def told(generation: int = 1, **fields: Any) -> MPIJob:
    """A job that was refused before; `fields` say what it is now."""
    job = an_accepted_job(metadata={"generation": generation}, started=False, replicas=counts(), **fields)
    status = job.status.__class__(conditions=(REFUSED_BEFORE,))
    return MPIJob(metadata=job.metadata, spec=job.spec, status=status)


LONG_NAME = "a" * 54
LONG = "Found validation errors: metadata.name"


@pytest.mark.parametrize(
    ("given", "settings", "expected"),
    [
        a_row(
            "B045 B248 A1.11 a new job that is not valid: Created=False and one event, no children",
            Snapshot(job=INVALID),
            status={"conditions": (REFUSED,)},
            transitions=(warning("ValidationError", FOUND, "ValidationError/1"),),
        ),
        a_row("B045 looked at again it is told nothing new", Snapshot(job=told(**TWO))),
        a_row(
            "B045 an edit that is refused for the same reason is told once per generation",
            Snapshot(job=told(3, **TWO)),
            events=(WARNED,),
        ),
        a_row(
            "B045 and not again by this process",
            Snapshot(job=told(3, **TWO), announced=frozenset({"ValidationError/3"})),
        ),
        a_row(
            "B045 B247 an edit that makes it valid starts the job",
            Snapshot(job=(fixed := told(2))),
            steps=(kept(fixed), (create_workers(fixed, 0, 1), create_launcher(fixed))),
            status={
                "conditions": (now("Created", "True", "MPIJobCreated", "MPIJob default/pi is created."),),
                "replica_statuses": counts(worker={}),
                "start_time": NOW,
            },
            transitions=(normal("MPIJobCreated", "MPIJob default/pi is created."),),
            counters=("created",),
        ),
        a_row(
            "B047 A1.11 a running job that is edited into an invalid one goes on, and the edit is told once",
            a_snapshot(
                an_accepted_job(IS_RUNNING, replicas=RUNS, **EDITED),
                pods=(*WORKERS, LAUNCHER),
                launcher_job=LAUNCHER_JOB,
                config_map=a_config_map(running=(0, 1)),
            ),
            events=(WARNED,),
        ),
        a_row(
            "B047 it is observed: a worker that is lost is said, and neither it nor anything else is created",
            a_snapshot(
                an_accepted_job(IS_RUNNING, replicas=RUNS, **EDITED),
                pods=(WORKERS[0], LAUNCHER),
                launcher_job=LAUNCHER_JOB,
                service=None,
            ),
            status={
                "conditions": (
                    CREATED,
                    now("Running", "False", "WorkersNotRunning", "1 of 2 workers of MPIJob default/pi are running"),
                ),
                "replica_statuses": counts(launcher={"active": 1}, worker={"active": 1}),
            },
            events=(WARNED,),
        ),
        a_row(
            "an invalid spec does not keep a job from being suspended",
            a_snapshot(
                an_accepted_job(IS_RUNNING, run_policy={"suspend": True}, **EDITED),
                pods=(*WORKERS, LAUNCHER),
                launcher_job=LAUNCHER_JOB,
            ),
            steps=((patch(LAUNCHER_JOB, {"spec": {"suspend": True}}),), (delete(WORKERS[0]), delete(WORKERS[1]))),
            status={
                "conditions": (
                    CREATED,
                    now("Running", "False", "MPIJobSuspended", "MPIJob default/pi is suspended."),
                    now("Suspended", "True", "MPIJobSuspended", "MPIJob suspended"),
                ),
                "replica_statuses": RUNS,
            },
            transitions=(normal("MPIJobSuspended", "MPIJob suspended"),),
            events=(WARNED,),
        ),
        a_row(
            "but a resume waits until the spec is valid",
            a_snapshot(
                an_accepted_job(IS_SUSPENDED, IS_NOT_RUNNING_SUSPENDED, **EDITED),
                launcher_job=a_launcher_job(suspended=True, conditions=[SUSPENDED], status={"startTime": ago(50)}),
            ),
            events=(WARNED,),
        ),
    ],
)
def test_invalid(given: Snapshot, settings: Settings, expected: Plan) -> None:
    assert plan(given, settings, NOW) == expected


def test_A4_10_a_scale_that_makes_a_hostname_too_long_is_refused_alone() -> None:
    before = an_accepted_job(IS_RUNNING, name=LONG_NAME, workers=1, replicas=counts(launcher={}, worker={"active": 1}))
    scaled = an_accepted_job(IS_RUNNING, name=LONG_NAME, workers=11, replicas=before.status.replica_statuses)
    given = a_snapshot(before, running=(0,), pods=(a_worker(0, before),), launcher_job=a_launcher_job(before))
    decided = plan(Snapshot(**{**_fields(given), "job": scaled}), Settings(), NOW)
    assert not decided.actions
    assert [(event.reason, event.message[: len(LONG)]) for event in decided.events] == [("ValidationError", LONG)]


def test_A4_10_the_job_goes_on_with_the_hosts_that_it_has() -> None:
    before = an_accepted_job(name=LONG_NAME, workers=2, replicas=counts(worker={}))
    scaled = an_accepted_job(name=LONG_NAME, workers=11, replicas=counts(worker={}))
    given = a_snapshot(before)
    decided = plan(Snapshot(**{**_fields(given), "job": scaled}), Settings(), NOW)
    assert decided.steps == ((create_workers(before, 0, 1), create_launcher(before)),)


def _fields(snapshot: Snapshot) -> dict[str, Any]:
    return {name: getattr(snapshot, name) for name in snapshot.__struct_fields__}


@hypothesis_settings(max_examples=150, deadline=None)
@hypothesis_given(job=stored_jobs())
def test_A2_14_whatever_decodes_has_a_plan(job: MPIJob) -> None:
    decided = plan(Snapshot(job=job), Settings(), NOW)
    assert decided == plan(Snapshot(job=job), Settings(), NOW)
    if job.spec.is_managed_elsewhere:
        assert decided == Plan(status=job.status)
