"""Results, clean-up, deadlines and TTL (lifecycle.md 7, 8)."""

from __future__ import annotations

from typing import Any

import pytest

from mpi_operator.api.types import Condition, MPIJob, MPIJobStatus
from mpi_operator.plan.outcome import Plan
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from test.builders.children import COMPLETE, FAILED, a_launcher_job
from test.builders.pods import NOW, a_launcher_pod, a_worker, ago
from test.builders.rows import a_row, create_workers, delete, normal, now, warning
from test.builders.snapshots import CREATED, IS_RUNNING, IS_SUSPENDED, a_condition, a_snapshot, an_accepted_job, counts

WORKERS = (a_worker(0), a_worker(1))
PENDING = a_worker(1, phase="Pending")
BROKEN = a_worker(1, phase="Failed", exit_code=1)
DONE = a_launcher_pod(phase="Succeeded", exit_code=0)
CRASHED = a_launcher_pod(phase="Failed", exit_code=3)
COMPLETED = a_launcher_job(conditions=[COMPLETE], status={"completionTime": ago(12), "succeeded": 1})
JOB_MESSAGE = "Job has reached the specified backoff limit"


def ended(at: Any, message: str = "MPIJob default/pi is running.") -> Condition:
    """Running, made False when the job ended."""
    return Condition(
        type="Running",
        status="False",
        reason="MPIJobRunning",
        message=message,
        last_update_time=at,
        last_transition_time=at,
    )


NEVER_RAN = "MPIJob default/pi is finished but Running condition was never set."
SUCCEEDED_NOW = now("Succeeded", "True", "MPIJobSucceeded", "MPIJob default/pi successfully completed.")
SUCCESS: dict[str, Any] = {
    "status_write": "first",
    "transitions": (normal("MPIJobSucceeded", "MPIJob default/pi successfully completed."),),
    "counters": ("successful",),
}


def a_running_job(clean: str = "None", **run_policy: Any) -> MPIJob:
    """A job that is Running."""
    return an_accepted_job(IS_RUNNING, run_policy={"cleanPodPolicy": clean, **run_policy})


def a_failed_row(sentence: str, *pods: Any, condition: dict[str, Any], reason: str, message: str, **fields: Any) -> Any:
    """A row in which the launcher's Job failed."""
    extra = fields.pop("conditions", ())
    job = an_accepted_job(IS_RUNNING, *extra)
    found = a_launcher_job(conditions=[{**FAILED, **condition}], status={"failed": 1})
    return a_row(
        sentence,
        a_snapshot(job, pods=pods, launcher_job=found),
        status={
            "conditions": (CREATED, ended(ago(10)), *extra, now("Failed", "True", reason, message)),
            "completion_time": ago(10),
            "replica_statuses": counts(launcher={"failed": 1}, worker={}),
        },
        status_write="first",
        transitions=(warning(reason, message),),
        counters=("failed",),
    )


RESTARTED = a_condition("Restarting", "False", "MPIJobRestarting", "attempt 1 of the launcher failed: container mpi …")
LONG = "é" * 600


