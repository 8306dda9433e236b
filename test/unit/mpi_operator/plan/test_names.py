"""Names that others hold, and children that lost their labels (lifecycle.md 2)."""

from __future__ import annotations

from typing import Any

import pytest

from mpi_operator.plan.outcome import Plan
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from test.builders.children import a_config_map, a_launcher_job, a_secret, a_service
from test.builders.jobs import a_stored_job
from test.builders.pods import NOW, a_launcher_pod, a_worker, ago
from test.builders.rows import (
    a_row,
    create_config_map,
    create_launcher,
    create_workers,
    kept,
    normal,
    now,
    patch,
    since,
    warning,
)
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

JOB = an_accepted_job(replicas=counts(worker={}))
PREDECESSOR = {"uid": "a job that is gone"}
PENDING = (a_worker(0, phase="Pending"), a_worker(1, phase="Pending"))
LABELS = {
    "training.kubeflow.org/operator-name": "mpi-operator",
    "training.kubeflow.org/job-name": "pi",
}
ADOPTED: dict[str, Any] = {"metadata": {"labels": LABELS}}
BY_GO: dict[str, Any] = {"labels": {"app": "pi"}}


def _taken(kind: str, name: str) -> str:
    return f'Resource "{name}" of Kind "{kind}" already exists and is not managed by MPIJob'


def _blocked(sentence: str, given: Snapshot, kind: str, name: str, **expected: Any) -> Any:
    """A row in which somebody else has a name: it is said once, and tried again."""
    return a_row(
        sentence,
        given,
        status={
            "conditions": (CREATED, now("Running", "False", "ErrResourceExists", _taken(kind, name))),
            **expected.pop("status", {}),
        },
        transitions=(warning("ErrResourceExists", _taken(kind, name)),),
        look_again_seconds=1.0,
        **expected,
    )


TOLD = a_condition("Running", "False", "ErrResourceExists", _taken("Service", "pi"), since_ago=8)
TOLD_LONG_AGO = a_condition("Running", "False", "ErrResourceExists", _taken("Service", "pi"), since_ago=500)
FOREIGN_SERVICE = a_service(owned=False)
TOLD_JOB = an_accepted_job(TOLD, replicas=counts(worker={}))
RUNNING_JOB = an_accepted_job(IS_RUNNING, replicas=counts(launcher={"active": 1}, worker={"active": 2}))
ALL_RUNNING = (a_worker(0), a_worker(1), a_launcher_pod())
REBORN = a_stored_job(metadata={"creationTimestamp": "2026-12-01T11:59:00Z"})
OLD_SUCCESS = a_launcher_pod("old", job_uid="old job", phase="Succeeded", exit_code=0, created_ago=90)
UNLABELLED = a_worker(1, phase="Pending", labels={})
UNSEEN = a_launcher_job(**BY_GO, spec={"ttlSecondsAfterFinished": 60})


