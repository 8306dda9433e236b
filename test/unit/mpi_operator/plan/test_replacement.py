"""Workers that ended: which are replaced, when, and what is said of it (lifecycle.md 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mpi_operator.api.observed import Pod
from mpi_operator.plan.outcome import Plan
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from test.builders.children import a_config_map, a_launcher_job
from test.builders.pods import NOW, a_launcher_pod, a_worker, ago
from test.builders.rows import a_row, create_launcher, delete, now, patch, warning
from test.builders.snapshots import CREATED, IS_RUNNING, a_snapshot, an_accepted_job, counts

RUNNING_JOB = an_accepted_job(IS_RUNNING, replicas=counts(launcher={"active": 1}, worker={"active": 1}))
HEALTHY = a_worker(1)
LAUNCHER = a_launcher_pod()
LAUNCHER_JOB = a_launcher_job(status={"active": 1})
WAITING_JOB = an_accepted_job(
    launcherCreationPolicy="WaitForWorkersReady", replicas=counts(worker={"active": 1, "failed": 1})
)
LIMITED_JOB = an_accepted_job(
    launcherCreationPolicy="WaitForWorkersReady",
    run_policy={"backoffLimit": 2},
    replicas=counts(worker={"active": 1, "failed": 1}),
)
CRASH = "worker pod pi-worker-0 failed (container mpi exited with code 7) and is replaced"
LOST = now("Running", "False", "WorkersNotRunning", "1 of 2 workers of MPIJob default/pi are running")
RETRIED = a_launcher_job(status={"failed": 1})
RESTARTS = "kubeflow.org/worker-restarts"
RUNNING_JOB_MESSAGE = "attempt 1 of the launcher of MPIJob default/pi failed: container mpi exited with code 3"


def _failed(**state: Any) -> Pod:
    return a_worker(0, phase="Failed", **state)


def _disrupted(sentence: str, pod: Pod, reason: str, message: str) -> Any:
    return a_row(
        sentence,
        a_snapshot(RUNNING_JOB, pods=(pod, HEALTHY, LAUNCHER), launcher_job=LAUNCHER_JOB, running=(1,)),
        steps=((delete(pod),),),
        status={
            "conditions": (CREATED, LOST),
            "replica_statuses": counts(launcher={"active": 1}, worker={"active": 1, "failed": 1}),
        },
        events=(warning(reason, message, f"{reason}/worker-0-uid"),),
    )


def _evicted(why: str) -> str:
    return f"worker pod pi-worker-0 was evicted and is replaced: {why}"


def _refused(reason: str) -> str:
    return f"worker pod pi-worker-0 failed ({reason}) and is replaced"


def _counted(text: str, pod: Pod, job: Any = WAITING_JOB) -> Snapshot:
    return a_snapshot(
        job, pods=(pod, HEALTHY), config_map=a_config_map(job, running=(1,), annotations={RESTARTS: text})
    )


def _between(sentence: str, worker: Pod, launcher: Pod, job: Any, **expected: Any) -> Any:
    attempt: Mapping[str, Any] = {
        "conditions": (
            CREATED,
            now("Running", "False", "MPIJobRestarting", RUNNING_JOB_MESSAGE),
            now("Restarting", "True", "MPIJobRestarting", RUNNING_JOB_MESSAGE),
        ),
        "replica_statuses": expected.pop("replicas"),
    }
    return a_row(
        sentence,
        a_snapshot(RUNNING_JOB, pods=(worker, HEALTHY, launcher), launcher_job=job, running=(1,)),
        steps=((delete(worker),),),
        status=dict(attempt),
        transitions=(warning("MPIJobRestarting", RUNNING_JOB_MESSAGE),),
        **expected,
    )


CRASHED = _failed(exit_code=7, finished_ago=60)
JUST_CRASHED = _failed(exit_code=7, finished_ago=4)
ENDED_WELL = a_worker(0, phase="Succeeded", exit_code=0, finished_ago=60)
GONE_LAUNCHER = a_launcher_pod(phase="Failed", exit_code=3, finished_ago=30)
FAILED_ALONE = an_accepted_job(IS_RUNNING, replicas=counts(launcher={"active": 1}, worker={"active": 1, "failed": 1}))

NEXT = a_launcher_pod("b")
FAILED_TWICE = an_accepted_job(replicas=counts(launcher={"active": 1, "failed": 1}, worker={"active": 1, "failed": 1}))
BETWEEN_PODS = an_accepted_job(replicas=counts(launcher={"failed": 1}, worker={"active": 1, "failed": 1}))
STARTED_WAITING = an_accepted_job(
    launcherCreationPolicy="WaitForWorkersReady",
    replicas=counts(launcher={"active": 1}, worker={"active": 1, "failed": 1}),
)

WORKERS_FAILED = "worker pod pi-worker-0 failed after 2 replacements: container mpi exited with code 7: out of luck"
UNLUCKY = _failed(container={"state": {"terminated": {"exitCode": 7, "message": "out of luck", "finishedAt": ago(60)}}})


@pytest.mark.parametrize(
    ("given", "settings", "expected"),
    [
        _disrupted(
            "B220 B240 B258 A1.6 K4 an evicted worker is replaced at once, and the job does not fail",
            _failed(reason="Evicted", message="low on memory"),
            "MPIJobEvicted",
            _evicted("low on memory"),
        ),
        _disrupted(
            "a preempted worker is replaced at once",
            _failed(reason="Preempted"),
            "MPIJobEvicted",
            _evicted("Preempted"),
        ),
        _disrupted(
            "a worker with DisruptionTarget is replaced at once",
            _failed(conditions={"DisruptionTarget": {"message": "taint manager"}}, exit_code=137),
            "MPIJobEvicted",
            _evicted("taint manager"),
        ),
        _disrupted(
            "K10 a worker that Kueue ended for a node swap is replaced at once",
            _failed(conditions={"TerminatedByKueue": {"reason": "UnschedulableOnAssignedNode"}}),
            "MPIJobEvicted",
            _evicted("UnschedulableOnAssignedNode"),
        ),
        *(
            _disrupted(
                f"a worker that failed with {reason} is replaced at once",
                _failed(reason=reason),
                "WorkerReplaced",
                _refused(reason),
            )
            for reason in (
                "NodeLost",
                "NodeShutdown",
                "Shutdown",
                "Terminated",
                "UnexpectedAdmissionError",
                "OutOfcpu",
                "NodeAffinity",
            )
        ),
        a_row(
            "a warning that this process has given is not given again",
            a_snapshot(
                FAILED_ALONE,
                pods=((again := _failed(reason="NodeLost")), HEALTHY, LAUNCHER),
                launcher_job=LAUNCHER_JOB,
                running=(1,),
                announced=frozenset({"WorkerReplaced/worker-0-uid"}),
            ),
            steps=((delete(again),),),
            status={"conditions": (CREATED, LOST)},
        ),
        a_row(
            "A1.15 A1.7 a worker that failed by itself while the launcher is held back: counted first, then deleted",
            _counted("", CRASHED),
            steps=(
                (
                    patch(
                        a_config_map(WAITING_JOB),
                        {"metadata": {"annotations": {RESTARTS: '{"0":{"count":1,"pod":"worker-0-uid"}}'}}},
                    ),
                ),
                (delete(CRASHED),),
            ),
            events=(warning("WorkerReplaced", CRASH, "WorkerReplaced/worker-0-uid"),),
        ),
        a_row(
            "it is replaced 10 s after its end, not before",
            _counted("", JUST_CRASHED),
            look_again_seconds=6.0,
        ),
        a_row(
            "the delay doubles with each replacement",
            _counted('{"0":{"count":3,"pod":"an earlier one"}}', CRASHED),
            look_again_seconds=20.0,
        ),
        a_row(
            "and is 5 minutes at most",
            _counted('{"0":{"count":5,"pod":"an earlier one"}}', CRASHED),
            look_again_seconds=240.0,
        ),
        a_row(
            "a pod that was counted before an interruption is deleted without being counted again",
            _counted('{"0":{"count":1,"pod":"worker-0-uid"}}', JUST_CRASHED),
            steps=((delete(JUST_CRASHED),),),
            events=(warning("WorkerReplaced", CRASH, "WorkerReplaced/worker-0-uid"),),
        ),
        a_row(
            "after backoffLimit replacements of one ordinal the job has failed",
            _counted('{"0":{"count":2,"pod":"an earlier one"}}', UNLUCKY, LIMITED_JOB),
            status_write="first",
            status={
                "conditions": (
                    CREATED,
                    now(
                        "Running",
                        "False",
                        "MPIJobRunning",
                        "MPIJob default/pi is finished but Running condition was never set.",
                    ),
                    now("Failed", "True", "WorkersFailed", WORKERS_FAILED),
                ),
                "completion_time": NOW,
            },
            transitions=(warning("WorkersFailed", WORKERS_FAILED),),
            counters=("failed",),
        ),
        a_row(
            "a worker that failed by itself while the launcher runs is left for its logs",
            a_snapshot(FAILED_ALONE, pods=(CRASHED, HEALTHY, LAUNCHER), launcher_job=LAUNCHER_JOB, running=(1,)),
            status={"conditions": (CREATED, LOST)},
        ),
        _between(
            "B072 A1.7 it is replaced when an attempt of the launcher has ended after it and another follows",
            CRASHED,
            GONE_LAUNCHER,
            RETRIED,
            replicas=counts(launcher={"failed": 1}, worker={"active": 1, "failed": 1}),
            events=(warning("WorkerReplaced", CRASH, "WorkerReplaced/worker-0-uid"),),
        ),
        _between(
            "a worker that Succeeded is replaced between two attempts, too, without a warning",
            ENDED_WELL,
            GONE_LAUNCHER,
            RETRIED,
            replicas=counts(launcher={"failed": 1}, worker={"active": 1, "succeeded": 1}),
        ),
        a_row(
            "it is replaced also if the next attempt runs already",
            a_snapshot(FAILED_TWICE, pods=(CRASHED, HEALTHY, GONE_LAUNCHER, NEXT), launcher_job=RETRIED, running=(1,)),
            steps=((delete(CRASHED),),),
            events=(warning("WorkerReplaced", CRASH, "WorkerReplaced/worker-0-uid"),),
        ),
        a_row(
            "and also if the failed launcher pod is gone and the next one is not there yet",
            a_snapshot(BETWEEN_PODS, pods=(CRASHED, HEALTHY), launcher_job=RETRIED, running=(1,)),
            steps=((delete(CRASHED),),),
            events=(warning("WorkerReplaced", CRASH, "WorkerReplaced/worker-0-uid"),),
        ),
        a_row(
            "but not if it failed after that attempt ended: its logs belong to the one that runs",
            a_snapshot(
                FAILED_TWICE, pods=(JUST_CRASHED, HEALTHY, GONE_LAUNCHER, NEXT), launcher_job=RETRIED, running=(1,)
            ),
        ),
        a_row(
            "under WaitForWorkersReady a launcher that has started is no longer held back by a worker that fails",
            a_snapshot(STARTED_WAITING, pods=(CRASHED, HEALTHY, LAUNCHER), launcher_job=LAUNCHER_JOB, running=(1,)),
        ),
        a_row(
            "a worker that Succeeded while the launcher runs is left alone",
            a_snapshot(
                an_accepted_job(replicas=counts(launcher={"active": 1}, worker={"active": 1, "succeeded": 1})),
                pods=(ENDED_WELL, HEALTHY, LAUNCHER),
                launcher_job=LAUNCHER_JOB,
                running=(1,),
            ),
        ),
        a_row(
            "nothing is replaced after the launcher's last attempt",
            a_snapshot(
                an_accepted_job(replicas=counts(launcher={"failed": 7}, worker={"active": 1, "failed": 1})),
                pods=(CRASHED, HEALTHY, GONE_LAUNCHER),
                launcher_job=a_launcher_job(status={"failed": 7}),
                running=(1,),
            ),
        ),
        a_row(
            "a worker that failed is replaced while the launcher's Job is made anew",
            a_snapshot(FAILED_ALONE, pods=(CRASHED, HEALTHY), running=(1,)),
            steps=((delete(CRASHED), create_launcher(FAILED_ALONE)),),
            status={
                "conditions": (CREATED, LOST),
                "replica_statuses": counts(launcher={}, worker={"active": 1, "failed": 1}),
            },
            events=(warning("WorkerReplaced", CRASH, "WorkerReplaced/worker-0-uid"),),
        ),
        a_row(
            "pods above replicas or terminating never count as failures",
            a_snapshot(
                an_accepted_job(workers=1, replicas=counts(launcher={}, worker={"active": 1})),
                pods=(a_worker(0), (above := a_worker(1, phase="Failed", exit_code=1)), a_worker(2, terminating=True)),
                launcher_job=a_launcher_job(),
                running=(0,),
            ),
            steps=((delete(above),),),
            status={"replica_statuses": counts(launcher={}, worker={"active": 2})},
        ),
    ],
)
def test_replacement(given: Snapshot, settings: Settings, expected: Plan) -> None:
    assert plan(given, settings, NOW) == expected


def test_a_spoilt_count_counts_from_nothing() -> None:
    assert (
        plan(_counted("spoilt", CRASHED), Settings(), NOW).actions
        == plan(_counted("", CRASHED), Settings(), NOW).actions
    )
