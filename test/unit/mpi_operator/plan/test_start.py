"""How a job starts: what is created, in which order, and when the launcher may run (lifecycle.md 1-3)."""

from __future__ import annotations

from typing import Any

import pytest

from mpi_operator.actions import CreateWorkers
from mpi_operator.plan.outcome import Plan
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from test.builders.children import a_launcher_job, a_secret
from test.builders.jobs import a_stored_job, a_time
from test.builders.pods import NOW, a_launcher_pod, a_worker
from test.builders.rows import (
    a_row,
    create_launcher,
    create_workers,
    ensure_secret,
    kept,
    normal,
    now,
    patch,
    warning,
)
from test.builders.snapshots import a_snapshot, an_accepted_job, counts

NEW = a_stored_job()
CREATED_NOW = now("Created", "True", "MPIJobCreated", "MPIJob default/pi is created.")
CREATED_EVENT = normal("MPIJobCreated", "MPIJob default/pi is created.")
ACCEPTED: dict[str, Any] = {
    "status": {"conditions": (CREATED_NOW,), "replica_statuses": counts(worker={}), "start_time": NOW},
    "transitions": (CREATED_EVENT,),
    "counters": ("created",),
}

ELSEWHERE = a_stored_job(run_policy={"managedBy": "kueue.x-k8s.io/multikueue"})
OURS_BY_NAME = a_stored_job(run_policy={"managedBy": "kubeflow.org/mpi-operator"})
OURS_BY_EMPTINESS = a_stored_job(run_policy={"managedBy": ""})
DELETED = a_stored_job(metadata={"deletionTimestamp": "2026-12-01T11:59:00Z"})
WAITING = a_stored_job(launcherCreationPolicy="WaitForWorkersReady")
ACCEPTED_WAITING = an_accepted_job(launcherCreationPolicy="WaitForWorkersReady", replicas=counts(worker={}))
OVERRIDDEN = a_stored_job(launcher={"template": {"spec": {"containers": [{"name": "l"}], "restartPolicy": "Never"}}})
RANKS_ON_LAUNCHER = a_stored_job(workers=None, runLauncherAsWorker=True)
RUNNING_JOB = an_accepted_job()

READY = (a_worker(0), a_worker(1))
ONLY_RUNNING = (a_worker(0), a_worker(1, ready=False))
DRAINING = (a_worker(0), a_worker(1, ready=True, terminating=True))
PENDING = (a_worker(0, phase="Pending"), a_worker(1, phase="Pending"))
FORMER = a_launcher_pod("old", job_uid="deleted-job-uid", terminating=True, created_ago=30)


