"""Suspending and resuming: who is told first, and what is left of a job meanwhile (lifecycle.md 4)."""

from __future__ import annotations

from typing import Any

import pytest

from mpi_operator.plan.outcome import Plan
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from test.builders.children import SUSPENDED, a_launcher_job
from test.builders.jobs import a_stored_job
from test.builders.pods import NOW, a_launcher_pod, a_worker, ago
from test.builders.rows import a_row, create_launcher, create_workers, delete, kept, normal, now, patch
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

SUSPEND = {"suspend": True}
WAIT = "WaitForWorkersReady"

SUSPENDED_NOW = now("Suspended", "True", "MPIJobSuspended", "MPIJob suspended")
NOT_RUNNING_NOW = now("Running", "False", "MPIJobSuspended", "MPIJob default/pi is suspended.")
CREATED_NOW = now("Created", "True", "MPIJobCreated", "MPIJob default/pi is created.")
RESUMED_NOW = now("Suspended", "False", "MPIJobResumed", "MPIJob resumed")
SUSPENDED_EVENT = normal("MPIJobSuspended", "MPIJob suspended")
RESUMED_EVENT = normal("MPIJobResumed", "MPIJob resumed")

BORN_SUSPENDED = a_stored_job(run_policy=SUSPEND)
BORN_WAITING = a_stored_job(run_policy=SUSPEND, launcherCreationPolicy=WAIT)
BORN: dict[str, Any] = {
    "status": {
        "conditions": (CREATED_NOW, SUSPENDED_NOW, NOT_RUNNING_NOW),
        "replica_statuses": counts(worker={}),
    },
    "transitions": (normal("MPIJobCreated", "MPIJob default/pi is created."), SUSPENDED_EVENT),
    "counters": ("created",),
}

LIVE = (a_worker(0), a_worker(1), a_launcher_pod())
TO_SUSPEND = an_accepted_job(IS_RUNNING, run_policy=SUSPEND)
SCALED_TOO = an_accepted_job(IS_RUNNING, run_policy={**SUSPEND, "cleanPodPolicy": "Running"}, workers=1)
RUNNING_LAUNCHER = a_launcher_job(status={"startTime": ago(50), "active": 1})
ENDED = a_worker(2, phase="Failed", exit_code=1)
GOING = (
    a_worker(0, terminating=True),
    a_worker(1, phase="Pending", terminating=True),
    a_launcher_pod(terminating=True),
)
SUSPENDED_JOB = an_accepted_job(IS_SUSPENDED, IS_NOT_RUNNING_SUSPENDED, run_policy=SUSPEND)
BACK: dict[str, Any] = {"status_write": "first", "transitions": (RESUMED_EVENT,)}
IS_RESUMED = {"conditions": (CREATED, IS_NOT_RUNNING_SUSPENDED, RESUMED_NOW), "start_time": NOW}


def a_resumed_job(**fields: Any) -> Any:
    """A job that is to run again, whose status does not say so yet."""
    return an_accepted_job(IS_SUSPENDED, IS_NOT_RUNNING_SUSPENDED, **fields)


def an_idle_launcher(*, started: bool = False, job: Any = None, **fields: Any) -> Any:
    """A suspended launcher Job whose pods are gone."""
    status = {"startTime": ago(50)} if started else {}
    return a_launcher_job(job, suspended=True, conditions=[SUSPENDED], status=status, **fields)


RESUMED_JOB = a_resumed_job()
TOLD = an_accepted_job(IS_NOT_RUNNING_SUSPENDED, a_condition("Suspended", "False", "MPIJobResumed", "MPIJob resumed"))
MOVED = an_accepted_job(
    IS_NOT_RUNNING_SUSPENDED,
    launcher={
        "template": {
            "metadata": {"labels": {"new": "1"}, "annotations": {"b": "2"}},
            "spec": {
                "containers": [{"name": "mpi", "image": "mpi-pi"}],
                "nodeSelector": {"zone": "B"},
                "tolerations": [{"key": "k"}],
                "schedulingGates": [{"name": "g"}],
                "affinity": {"nodeAffinity": {"required": "B"}},
            },
        }
    },
)
STALE = a_launcher_job(
    a_stored_job(
        launcher={
            "template": {
                "metadata": {"labels": {"old": "1"}, "annotations": {"a": "1"}},
                "spec": {"containers": [{"name": "mpi", "image": "mpi-pi"}], "nodeSelector": {"zone": "A", "x": "y"}},
            }
        }
    ),
    suspended=True,
    conditions=[SUSPENDED],
)
NEW_IMAGE = an_accepted_job(
    IS_NOT_RUNNING_SUSPENDED, launcher={"template": {"spec": {"containers": [{"name": "mpi", "image": "new"}]}}}
)
HELD = an_accepted_job(IS_NOT_RUNNING_SUSPENDED, launcherCreationPolicy=WAIT)