@pytest.mark.parametrize(
    ("given", "settings", "expected"),
    [
        a_row(
            "B232 B233 B214 B226 B243 A4.1 A4.4 success, once, at the Job's time; with None every pod stays and counts",
            a_snapshot(a_running_job(), pods=(*WORKERS, DONE), launcher_job=COMPLETED),
            status={
                "conditions": (CREATED, ended(ago(12)), SUCCEEDED_NOW),
                "completion_time": ago(12),
                "replica_statuses": counts(launcher={"succeeded": 1}, worker={"active": 2}),
            },
            **SUCCESS,
        ),
        a_row(
            "B232 without completionTime the Complete condition's transition time is taken",
            a_snapshot(a_running_job(), launcher_job=a_launcher_job(conditions=[COMPLETE])),
            status={
                "conditions": (CREATED, ended(ago(10)), SUCCEEDED_NOW),
                "completion_time": ago(10),
                "replica_statuses": counts(launcher={"succeeded": 1}, worker={}),
            },
            **SUCCESS,
        ),
        a_row(
            "B234 when Running was never set its False entry precedes the terminal condition",
            a_snapshot(an_accepted_job(), launcher_job=COMPLETED),
            status={
                "conditions": (CREATED, ended(ago(12), NEVER_RAN), SUCCEEDED_NOW),
                "completion_time": ago(12),
                "replica_statuses": counts(launcher={"succeeded": 1}, worker={}),
            },
            **SUCCESS,
        ),
        a_row(
            "B211 B212 B219 All: the result first, then workers and launcher pods go; the Job stays",
            a_snapshot(a_running_job("All"), pods=(*WORKERS, DONE), launcher_job=COMPLETED),
            steps=((delete(WORKERS[0]), delete(WORKERS[1]), delete(DONE)),),
            status={
                "conditions": (CREATED, ended(ago(12)), SUCCEEDED_NOW),
                "completion_time": ago(12),
                "replica_statuses": counts(launcher={"succeeded": 1}, worker={"active": 2}),
            },
            **SUCCESS,
        ),
        a_row(
            "A1.12 B056 finished wins over suspend: no Suspended condition, no write to the Job",
            a_snapshot(a_running_job(suspend=True), pods=(*WORKERS, DONE), launcher_job=COMPLETED),
            status={
                "conditions": (CREATED, ended(ago(12)), SUCCEEDED_NOW),
                "completion_time": ago(12),
                "replica_statuses": counts(launcher={"succeeded": 1}, worker={"active": 2}),
            },
            **SUCCESS,
        ),
        a_row(
            "A1.11 B047 and over an invalid spec",
            a_snapshot(
                an_accepted_job(IS_RUNNING, launcher={"replicas": 2}), pods=(*WORKERS, DONE), launcher_job=COMPLETED
            ),
            status={
                "conditions": (CREATED, ended(ago(12)), SUCCEEDED_NOW),
                "completion_time": ago(12),
                "replica_statuses": counts(launcher={"succeeded": 1}, worker={"active": 2}),
            },
            **SUCCESS,
        ),
        a_row(
            "A1.4 a launcher pod that Succeeded with its Job gone is a success, and no second Job is made",
            a_snapshot(a_running_job(), pods=(*WORKERS, DONE)),
            status={
                "conditions": (CREATED, ended(ago(5)), SUCCEEDED_NOW),
                "completion_time": ago(5),
                "replica_statuses": counts(launcher={"succeeded": 1}, worker={"active": 2}),
            },
            **SUCCESS,
        ),
        a_failed_row(
            "B236 B239 B257 failure with the Job's reason and message, at the Job condition's time",
            CRASHED,
            condition={"reason": "PodFailurePolicy", "message": "a rule matched"},
            reason="PodFailurePolicy",
            message="a rule matched",
        ),
        a_failed_row(
            "B236 without reason and message it has those of the operator",
            condition={},
            reason="MPIJobFailed",
            message="MPIJob default/pi has failed",
        ),
        a_failed_row(
            "B237 A4.3 out of attempts: container and exit code, and no trailing slash",
            CRASHED,
            condition={"reason": "BackoffLimitExceeded", "message": JOB_MESSAGE},
            reason="BackoffLimitExceeded",
            message=f"{JOB_MESSAGE}: container mpi exited with code 3",
        ),
        a_failed_row(
            "B237 out of attempts: the newest failed pod's reason and message, when it has them",
            CRASHED,
            a_launcher_pod("b", phase="Failed", reason="Evicted", message="low on disk", created_ago=50),
            condition={"reason": "BackoffLimitExceeded", "message": JOB_MESSAGE},
            reason="BackoffLimitExceeded/Evicted",
            message=f"{JOB_MESSAGE}: low on disk",
        ),
        a_failed_row(
            "out of attempts and the pod is gone: what was recorded when it restarted",
            condition={"reason": "BackoffLimitExceeded", "message": JOB_MESSAGE},
            reason="BackoffLimitExceeded",
            message=f"{JOB_MESSAGE}: {RESTARTED.message}",
            conditions=(RESTARTED,),
        ),
        a_failed_row(
            "B238 A4.15 at most 1024 bytes, cut between characters",
            condition={"reason": "PodFailurePolicy", "message": LONG},
            reason="PodFailurePolicy",
            message="é" * 510 + "...",
        ),
    ],
)
def test_finish(given: Snapshot, settings: Settings, expected: Plan) -> None:
    assert plan(given, settings, NOW) == expected


def a_finished_job(
    clean: str = "None", *, finished_ago: float | None = 100, worker: dict[str, int] | None = None, **fields: Any
) -> MPIJob:
    """A job whose success is recorded."""
    job = an_accepted_job(run_policy={"cleanPodPolicy": clean, **fields.pop("run_policy", {})}, **fields)
    at = ago(100)
    conditions = (CREATED, ended(at), a_condition("Succeeded", "True", "MPIJobSucceeded", "done", since_ago=100))
    status = MPIJobStatus(
        conditions=conditions,
        replica_statuses=counts(launcher={"succeeded": 1}, worker=worker or {}),
        start_time=ago(200),
        completion_time=None if finished_ago is None else ago(finished_ago),
    )
    return MPIJob(metadata=job.metadata, spec=job.spec, status=status)


TTL = {"ttlSecondsAfterFinished": 60}
YOUNG = {"ttlSecondsAfterFinished": 150}
WITH_TARGET: dict[str, Any] = {"metadata": {"annotations": {"kubeflow.org/ttl-target": "mpijob"}}}
FINISHED = a_finished_job("Running", worker={"active": 1, "failed": 1})
EXPIRED = a_finished_job(run_policy=TTL, worker={"active": 2})
TARGETED = a_finished_job(run_policy=TTL, worker={"active": 2}, **WITH_TARGET)