@pytest.mark.parametrize(
    ("given", "settings", "expected"),
    [
        _blocked(
            "B057 B249 A4.11 a foreign Service: kind and name, no pods are made, and the rest is kept up",
            a_snapshot(JOB, service=FOREIGN_SERVICE, config_map=None),
            "Service",
            "pi",
            steps=((create_config_map(JOB),),),
        ),
        _blocked(
            "a foreign ConfigMap keeps pods from being made",
            a_snapshot(JOB, config_map=a_config_map(owned=False)),
            "ConfigMap",
            "pi-config",
        ),
        _blocked(
            "a foreign Secret as well, and its keys are not touched",
            a_snapshot(JOB, secret=a_secret(owned=False, usable=False)),
            "Secret",
            "pi-ssh",
        ),
        _blocked(
            "a foreign launcher Job: it is neither changed nor are its pods ours",
            a_snapshot(
                JOB,
                launcher_job=a_launcher_job(owned=False, uid="foreign", spec={"ttlSecondsAfterFinished": 1}),
                pods=(a_launcher_pod(job_uid="foreign"),),
            ),
            "Job",
            "pi-launcher",
        ),
        _blocked(
            "B135 a foreign pod under a worker's name is never deleted, and no other worker is made",
            a_snapshot(JOB, pods=(a_worker(1, owned=False, phase="Failed", reason="Evicted"),)),
            "Pod",
            "pi-worker-1",
        ),
        a_row(
            "A4.11 a taken name is told once, and tried again after as long as it has been so",
            a_snapshot(TOLD_JOB, service=FOREIGN_SERVICE),
            look_again_seconds=8.0,
        ),
        a_row(
            "but after 30 s at most",
            a_snapshot(an_accepted_job(TOLD_LONG_AGO, replicas=counts(worker={})), service=FOREIGN_SERVICE),
            look_again_seconds=30.0,
        ),
        a_row(
            "A4.11 when the name is free, the job goes on",
            a_snapshot(TOLD_JOB),
            steps=((create_workers(TOLD_JOB, 0, 1), create_launcher(TOLD_JOB)),),
            status={
                "conditions": (
                    CREATED,
                    since(
                        "Running",
                        "False",
                        "WorkersNotRunning",
                        "0 of 2 workers of MPIJob default/pi are running",
                        ago(8),
                    ),
                )
            },
        ),
        a_row(
            "a job that runs goes on running when somebody takes a name",
            a_snapshot(
                RUNNING_JOB, service=FOREIGN_SERVICE, pods=ALL_RUNNING, launcher_job=a_launcher_job(), running=(0, 1)
            ),
            events=(warning("ErrResourceExists", _taken("Service", "pi"), "ErrResourceExists/Service/pi"),),
            look_again_seconds=30.0,
        ),
        a_row(
            "nor does a suspended one say anything but that it is suspended, beside a warning",
            a_snapshot(
                an_accepted_job(IS_SUSPENDED, IS_NOT_RUNNING_SUSPENDED, run_policy={"suspend": True}),
                service=FOREIGN_SERVICE,
                launcher_job=a_launcher_job(suspended=True),
            ),
            events=(warning("ErrResourceExists", _taken("Service", "pi"), "ErrResourceExists/Service/pi"),),
            look_again_seconds=30.0,
        ),
        a_row(
            "A4.12 children of a predecessor are waited for, without event or error",
            a_snapshot(
                JOB,
                service=a_service(owner=PREDECESSOR),
                config_map=a_config_map(owner=PREDECESSOR, terminating=True),
                secret=a_secret(owner=PREDECESSOR),
                launcher_job=a_launcher_job(owner=PREDECESSOR),
            ),
            look_again_seconds=1.0,
        ),
        a_row(
            "A4.12 a predecessor's worker is waited for, the others are made",
            a_snapshot(JOB, pods=(a_worker(0, owner_uid="a job that is gone", terminating=True),), launcher_job=None),
            steps=((create_workers(JOB, 1), create_launcher(JOB)),),
            look_again_seconds=1.0,
        ),
        a_row(
            "ours but terminating is waited for, too",
            a_snapshot(JOB, config_map=a_config_map(terminating=True)),
            look_again_seconds=1.0,
        ),
        a_row(
            "A4.12 a predecessor's launcher pod that Succeeded is no success of ours",
            Snapshot(job=REBORN, pods=(OLD_SUCCESS,)),
            steps=(kept(REBORN), (create_workers(REBORN, 0, 1),)),
            status={
                "conditions": (now("Created", "True", "MPIJobCreated", "MPIJob default/pi is created."),),
                "replica_statuses": counts(worker={}),
                "start_time": NOW,
            },
            transitions=(normal("MPIJobCreated", "MPIJob default/pi is created."),),
            counters=("created",),
            look_again_seconds=1.0,
        ),
        a_row(
            "B084 children that lack the operator's labels are adopted, and the launcher Job loses its own TTL",
            a_snapshot(
                an_accepted_job(),
                service=(service := a_service(**BY_GO)),
                config_map=(config_map := a_config_map(**BY_GO)),
                secret=(secret := a_secret(**BY_GO)),
                launcher_job=UNSEEN,
                pods=(PENDING[0], UNLABELLED),
            ),
            steps=(
                (
                    patch(service, ADOPTED),
                    patch(config_map, ADOPTED),
                    patch(secret, ADOPTED),
                    patch(UNLABELLED, ADOPTED),
                ),
                (patch(UNSEEN, {**ADOPTED, "spec": {"ttlSecondsAfterFinished": None}}),),
            ),
        ),
        a_row(
            "B120 a changed selector and publishNotReadyAddresses are repaired, nothing else",
            a_snapshot(
                an_accepted_job(),
                service=(
                    bent := a_service(
                        spec={"selector": {"x": "y"}, "publishNotReadyAddresses": False, "type": "NodePort"}
                    )
                ),
                launcher_job=a_launcher_job(),
                pods=PENDING,
            ),
            steps=((patch(bent, {"spec": {"selector": {"x": None, **LABELS}, "publishNotReadyAddresses": True}}),),),
        ),
    ],
)
def test_names(given: Snapshot, settings: Settings, expected: Plan) -> None:
    assert plan(given, settings, NOW) == expected
