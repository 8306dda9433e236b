"""What the server refuses for good: a condition and one warning, and no transition is lost or told twice (A1.10)."""

from __future__ import annotations

import msgspec

from mpi_operator.actions import Create, CreateWorkers
from mpi_operator.api.types import MPIJobStatus
from mpi_operator.plan.after_refusal import plan_after_refusal
from mpi_operator.plan.outcome import Plan, Refusal
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from test.builders.children import COMPLETE, a_launcher_job
from test.builders.jobs import a_stored_job
from test.builders.pods import NOW, a_launcher_pod, a_worker, ago
from test.builders.rows import create_launcher, delete, ensure_secret, normal, now, shown, warning
from test.builders.snapshots import (
    IS_NOT_RUNNING_SUSPENDED,
    IS_RUNNING,
    IS_SUSPENDED,
    a_condition,
    a_snapshot,
    an_accepted_job,
    counts,
)

QUOTA = "exceeded quota: pods=2"
NO_WORKER = f"cannot create Pod pi-worker-0: {QUOTA}"
NEW = Snapshot(job=a_stored_job())
FORBIDDEN = (
    "ttl-target mpijob: the operator may not delete MPIJob default/pi, so only its launcher Job and workers are"
    " deleted; grant delete on mpijobs, or set the target to launcher"
)


FIRST_REFUSAL = shown(
    Plan(
        status=MPIJobStatus(
            conditions=(
                now("Created", "True", "MPIJobCreated", "MPIJob default/pi is created."),
                now("Running", "False", "FailedCreate", NO_WORKER),
            ),
            replica_statuses=counts(worker={}),
            start_time=NOW,
        ),
        status_write="last",
        transitions=(
            normal("MPIJobCreated", "MPIJob default/pi is created."),
            warning("FailedCreate", NO_WORKER),
        ),
        counters=("created",),
    )
)

FINISHED = an_accepted_job(run_policy={"ttlSecondsAfterFinished": 1})
EXPIRED = msgspec.structs.replace(
    FINISHED,
    status=msgspec.structs.replace(
        FINISHED.status,
        conditions=(*FINISHED.status.conditions, a_condition("Succeeded", "True", "MPIJobSucceeded", "done")),
        completion_time=ago(20),
        replica_statuses=counts(launcher={"succeeded": 1}, worker={"active": 1}),
    ),
)
COMPLETED, WORKER = a_launcher_job(conditions=[COMPLETE]), a_worker(0)
LAUNCHER_RULE = shown(
    Plan(
        status=EXPIRED.status,
        steps=((delete(COMPLETED), delete(WORKER)),),
        events=(warning("TTLDeleteForbidden", FORBIDDEN, "TTLDeleteForbidden"),),
    )
)


def _first_worker(decided: Plan) -> Create:
    batches = [action for action in decided.actions if isinstance(action, CreateWorkers)]
    return batches[0].pods[0]


def _refuse(given: Snapshot, decided: Plan, *refusals: Refusal) -> Plan:
    return plan_after_refusal(given, decided, refusals, Settings(), NOW)


def _refused_worker(decided: Plan) -> Refusal:
    return Refusal(action=_first_worker(decided), message=QUOTA)


def test_B250_B133_A1_10_a_refused_worker_keeps_created_and_start_time() -> None:
    decided = plan(NEW, Settings(), NOW)
    assert _refuse(NEW, decided, _refused_worker(decided)) == FIRST_REFUSAL


def test_B251_B159_a_refused_launcher_is_said_with_its_kind_and_name() -> None:
    decided = plan(NEW, Settings(), NOW)
    following = _refuse(NEW, decided, Refusal(action=create_launcher(NEW.job), message="denied"))
    assert following.status.conditions[-1].message == "cannot create Job pi-launcher: denied"


def test_a_refused_secret_is_said_without_anything_of_its_keys() -> None:
    decided = plan(NEW, Settings(), NOW)
    following = _refuse(NEW, decided, Refusal(action=ensure_secret(NEW.job), message="denied"))
    assert following.status.conditions[-1].message == "cannot create Secret pi-ssh: denied"


def test_A1_10_the_same_refusal_again_is_neither_written_nor_told() -> None:
    told = a_condition("Running", "False", "FailedCreate", NO_WORKER)
    given = a_snapshot(an_accepted_job(told, replicas=counts(worker={})))
    decided = plan(given, Settings(), NOW)
    assert _refuse(given, decided, _refused_worker(decided)) == Plan(status=given.job.status)


def test_another_message_is_written_but_not_told_again() -> None:
    told = a_condition("Running", "False", "FailedCreate", "cannot create Pod pi-worker-0: pods=1")
    given = a_snapshot(an_accepted_job(told, replicas=counts(worker={})))
    decided = plan(given, Settings(), NOW)
    following = _refuse(given, decided, _refused_worker(decided))
    assert following.status_write == "last"
    assert following.transitions == ()


def test_once_nothing_is_lacking_the_refusal_is_no_longer_the_reason() -> None:
    told = a_condition("Running", "False", "FailedCreate", NO_WORKER)
    pods = (a_worker(0, phase="Pending"), a_worker(1, phase="Pending"))
    given = a_snapshot(an_accepted_job(told), pods=pods, launcher_job=a_launcher_job())
    assert plan(given, Settings(), NOW).status.conditions[-1].reason == "WorkersNotRunning"


def test_a_job_whose_pods_all_run_goes_on_running() -> None:
    job = an_accepted_job(IS_RUNNING, replicas=counts(launcher={"active": 1}, worker={"active": 2}))
    pods = (a_worker(0), a_worker(1), a_launcher_pod())
    given = a_snapshot(job, pods=pods, launcher_job=a_launcher_job(), running=(0, 1), service=None)
    decided = plan(given, Settings(), NOW)
    refused = decided.actions[0]
    assert _refuse(given, decided, Refusal(action=refused, message="denied")) == Plan(status=job.status)


def test_what_was_written_first_is_not_announced_again() -> None:
    given = a_snapshot(
        an_accepted_job(IS_SUSPENDED, IS_NOT_RUNNING_SUSPENDED),
        launcher_job=a_launcher_job(suspended=True),
    )
    decided = plan(given, Settings(), NOW)
    assert decided.status_write == "first"
    following = _refuse(given, decided, _refused_worker(decided))
    assert following.transitions == (warning("FailedCreate", NO_WORKER),)
    assert following.status_write == "last"


def test_a_refused_deletion_of_the_job_falls_back_to_the_launcher_rule() -> None:
    given = a_snapshot(EXPIRED, pods=(WORKER,), launcher_job=COMPLETED)
    decided = plan(given, Settings(ttl_target="mpijob"), NOW)
    assert decided.actions == (delete(EXPIRED),)
    assert _refuse(given, decided, Refusal(action=decided.actions[0], message="forbidden")) == LAUNCHER_RULE