@pytest.mark.parametrize(
    ("given", "settings", "expected"),
    [
        a_row(
            "B213 A1.1 Running: workers that run or are pending go, those that ended stay",
            a_snapshot(
                a_finished_job("Running", worker={"active": 1}), pods=(WORKERS[0], PENDING), launcher_job=COMPLETED
            ),
            steps=((delete(WORKERS[0]), delete(PENDING)),),
        ),
        a_row(
            "B213 a worker that failed is kept",
            a_snapshot(FINISHED, pods=(WORKERS[0], BROKEN), launcher_job=COMPLETED),
            steps=((delete(WORKERS[0]),),),
        ),
        a_row(
            "B217 a foreign pod under a worker's name is ignored in the clean-up",
            a_snapshot(a_finished_job("All"), pods=(a_worker(0, owned=False),), launcher_job=COMPLETED),
        ),
        a_row(
            "B216 A3.3 a finished job that is clean needs no write",
            a_snapshot(a_finished_job("All"), launcher_job=COMPLETED),
        ),
        a_row(
            "B215 the counts of a finished job follow its pods",
            a_snapshot(a_finished_job("All", worker={"active": 2}), launcher_job=COMPLETED),
            status={"replica_statuses": counts(launcher={"succeeded": 1}, worker={})},
        ),
        a_row(
            "B122 a finished job whose children are gone creates nothing",
            Snapshot(job=a_finished_job()),
        ),
        a_row(
            "a finished job ignores suspend",
            a_snapshot(a_finished_job(run_policy={"suspend": True}), launcher_job=COMPLETED),
        ),
        a_row(
            "a TTL that has not passed is waited for",
            a_snapshot(a_finished_job(run_policy=YOUNG), launcher_job=COMPLETED),
            look_again_seconds=50.0,
        ),
        a_row(
            "without completionTime it runs from the terminal condition",
            a_snapshot(a_finished_job(run_policy=YOUNG, finished_ago=None), launcher_job=COMPLETED),
            look_again_seconds=50.0,
        ),
        a_row(
            "a TTL that has passed deletes the launcher's Job and every worker that is left",
            a_snapshot(EXPIRED, pods=(*WORKERS, DONE), launcher_job=COMPLETED),
            steps=((delete(COMPLETED), delete(WORKERS[0]), delete(WORKERS[1])),),
        ),
        a_row(
            "A4.17 or the MPIJob itself, if the job's annotation says so",
            a_snapshot(TARGETED, pods=(*WORKERS, DONE), launcher_job=COMPLETED),
            steps=((delete(TARGETED),),),
        ),
        a_row(
            "A4.17 or if the operator was told so",
            a_snapshot(EXPIRED, pods=(*WORKERS, DONE), launcher_job=COMPLETED),
            settings=Settings(ttl_target="mpijob"),
            steps=((delete(EXPIRED),),),
        ),
    ],
)
def test_after_the_finish(given: Snapshot, settings: Settings, expected: Plan) -> None:
    assert plan(given, settings, NOW) == expected


LATE = an_accepted_job(
    launcherCreationPolicy="WaitForWorkersReady",
    run_policy={"activeDeadlineSeconds": 60},
    replicas=counts(worker={}),
)
EARLY = an_accepted_job(
    launcherCreationPolicy="WaitForWorkersReady",
    run_policy={"activeDeadlineSeconds": 90},
    replicas=counts(worker={}),
)
SUSPENDED_LATE = an_accepted_job(
    IS_SUSPENDED,
    a_condition("Running", "False", "MPIJobSuspended", "MPIJob default/pi is suspended."),
    run_policy={"activeDeadlineSeconds": 10, "suspend": True},
)
BOTH_PENDING = (a_worker(0, phase="Pending"), PENDING)
TOO_LATE = "MPIJob default/pi was active longer than its activeDeadlineSeconds of 60 s"


@pytest.mark.parametrize(
    ("given", "settings", "expected"),
    [
        a_row(
            "A1.15 the operator keeps the deadline while there is no launcher Job",
            a_snapshot(LATE, pods=BOTH_PENDING),
            status_write="first",
            status={
                "conditions": (CREATED, ended(NOW, NEVER_RAN), now("Failed", "True", "DeadlineExceeded", TOO_LATE)),
                "completion_time": NOW,
            },
            transitions=(warning("DeadlineExceeded", TOO_LATE),),
            counters=("failed",),
        ),
        a_row(
            "A1.15 it looks again when the deadline comes",
            a_snapshot(EARLY),
            steps=((create_workers(EARLY, 0, 1),),),
            look_again_seconds=30.0,
        ),
        a_row(
            "the Job keeps the deadline once it is started",
            a_snapshot(
                (started := an_accepted_job(run_policy={"activeDeadlineSeconds": 10})),
                pods=BOTH_PENDING,
                launcher_job=a_launcher_job(started),
            ),
        ),
        a_row(
            "no deadline runs while the job is suspended",
            a_snapshot(SUSPENDED_LATE, launcher_job=a_launcher_job(SUSPENDED_LATE, suspended=True)),
        ),
    ],
)
def test_deadline(given: Snapshot, settings: Settings, expected: Plan) -> None:
    assert plan(given, settings, NOW) == expected
