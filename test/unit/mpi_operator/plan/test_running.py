"""When a job runs, restarts, or waits for a node (lifecycle.md 6)."""

from __future__ import annotations

from typing import Any

import pytest

from mpi_operator.plan.outcome import Plan
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from test.builders.children import a_launcher_job
from test.builders.pods import NOW, a_launcher_pod, a_worker, ago
from test.builders.rows import a_row, create_workers, normal, now, since, warning
from test.builders.snapshots import CREATED, IS_RUNNING, a_condition, a_snapshot, an_accepted_job, counts

JOB = an_accepted_job()
RUNNING_JOB = an_accepted_job(IS_RUNNING)
WORKERS = (a_worker(0), a_worker(1))
LAUNCHER = a_launcher_pod()
LAUNCHER_JOB = a_launcher_job(status={"active": 1})
ALL_ACTIVE = counts(launcher={"active": 1}, worker={"active": 2})
RUNNING_NOW = now("Running", "True", "MPIJobRunning", "MPIJob default/pi is running.")
RUNNING_EVENT = normal("MPIJobRunning", "MPIJob default/pi is running")

ATTEMPT = "attempt 1 of the launcher of MPIJob default/pi failed: container mpi exited with code 3"
RESTARTING_NOW = now("Restarting", "True", "MPIJobRestarting", ATTEMPT)
NOT_RUNNING_RESTARTING = now("Running", "False", "MPIJobRestarting", ATTEMPT)
FAILED_LAUNCHER = a_launcher_pod(phase="Failed", exit_code=3)
ONE_FAILED = a_launcher_job(status={"failed": 1})
CRASHED = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}
ENDED = {"lastState": {"terminated": {"exitCode": 3, "finishedAt": ago(5)}}}
LOOPING = a_launcher_pod(container={**CRASHED, **ENDED})
RUNS_AGAIN = a_launcher_pod(container={"restartCount": 1, **ENDED})
RAN_BEFORE = a_launcher_pod(
    container={"restartCount": 1, "lastState": {"terminated": {"exitCode": 3, "finishedAt": ago(200)}}}
)
IS_RESTARTING = a_condition("Restarting", "True", "MPIJobRestarting", ATTEMPT)
WAS_STOPPED = a_condition("Running", "False", "MPIJobRestarting", ATTEMPT)
RESTARTING_JOB = an_accepted_job(WAS_STOPPED, IS_RESTARTING)


WAS_RESTARTING = a_condition("Restarting", "False", "MPIJobRestarting", ATTEMPT)
LONG_FAILED = a_launcher_pod(phase="Failed", exit_code=3, finished_ago=200)


def _lacking(running: int) -> str:
    return f"{running} of 2 workers of MPIJob default/pi are running"


def _unscheduled(seconds: float, message: str = "0/3 nodes are available") -> dict[str, Any]:
    condition = {"status": "False", "reason": "Unschedulable", "message": message, "lastTransitionTime": ago(seconds)}
    return {"phase": "Pending", "conditions": {"PodScheduled": condition}}


GATED: dict[str, Any] = {
    "phase": "Pending",
    "conditions": {"PodScheduled": {"status": "False", "reason": "SchedulingGated", "lastTransitionTime": ago(99)}},
}
TOLD_OF_NODES = a_condition("Running", "False", "Unschedulable", "old", since_ago=90)
TOLD_JUST_NOW = a_condition("Running", "False", "Unschedulable", "old", since_ago=20)