@pytest.mark.parametrize(
    ("given", "settings", "expected"),
    [
        a_row("B050 K1 a job that MultiKueue manages is not touched", Snapshot(job=ELSEWHERE)),
        a_row("B054 a job that is being deleted is left to garbage collection", Snapshot(job=DELETED)),
        a_row(
            "B055 B156 B221 B222 B247 B262 a new job gets all its children, pods last, and is announced once",
            Snapshot(job=NEW),
            steps=(kept(NEW), (create_workers(NEW, 0, 1), create_launcher(NEW))),
            **ACCEPTED,
        ),
        a_row(
            "B051 the operator's own name in managedBy means ours",
            Snapshot(job=OURS_BY_NAME),
            steps=(kept(OURS_BY_NAME), (create_workers(OURS_BY_NAME, 0, 1), create_launcher(OURS_BY_NAME))),
            **ACCEPTED,
        ),
        a_row(
            "B052 A4.8 an empty managedBy means ours",
            Snapshot(job=OURS_BY_EMPTINESS),
            steps=(
                kept(OURS_BY_EMPTINESS),
                (create_workers(OURS_BY_EMPTINESS, 0, 1), create_launcher(OURS_BY_EMPTINESS)),
            ),
            **ACCEPTED,
        ),
        a_row(
            "B137 B121 a job without workers has a launcher and all else",
            Snapshot(job=RANKS_ON_LAUNCHER),
            steps=(kept(RANKS_ON_LAUNCHER), (create_launcher(RANKS_ON_LAUNCHER),)),
            **ACCEPTED,
        ),
        a_row(
            "B148 B252 A4.18 a restart policy in the launcher's template is warned of once, when the job is accepted",
            Snapshot(job=OVERRIDDEN),
            steps=(kept(OVERRIDDEN), (create_workers(OVERRIDDEN, 0, 1), create_launcher(OVERRIDDEN))),
            **{
                **ACCEPTED,
                "transitions": (
                    CREATED_EVENT,
                    warning(
                        "SetPodTemplateRestartPolicy",
                        "Restart policy in pod template overridden by restart policy in replica spec",
                    ),
                ),
            },
        ),
        a_row(
            "B157 WaitForWorkersReady starts with the workers alone",
            Snapshot(job=WAITING),
            steps=(kept(WAITING), (create_workers(WAITING, 0, 1),)),
            **ACCEPTED,
        ),
        a_row(
            "B157 B223 the launcher waits while a worker is running but not Ready",
            a_snapshot(ACCEPTED_WAITING, pods=ONLY_RUNNING, running=(0, 1)),
            status={"replica_statuses": counts(worker={"active": 2})},
        ),
        a_row(
            "A1.14 a Ready worker that is terminating does not count",
            a_snapshot(ACCEPTED_WAITING, pods=DRAINING, running=(0,)),
            status={"replica_statuses": counts(worker={"active": 2})},
        ),
        a_row(
            "A1.2 A1.3 somebody's pod with the labels of a worker does not count either",
            a_snapshot(ACCEPTED_WAITING, pods=(READY[0], a_worker(7, owned=False)), running=(0,)),
            steps=((create_workers(ACCEPTED_WAITING, 1),),),
            status={"replica_statuses": counts(worker={"active": 1})},
        ),
        a_row(
            "B157 A1.13 the launcher is created when all workers are Ready",
            a_snapshot(ACCEPTED_WAITING, pods=READY, running=(0, 1)),
            steps=((create_launcher(ACCEPTED_WAITING),),),
            status={"replica_statuses": counts(worker={"active": 2})},
        ),
        a_row(
            "B230 B228 pods that are pending need nothing and give no Running condition",
            a_snapshot(RUNNING_JOB, pods=(*PENDING, a_launcher_pod(phase="Pending")), launcher_job=a_launcher_job()),
        ),
        a_row(
            "B071 A1.5 a launcher Job that was deleted is not created again while a pod of the old one remains",
            a_snapshot(an_accepted_job(), pods=(*READY, FORMER), running=(0, 1)),
            status={"replica_statuses": counts(launcher={"active": 1}, worker={"active": 2})},
            look_again_seconds=1.0,
        ),
        a_row(
            "B071 and it is created again when none remains",
            a_snapshot(an_accepted_job(), pods=READY, running=(0, 1)),
            steps=((create_launcher(RUNNING_JOB),),),
            status={"replica_statuses": counts(launcher={}, worker={"active": 2})},
        ),
        a_row(
            "A1.19 B115 a Secret whose pair is unusable gets a new pair, in the version that was read",
            a_snapshot(
                RUNNING_JOB,
                pods=(*PENDING,),
                launcher_job=a_launcher_job(),
                secret=(unusable := a_secret(usable=False)),
            ),
            steps=((ensure_secret(RUNNING_JOB, unusable),),),
        ),
        a_row(
            "A4.13 B160 edited limits reach a live launcher Job, and its own TTL goes",
            a_snapshot(
                (limited := an_accepted_job(run_policy={"activeDeadlineSeconds": 9000, "backoffLimit": 2})),
                pods=PENDING,
                launcher_job=(old := a_launcher_job(spec={"ttlSecondsAfterFinished": 0})),
            ),
            steps=(
                (
                    patch(
                        old,
                        {
                            "spec": {
                                "ttlSecondsAfterFinished": None,
                                "activeDeadlineSeconds": 9000,
                                "backoffLimit": 2,
                            }
                        },
                    ),
                ),
            ),
        ),
        a_row(
            "B138 a changed worker template does not touch workers that exist",
            a_snapshot(
                an_accepted_job(worker={"template": {"spec": {"containers": [{"name": "mpi", "image": "new"}]}}}),
                pods=PENDING,
                launcher_job=a_launcher_job(),
            ),
        ),
    ],
)
def test_start(given: Snapshot, settings: Settings, expected: Plan) -> None:
    assert plan(given, settings, NOW) == expected


def test_B015_nothing_is_ever_written_to_the_job_but_its_status() -> None:
    decided = plan(Snapshot(job=NEW), Settings(), NOW)
    kinds = [getattr(action, "kind", "") for action in decided.actions]
    assert "MPIJob" not in kinds


def test_B083_K5_each_manifest_is_its_own() -> None:
    first, second = (plan(Snapshot(job=NEW), Settings(), NOW) for _ in range(2))
    manifest = first.steps[1][0].pods[0].manifest  # type: ignore[union-attr]
    manifest["spec"]["containers"][0]["image"] = "spoilt"
    assert plan(Snapshot(job=NEW), Settings(), NOW) == second


def test_A3_2_B132_workers_are_created_in_one_batch_in_order_of_ordinals() -> None:
    many = a_stored_job(workers=500)
    [batch] = [
        action for action in plan(Snapshot(job=many), Settings(), NOW).actions if isinstance(action, CreateWorkers)
    ]
    assert [pod.name for pod in batch.pods] == [f"pi-worker-{ordinal}" for ordinal in range(500)]


def test_a_time_of_start_has_whole_seconds() -> None:
    moment = a_time("2026-12-01T12:00:00.75Z")
    assert plan(Snapshot(job=NEW), Settings(), moment).status.start_time == NOW