@pytest.mark.parametrize(
    ("given", "settings", "expected"),
    [
        a_row(
            "B195 B196 B116 B121 B143 created suspended: all but workers, a suspended launcher Job, no startTime",
            Snapshot(job=BORN_SUSPENDED),
            steps=(kept(BORN_SUSPENDED), (create_launcher(BORN_SUSPENDED, suspended=True),)),
            **BORN,
        ),
        a_row(
            "B158 A1.13 created suspended under WaitForWorkersReady: no launcher Job: zero of zero is not Ready",
            Snapshot(job=BORN_WAITING),
            steps=(kept(BORN_WAITING),),
            **BORN,
        ),
        a_row(
            "B197 B199 A4.6 B253 K2 suspending: launcher Job, then workers, then the status, which keeps startTime",
            a_snapshot(TO_SUSPEND, pods=LIVE, launcher_job=RUNNING_LAUNCHER, running=(0, 1)),
            steps=(
                (patch(RUNNING_LAUNCHER, {"spec": {"suspend": True}}),),
                (delete(LIVE[0]), delete(LIVE[1])),
            ),
            status={
                "conditions": (
                    CREATED,
                    now("Running", "False", "MPIJobSuspended", "MPIJob default/pi is suspended."),
                    SUSPENDED_NOW,
                ),
                "replica_statuses": counts(launcher={"active": 1}, worker={"active": 2}),
            },
            transitions=(SUSPENDED_EVENT,),
        ),
        a_row(
            "B208 B209 A1.8 A1.9 every owned worker goes, whatever its phase, its ordinal and cleanPodPolicy",
            a_snapshot(SCALED_TOO, pods=(LIVE[0], LIVE[1], ENDED), launcher_job=an_idle_launcher(), running=(0,)),
            steps=((delete(LIVE[0]), delete(LIVE[1]), delete(ENDED)),),
            status={
                "conditions": (
                    CREATED,
                    now("Running", "False", "MPIJobSuspended", "MPIJob default/pi is suspended."),
                    SUSPENDED_NOW,
                ),
                "replica_statuses": counts(launcher={}, worker={"active": 2}),
            },
            transitions=(SUSPENDED_EVENT,),
        ),
        a_row(
            "B198 K3 while suspended, pending and terminating pods are still active",
            a_snapshot(SUSPENDED_JOB, pods=GOING, launcher_job=an_idle_launcher()),
            status={"replica_statuses": counts(launcher={"active": 1}, worker={"active": 2})},
        ),
        a_row(
            "A3.3 a suspended job at rest is left alone",
            a_snapshot(SUSPENDED_JOB, launcher_job=an_idle_launcher()),
        ),
        a_row(
            "B200 B201 B202 B254 resuming: the status first and nothing else in it, the launcher Job, then the workers",
            a_snapshot(RESUMED_JOB, launcher_job=(idle := an_idle_launcher())),
            steps=((patch(idle, {"spec": {"suspend": False}}, exactly=True),), (create_workers(RESUMED_JOB, 0, 1),)),
            status=IS_RESUMED,
            **BACK,
        ),
        a_row(
            "B204 A1.16 a launcher Job that had started loses its startTime first, in a write of its own",
            a_snapshot(TOLD, launcher_job=(started := an_idle_launcher(started=True))),
            steps=((patch(started, {"status": {"startTime": None}}, exactly=True, status=True),),),
        ),
        a_row(
            "the launcher Job is not resumed before it reports that it is suspended",
            a_snapshot(TOLD, launcher_job=a_launcher_job(suspended=True, status={"startTime": ago(50), "active": 0})),
        ),
        a_row(
            "nor while one of its pods is active",
            a_snapshot(TOLD, launcher_job=a_launcher_job(suspended=True, conditions=[SUSPENDED], status={"active": 1})),
        ),
        a_row(
            "B203 A1.17 K5 directives become exactly the template's, and the Job controller's labels stay",
            a_snapshot(MOVED, launcher_job=STALE),
            steps=(
                (
                    patch(
                        STALE,
                        {
                            "spec": {
                                "suspend": False,
                                "template": {
                                    "metadata": {
                                        "labels": {"old": None, "new": "1"},
                                        "annotations": {"a": None, "b": "2"},
                                    },
                                    "spec": {
                                        "nodeSelector": {"zone": "B", "x": None},
                                        "affinity": {"nodeAffinity": {"required": "B"}},
                                        "tolerations": [{"key": "k"}],
                                        "schedulingGates": [{"name": "g"}],
                                    },
                                },
                            }
                        },
                        exactly=True,
                    ),
                ),
                (create_workers(MOVED, 0, 1),),
            ),
        ),
        a_row(
            "B205 a launcher Job of another template is deleted, to be created anew",
            a_snapshot(NEW_IMAGE, launcher_job=(outdated := an_idle_launcher())),
            steps=((delete(outdated),),),
        ),
        a_row(
            "A1.13 under WaitForWorkersReady new workers come first, and the Job stays suspended",
            a_snapshot(HELD, launcher_job=an_idle_launcher(started=True)),
            steps=((create_workers(HELD, 0, 1),),),
        ),
        a_row(
            "A1.13 and it is resumed once they are Ready",
            a_snapshot(HELD, pods=LIVE[:2], launcher_job=(idle_held := an_idle_launcher()), running=(0, 1)),
            steps=((patch(idle_held, {"spec": {"suspend": False}}, exactly=True),),),
            status={"replica_statuses": counts(launcher={}, worker={"active": 2})},
        ),
        a_row(
            "a worker that is still terminating at a resume is waited for, the others are created",
            a_snapshot(TOLD, pods=(GOING[0],), launcher_job=(idle_too := an_idle_launcher())),
            steps=((patch(idle_too, {"spec": {"suspend": False}}, exactly=True),), (create_workers(TOLD, 1),)),
            status={"replica_statuses": counts(launcher={}, worker={"active": 1})},
        ),
        a_row(
            "B207 a job that was never suspended has no Suspended condition",
            a_snapshot(
                pods=(a_worker(0, phase="Pending"), a_worker(1, phase="Pending")), launcher_job=a_launcher_job()
            ),
        ),
    ],
)
def test_suspension(given: Snapshot, settings: Settings, expected: Plan) -> None:
    assert plan(given, settings, NOW) == expected