@pytest.mark.parametrize(
    ("given", "settings", "expected"),
    [
        a_row(
            "B229 B255 B224 B227 one launcher pod and every worker running: Running, and one event",
            a_snapshot(JOB, pods=(*WORKERS, LAUNCHER), launcher_job=LAUNCHER_JOB, running=(0, 1)),
            status={"conditions": (CREATED, RUNNING_NOW), "replica_statuses": ALL_ACTIVE},
            transitions=(RUNNING_EVENT,),
        ),
        a_row(
            "A3.4 B216 B067 a running job that is looked at again needs nothing and says nothing",
            a_snapshot(
                an_accepted_job(IS_RUNNING, replicas=ALL_ACTIVE),
                pods=(*WORKERS, LAUNCHER),
                launcher_job=LAUNCHER_JOB,
                running=(0, 1),
            ),
        ),
        a_row(
            "B230 not all workers running: no Running condition",
            a_snapshot(
                JOB, pods=(WORKERS[0], a_worker(1, phase="Pending"), LAUNCHER), launcher_job=LAUNCHER_JOB, running=(0,)
            ),
            status={"replica_statuses": counts(launcher={"active": 1}, worker={"active": 1})},
        ),
        a_row(
            "A4.2 K11 a Running job that loses a worker is not Running",
            a_snapshot(RUNNING_JOB, pods=(WORKERS[0], LAUNCHER), launcher_job=LAUNCHER_JOB, running=(0,)),
            steps=((create_workers(RUNNING_JOB, 1),),),
            status={
                "conditions": (CREATED, now("Running", "False", "WorkersNotRunning", _lacking(1))),
                "replica_statuses": counts(launcher={"active": 1}, worker={"active": 1}),
            },
        ),
        a_row(
            "a worker that is terminating is lost too",
            a_snapshot(
                RUNNING_JOB,
                pods=(WORKERS[0], a_worker(1, terminating=True), LAUNCHER),
                launcher_job=LAUNCHER_JOB,
                running=(0,),
            ),
            status={
                "conditions": (CREATED, now("Running", "False", "WorkersNotRunning", _lacking(1))),
                "replica_statuses": ALL_ACTIVE,
            },
        ),
        a_row(
            "B225 B231 A4.2 an attempt that failed and will be followed: Restarting, with container and exit code",
            a_snapshot(RUNNING_JOB, pods=(*WORKERS, FAILED_LAUNCHER), launcher_job=ONE_FAILED, running=(0, 1)),
            status={
                "conditions": (CREATED, NOT_RUNNING_RESTARTING, RESTARTING_NOW),
                "replica_statuses": counts(launcher={"failed": 1}, worker={"active": 2}),
            },
            transitions=(warning("MPIJobRestarting", ATTEMPT),),
        ),
        a_row(
            "an attempt that the Job has not counted yet is not over",
            a_snapshot(RUNNING_JOB, pods=(*WORKERS, FAILED_LAUNCHER), launcher_job=a_launcher_job(), running=(0, 1)),
            status={
                "conditions": (CREATED, now("Running", "False", "WorkersNotRunning", _lacking(2))),
                "replica_statuses": counts(launcher={}, worker={"active": 2}),
            },
        ),
        a_row(
            "with OnFailure the pod stays: an attempt is over when its container waits to be started again",
            a_snapshot(RUNNING_JOB, pods=(*WORKERS, LOOPING), launcher_job=LAUNCHER_JOB, running=(0, 1)),
            status={
                "conditions": (CREATED, NOT_RUNNING_RESTARTING, RESTARTING_NOW),
                "replica_statuses": ALL_ACTIVE,
            },
            transitions=(warning("MPIJobRestarting", ATTEMPT),),
        ),
        a_row(
            "or when it runs again already: that is said once, too",
            a_snapshot(RUNNING_JOB, pods=(*WORKERS, RUNS_AGAIN), launcher_job=LAUNCHER_JOB, running=(0, 1)),
            status={
                "conditions": (CREATED, NOT_RUNNING_RESTARTING, RESTARTING_NOW),
                "replica_statuses": ALL_ACTIVE,
            },
            transitions=(warning("MPIJobRestarting", ATTEMPT),),
        ),
        a_row(
            "but not of an attempt that was over before the job was Running",
            a_snapshot(
                an_accepted_job(IS_RUNNING, replicas=ALL_ACTIVE),
                pods=(*WORKERS, RAN_BEFORE),
                launcher_job=LAUNCHER_JOB,
                running=(0, 1),
            ),
        ),
        a_row(
            "nor again of an attempt that was told of, whatever the clock of its node says",
            a_snapshot(
                an_accepted_job(WAS_RESTARTING, IS_RUNNING, replicas=ALL_ACTIVE),
                pods=(*WORKERS, RUNS_AGAIN),
                launcher_job=LAUNCHER_JOB,
                running=(0, 1),
            ),
        ),
        a_row(
            "a launcher pod that is lost later is no new failure of the attempt that was told of",
            a_snapshot(
                an_accepted_job(
                    WAS_RESTARTING, IS_RUNNING, replicas=counts(launcher={"failed": 1}, worker={"active": 2})
                ),
                pods=(*WORKERS, LONG_FAILED),
                launcher_job=ONE_FAILED,
                running=(0, 1),
            ),
            status={
                "conditions": (
                    CREATED,
                    WAS_RESTARTING,
                    now("Running", "False", "WorkersNotRunning", _lacking(2)),
                )
            },
        ),
        a_row(
            "B242 back again: Running is True, Restarting is False and keeps its text for a later failure",
            a_snapshot(RESTARTING_JOB, pods=(*WORKERS, RUNS_AGAIN), launcher_job=LAUNCHER_JOB, running=(0, 1)),
            status={
                "conditions": (CREATED, now("Restarting", "False", "MPIJobRestarting", ATTEMPT), RUNNING_NOW),
                "replica_statuses": ALL_ACTIVE,
            },
            transitions=(RUNNING_EVENT,),
        ),
        a_row(
            "a launcher pod that Succeeded is finishing: nothing flips while the Job has not said so",
            a_snapshot(
                an_accepted_job(IS_RUNNING, replicas=counts(launcher={}, worker={"active": 2})),
                pods=(*WORKERS, a_launcher_pod(phase="Succeeded")),
                launcher_job=LAUNCHER_JOB,
                running=(0, 1),
            ),
        ),
        a_row(
            "a Job with FailureTarget is finishing as well",
            a_snapshot(
                an_accepted_job(IS_RUNNING, replicas=counts(launcher={"failed": 1}, worker={"active": 2})),
                pods=(*WORKERS, FAILED_LAUNCHER),
                launcher_job=a_launcher_job(
                    conditions=[{"type": "FailureTarget", "status": "True"}], status={"failed": 1}
                ),
                running=(0, 1),
            ),
        ),
        a_row(
            "pods without a node for less than 30 s: nothing is said yet, but looked again",
            a_snapshot(
                JOB, pods=(a_worker(0, **_unscheduled(20)), a_worker(1, phase="Pending")), launcher_job=LAUNCHER_JOB
            ),
            look_again_seconds=10.0,
        ),
        a_row(
            "pods without a node for 30 s: Unschedulable, with the scheduler's message",
            a_snapshot(
                JOB, pods=(a_worker(0, **_unscheduled(30)), a_worker(1, phase="Pending")), launcher_job=LAUNCHER_JOB
            ),
            status={"conditions": (CREATED, now("Running", "False", "Unschedulable", "0/3 nodes are available"))},
        ),
        a_row(
            "the message is refreshed at most once a minute: not yet",
            a_snapshot(
                an_accepted_job(TOLD_JUST_NOW),
                pods=(a_worker(0, **_unscheduled(99, "new")), a_worker(1, phase="Pending")),
                launcher_job=LAUNCHER_JOB,
            ),
            look_again_seconds=40.0,
        ),
        a_row(
            "B241 A4.5 the message is refreshed after a minute, and the transition time stays",
            a_snapshot(
                an_accepted_job(TOLD_OF_NODES),
                pods=(a_worker(0, **_unscheduled(99, "new")), a_worker(1, phase="Pending")),
                launcher_job=LAUNCHER_JOB,
            ),
            status={"conditions": (CREATED, since("Running", "False", "Unschedulable", "new", ago(90)))},
        ),
        a_row(
            "a pod with a scheduling gate is not unschedulable",
            a_snapshot(JOB, pods=(a_worker(0, **GATED), a_worker(1, **GATED)), launcher_job=LAUNCHER_JOB),
        ),
        a_row(
            "when every pod has its node, Unschedulable is no longer the reason",
            a_snapshot(
                an_accepted_job(TOLD_OF_NODES),
                pods=(a_worker(0, phase="Pending"), a_worker(1, phase="Pending")),
                launcher_job=LAUNCHER_JOB,
            ),
            status={"conditions": (CREATED, since("Running", "False", "WorkersNotRunning", _lacking(0), ago(90)))},
        ),
    ],
)
def test_running(given: Snapshot, settings: Settings, expected: Plan) -> None:
    assert plan(given, settings, NOW) == expected


def test_A3_7_a_status_that_somebody_emptied_is_written_again() -> None:
    emptied = a_snapshot(
        an_accepted_job(IS_RUNNING, status={}), pods=(*WORKERS, LAUNCHER), launcher_job=LAUNCHER_JOB, running=(0, 1)
    )
    decided = plan(emptied, Settings(), NOW)
    assert decided.status_write == "last"
