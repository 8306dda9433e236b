"""Gang scheduling, row by row: when what describes a gang is made, patched and deleted (B161-B194, A2)."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_operator.actions import Action, Create, CreateWorkers, Patch
from mpi_operator.api.observed import Group
from mpi_operator.api.types import MPIJob
from mpi_operator.plan.live_reads import LiveRead, live_reads
from mpi_operator.plan.outcome import Plan
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from test.builders.children import COMPLETE, SUSPENDED, a_launcher_job
from test.builders.gangs import (
    COSCHEDULING,
    a_gang_snapshot,
    a_group,
    create_group,
    delete_group,
    in_gang,
    patch_group,
)
from test.builders.jobs import a_template
from test.builders.pods import NOW, a_launcher_pod, a_worker, ago
from test.builders.rows import a_row, create_launcher, create_workers, kept, now, warning
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
from test.builders.strategies import stored_jobs, valid_jobs

VOLCANO = Settings(gang_scheduling="volcano")
PLUGIN = Settings(gang_scheduling=COSCHEDULING)
NATIVE = Settings(gang_scheduling="kubernetes")
ALL_RUN = counts(launcher={"active": 1}, worker={"active": 2})
SUSPEND = {"suspend": True}
WAIT = "WaitForWorkersReady"
SUCCEEDED = a_condition("Succeeded", "True", "MPIJobSucceeded", "MPIJob default/pi successfully completed.")
STUCK = {"PodScheduled": {"status": "False", "reason": "Unschedulable", "lastTransitionTime": ago(40), "message": "no"}}


def a_running_job(**fields: Any) -> MPIJob:
    """A job that runs, and says so."""
    return an_accepted_job(IS_RUNNING, **{"replicas": ALL_RUN, **fields})


def running(job: MPIJob, gang_scheduling: str = "volcano", version: str = "", **fields: Any) -> Snapshot:
    """The job with everything running, and what describes its gang."""
    member = in_gang(job, gang_scheduling, version)
    pods = (a_worker(0, member), a_worker(1, member), a_launcher_pod(job=member))
    given = {"launcher_job": a_launcher_job(member), "pods": pods, "running": [0, 1], **fields}
    return a_gang_snapshot(job, gang_scheduling, version, **given)


NEW = an_accepted_job()
RUNS = a_running_job()
RESIZED = a_running_job(run_policy={"schedulingPolicy": {"minAvailable": 2}})
NAMED = a_running_job(worker={"template": a_template(schedulerName="mine")})
OWN_GROUP = an_accepted_job(worker={"template": a_template(schedulingGroup={"podGroupName": "theirs"})})
STALE = a_group(RUNS, "kubernetes", "v1alpha1", kind="Workload", spec={"podGroups": []})
GATED = {"status": "False", "reason": "SchedulingGated", "lastTransitionTime": ago(90)}
PENDING = (a_worker(0, in_gang(NEW), phase="Pending"), a_worker(1, in_gang(NEW), phase="Pending"))
UNSCHEDULABLE = {"type": "Unschedulable", "status": "True", "message": "0/1 nodes: not enough cpu for the gang"}


@pytest.mark.parametrize(
    ("given", "settings", "expected"),
    [
        a_row(
            "B174 the PodGroup is made beside the Service, before any pod",
            a_snapshot(
                NEW, service=None, config_map=None, secret=None, gang_version="v1beta1", group_kinds=("PodGroup",)
            ),
            settings=VOLCANO,
            steps=(
                (*kept(in_gang(NEW)), create_group(NEW)),
                (create_workers(in_gang(NEW), 0, 1), create_launcher(in_gang(NEW))),
            ),
        ),
        a_row(
            "B189 B190 any other name is that of a scheduler with scheduler-plugins",
            a_gang_snapshot(NEW, COSCHEDULING, pod_group=None),
            settings=PLUGIN,
            steps=(
                (create_group(NEW, COSCHEDULING),),
                (create_workers(in_gang(NEW, COSCHEDULING), 0, 1), create_launcher(in_gang(NEW, COSCHEDULING))),
            ),
        ),
        a_row(
            "G1 with Kubernetes' own gangs the Workload comes before the PodGroup that refers to it",
            a_gang_snapshot(NEW, "kubernetes", pod_group=None, workload=None),
            settings=NATIVE,
            steps=(
                (create_group(NEW, "kubernetes", kind="Workload"),),
                (create_group(NEW, "kubernetes"),),
                (create_workers(in_gang(NEW, "kubernetes"), 0, 1), create_launcher(in_gang(NEW, "kubernetes"))),
            ),
        ),
        a_row(
            "A2_6 B188 nothing is written while nothing changes, whatever others have put into the PodGroup",
            running(RUNS, pod_group=a_group(RUNS, spec={"queue": "default", "minTaskMember": {"worker": 2}})),
            settings=VOLCANO,
        ),
        a_row(
            "B175 G3 what changed is patched, and nothing else",
            running(RESIZED, pod_group=a_group(RUNS, spec={"queue": "default"})),
            settings=VOLCANO,
            steps=((patch_group(a_group(RUNS), {"spec": {"minMember": 2}}),),),
        ),
        a_row(
            "B084 a PodGroup without our labels is adopted",
            running(RUNS, pod_group=a_group(RUNS, labels={"app": "pi"})),
            settings=VOLCANO,
            steps=(
                (
                    patch_group(
                        a_group(RUNS),
                        {
                            "metadata": {
                                "labels": {
                                    "training.kubeflow.org/operator-name": "mpi-operator",
                                    "training.kubeflow.org/job-name": "pi",
                                }
                            }
                        },
                    ),
                ),
            ),
        ),
        a_row(
            "G1 in 1.35 a Workload that may not change is deleted, to be made anew",
            running(RUNS, "kubernetes", "v1alpha1", workload=STALE),
            settings=NATIVE,
            steps=((delete_group(STALE, "Workload"),),),
        ),
        a_row(
            "G1 in 1.36 a PodGroup that may not change stays, and the user is told",
            running(RESIZED, "kubernetes", "v1alpha2", pod_group=a_group(RUNS, "kubernetes", "v1alpha2")),
            settings=NATIVE,
            events=(
                warning(
                    "GangNotResized",
                    "PodGroup pi cannot change while its pods exist, and should have a minCount of 2; suspend and"
                    " resume the MPIJob to have it made anew",
                    once="GangNotResized/2",
                ),
            ),
        ),
        a_row(
            "G1 in 1.37 the PodGroup is patched",
            running(RESIZED, "kubernetes", pod_group=a_group(RUNS, "kubernetes")),
            settings=NATIVE,
            steps=(
                (patch_group(a_group(RUNS, "kubernetes"), {"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}),),
            ),
        ),
        a_row(
            "G1 without a version of Kubernetes' own gangs pods are scheduled one by one, and users told",
            a_snapshot(NEW),
            settings=NATIVE,
            steps=((create_workers(NEW, 0, 1), create_launcher(NEW)),),
            events=(
                warning(
                    "GangSchedulingUnavailable",
                    "the API server serves no gang scheduling API of scheduling.k8s.io, so the pods of MPIJob"
                    " default/pi are scheduled one by one; turn on GenericWorkload and its API version, or run the"
                    " operator with another --gang-scheduling",
                    once="GangSchedulingUnavailable",
                ),
            ),
        ),
        a_row(
            "G1 a pod that was stored without the field of its group is told of",
            running(
                RUNS,
                "kubernetes",
                "v1alpha1",
                pods=(a_worker(0, in_gang(RUNS, "kubernetes", "v1alpha1")), a_worker(1), a_launcher_pod()),
            ),
            settings=NATIVE,
            events=(
                warning(
                    "GangSchedulingDropped",
                    "pod pi-worker-1 was stored without spec.workloadRef, so it is scheduled by itself; turn on the"
                    " feature gate GenericWorkload of the API server and the scheduler",
                    once="GangSchedulingDropped",
                ),
            ),
        ),
        a_row(
            "G3 a group that the user put the pods into is left alone, and no other is made",
            a_snapshot(OWN_GROUP, gang_version="v1beta1", group_kinds=("Workload", "PodGroup")),
            settings=NATIVE,
            steps=((create_workers(OWN_GROUP, 0, 1), create_launcher(OWN_GROUP)),),
        ),
        a_row(
            "B186 the user is told of a schedulerName that is replaced",
            running(NAMED),
            settings=VOLCANO,
            events=(
                warning(
                    "SchedulerNameReplaced",
                    "schedulerName mine of a pod template is replaced, because the operator runs with"
                    " --gang-scheduling=volcano",
                    once="SchedulerNameReplaced/mine",
                ),
            ),
        ),
        a_row(
            "B194 the status says what Volcano says of the gang",
            a_gang_snapshot(
                NEW,
                pod_group=a_group(NEW, conditions=[UNSCHEDULABLE]),
                launcher_job=a_launcher_job(in_gang(NEW)),
                pods=PENDING,
            ),
            settings=VOLCANO,
            status={
                "conditions": (CREATED, now("Running", "False", "Unschedulable", UNSCHEDULABLE["message"])),
            },
        ),
    ],
)
def test_a_gang_is_planned(given: Snapshot, settings: Settings, expected: Plan) -> None:
    assert plan(given, settings, NOW) == expected


@pytest.mark.parametrize(
    ("found", "policy", "changes"),
    [
        pytest.param({"minResources": {"cpu": "1000m"}}, {"minResources": {"cpu": 1}}, None, id="B175 the same amount"),
        pytest.param(
            {"minResources": {"cpu": "1", "memory": "1Gi"}},
            {"minResources": {"cpu": "2"}},
            {"minResources": {"cpu": "2", "memory": None}},
            id="B162 B175 another amount, and one less",
        ),
        pytest.param(
            {"minResources": {"cpu": "100000"}}, {}, {"minResources": None}, id="B194 resources that are cleared go"
        ),
        pytest.param({"queue": "gold"}, {}, None, id="B188 a queue that nobody names may be somebody else's"),
        pytest.param(
            {"queue": "gold"}, {"queue": "silver"}, {"queue": "silver"}, id="B182 a queue that is named is not"
        ),
        pytest.param(
            {"priorityClassName": "low"},
            {"priorityClass": "high"},
            {"priorityClassName": "high"},
            id="B183 nor is a priority",
        ),
        pytest.param({"minMember": None}, {}, {"minMember": 3}, id="A2_6 what somebody took away comes back"),
    ],
)
def test_what_is_patched(found: dict[str, Any], policy: dict[str, Any], changes: dict[str, Any] | None) -> None:
    job = a_running_job(run_policy={"schedulingPolicy": policy})
    group = a_group(RUNS, spec=found)
    expected = () if changes is None else (patch_group(group, {"spec": changes}),)
    assert plan(running(job, pod_group=group), VOLCANO, NOW).actions == expected


def test_an_annotation_that_the_job_gets_later_reaches_its_PodGroup() -> None:
    annotation = {"volcano.sh/preemptable": "true"}
    job = a_running_job(metadata={"annotations": annotation})
    group = a_group(RUNS, annotations={"volcano.sh/others": "own"})
    decided = plan(running(job, pod_group=group), VOLCANO, NOW)
    assert decided.actions == (patch_group(group, {"metadata": {"annotations": annotation}}),)


@pytest.mark.parametrize("policy", ["None", "Running", "All"])
@pytest.mark.parametrize("scheduler", ["volcano", COSCHEDULING, "kubernetes"])
def test_A2_7_B178_what_describes_the_gang_goes_at_every_finish(policy: str, scheduler: str) -> None:
    job = a_running_job(run_policy={"cleanPodPolicy": policy})
    given = running(job, scheduler, launcher_job=a_launcher_job(in_gang(job, scheduler), conditions=[COMPLETE]))
    decided = plan(given, Settings(gang_scheduling=scheduler), NOW)
    assert decided.status_write == "first"
    assert set(deletions(given)) <= set(decided.actions)


def test_A2_7_a_PodGroup_that_outlived_the_finish_goes_later() -> None:
    given = a_gang_snapshot(an_accepted_job(SUCCEEDED, replicas=counts(launcher={}, worker={})))
    assert plan(given, VOLCANO, NOW).actions == deletions(given)


def test_A2_7_a_job_that_fails_for_its_deadline_leaves_no_PodGroup() -> None:
    job = an_accepted_job(run_policy={"activeDeadlineSeconds": 10}, launcherCreationPolicy=WAIT)
    given = a_gang_snapshot(job, pods=PENDING)
    assert set(deletions(given)) <= set(plan(given, VOLCANO, NOW).actions)


def test_B206_the_PodGroup_goes_on_suspend_after_launcher_and_workers() -> None:
    job = a_running_job(run_policy=SUSPEND)
    given = running(job)
    launcher, workers, gang = plan(given, VOLCANO, NOW).steps
    assert kinds(launcher) == ["Job"]
    assert kinds(workers) == ["Pod", "Pod"]
    assert gang == deletions(given)


def test_B206_an_invalid_job_that_is_suspended_loses_its_PodGroup_too() -> None:
    job = a_running_job(run_policy=SUSPEND, slotsPerWorker=0)
    given = running(job)
    assert plan(given, VOLCANO, NOW).steps[-1] == deletions(given)


def test_B206_the_PodGroup_is_made_again_on_resume_once_the_status_says_so() -> None:
    job = an_accepted_job(IS_SUSPENDED, IS_NOT_RUNNING_SUSPENDED)
    stopped = a_launcher_job(in_gang(job), suspended=True, conditions=[SUSPENDED])
    decided = plan(a_gang_snapshot(job, pod_group=None, launcher_job=stopped), VOLCANO, NOW)
    assert decided.status_write == "first"
    assert [kinds(step) for step in decided.steps] == [["PodGroup"], ["Job"], ["Pod"]]


def test_B203_a_resume_keeps_what_puts_the_launcher_into_its_gang() -> None:
    """Directives are made to be exactly what the template says, and the gang's annotation is part of it."""
    job = an_accepted_job(IS_SUSPENDED, IS_NOT_RUNNING_SUSPENDED)
    stopped = a_launcher_job(in_gang(job), suspended=True, conditions=[SUSPENDED])
    decided = plan(a_gang_snapshot(job, launcher_job=stopped), VOLCANO, NOW)
    patches = [action for action in decided.actions if isinstance(action, Patch)]
    assert [patch.patch for patch in patches] == [{"spec": {"suspend": False}}]


def test_B174_no_PodGroup_while_suspended() -> None:
    given = a_gang_snapshot(an_accepted_job(run_policy=SUSPEND, started=False), pod_group=None)
    assert "PodGroup" not in kinds(plan(given, VOLCANO, NOW).actions)


@pytest.mark.parametrize(
    ("owner", "reason"),
    [
        pytest.param({"kind": "Deployment"}, "ErrResourceExists", id="B177 somebody else's PodGroup is an error"),
        pytest.param({"uid": "predecessor"}, None, id="B177 a predecessor's is waited for"),
    ],
)
def test_no_pod_is_made_while_the_name_of_the_PodGroup_is_taken(owner: dict[str, str], reason: str | None) -> None:
    foreign = a_group(owner={**owner, "uid": "not-ours"})
    decided = plan(a_gang_snapshot(NEW, pod_group=foreign), VOLCANO, NOW)
    assert decided.actions == ()
    reasons = [condition.reason for condition in decided.status.conditions if condition.type == "Running"]
    assert reasons == ([reason] if reason else [])
    assert decided.look_again_seconds == 1


def test_no_pod_is_made_while_the_old_PodGroup_is_on_its_way_out() -> None:
    """In 1.36 a finalizer keeps it until the last pod of the gang has ended."""
    going = a_group(NEW, "kubernetes", terminating=True)
    decided = plan(a_gang_snapshot(NEW, "kubernetes", pod_group=going), NATIVE, NOW)
    assert decided.actions == ()
    assert decided.look_again_seconds == 1


def test_A2_8_a_gang_does_not_wait_for_a_launcher_that_waits_for_it() -> None:
    job = an_accepted_job(launcherCreationPolicy=WAIT)
    decided = plan(a_gang_snapshot(job, pod_group=None), VOLCANO, NOW)
    (created,) = [action for action in decided.actions if isinstance(action, Create)]
    assert created.manifest["spec"]["minMember"] == 2
    assert [len(action.pods) for action in decided.actions if isinstance(action, CreateWorkers)] == [2]


def test_A2_8_minMember_stays_the_same_once_the_launcher_has_started() -> None:
    job = a_running_job(launcherCreationPolicy=WAIT)
    assert plan(running(job), VOLCANO, NOW).actions == ()


def test_A2_5_A2_9_a_decision_changes_nothing_that_it_was_given() -> None:
    """The caches' objects are the next decision's input: a failed patch is planned again."""
    given = running(RESIZED, pod_group=a_group(RUNS))
    first = plan(given, VOLCANO, NOW)
    assert plan(given, VOLCANO, NOW) == first
    assert first.actions != ()


def test_A2_1_an_unknown_replica_key_is_told_and_breaks_nothing() -> None:
    broken = an_accepted_job(mpiReplicaSpecs={key: {"template": a_template()} for key in ("Launcher", "worker")})
    decided = plan(Snapshot(job=broken, gang_version="v1beta1"), VOLCANO, NOW)
    assert "spec.mpiReplicaSpecs[worker]" in decided.events[0].message


def test_A2_2_B170_minAvailable_without_workers_is_judged_and_breaks_nothing() -> None:
    job = an_accepted_job(workers=None, runLauncherAsWorker=True, run_policy={"schedulingPolicy": {"minAvailable": -1}})
    decided = plan(a_snapshot(job, gang_version="v1beta1"), VOLCANO, NOW)
    assert "must be between 1 and 1" in decided.events[0].message


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        pytest.param(NEW, ["PodGroup"], id="A2_13 a PodGroup that the Go operator made has no label: it is looked for"),
        pytest.param(
            an_accepted_job(IS_SUSPENDED, run_policy=SUSPEND), [], id="B206 nothing is missed of a stopped job's gang"
        ),
        pytest.param(
            an_accepted_job(IS_RUNNING, run_policy=SUSPEND), ["PodGroup"], id="B206 it is until it is stopped"
        ),
        pytest.param(an_accepted_job(SUCCEEDED), [], id="A2_7 nor of a finished one's"),
    ],
)
def test_a_gang_is_read_live_where_it_ought_to_be(job: MPIJob, expected: list[str]) -> None:
    given = a_gang_snapshot(job, pod_group=None, launcher_job=a_launcher_job())
    assert [read.kind for read in live_reads(given)] == expected
    assert LiveRead(kind="PodGroup", name="pi") not in live_reads(a_gang_snapshot(job))


@pytest.mark.parametrize(
    ("group", "pods", "reason"),
    [
        pytest.param(
            a_group(NEW, conditions=[UNSCHEDULABLE]),
            (a_worker(0, phase="Pending", created_ago=10), a_worker(1, phase="Pending", created_ago=10)),
            None,
            id="B194 a gang is given half a minute",
        ),
        pytest.param(
            a_group(NEW, conditions=[UNSCHEDULABLE]),
            (
                a_worker(0, phase="Pending", conditions={"PodScheduled": "True"}),
                a_worker(1, phase="Pending", conditions={"PodScheduled": "True"}),
            ),
            None,
            id="B194 a gang whose pods have their nodes waits no more",
        ),
        pytest.param(
            a_group(NEW, conditions=[UNSCHEDULABLE]),
            (
                a_worker(0, phase="Pending", conditions={"PodScheduled": GATED}),
                a_worker(1, phase="Pending", conditions={"PodScheduled": GATED}),
            ),
            None,
            id="K9 a gang whose pods Kueue still gates waits for Kueue",
        ),
        pytest.param(
            a_group(NEW, conditions=[{**UNSCHEDULABLE, "status": "False"}]),
            PENDING,
            None,
            id="B194 nor one that may go",
        ),
        pytest.param(
            a_group(NEW, conditions=[UNSCHEDULABLE]),
            (a_worker(0, phase="Pending", conditions=STUCK), PENDING[1]),
            "no",
            id="B194 what is said of a pod goes before what is said of the gang",
        ),
        pytest.param(
            a_group(NEW, conditions=[{"type": "PodGroupInitiallyScheduled", "status": "False", "message": "no room"}]),
            PENDING,
            "no room",
            id="G1 Kubernetes' own scheduler says it in a condition of its own",
        ),
    ],
)
def test_why_a_gang_waits(group: Group, pods: tuple[Any, ...], reason: str | None) -> None:
    given = a_gang_snapshot(NEW, pod_group=group, launcher_job=a_launcher_job(in_gang(NEW)), pods=pods)
    told = [
        condition.message for condition in plan(given, VOLCANO, NOW).status.conditions if condition.type == "Running"
    ]
    assert told == ([reason] if reason else [])


def test_G1_pods_older_than_their_group_are_not_said_to_have_lost_it() -> None:
    """They were made before the operator was told to schedule gangs."""
    old = (a_worker(0, created_ago=900), a_worker(1, created_ago=900), a_launcher_pod(created_ago=900))
    assert plan(running(RUNS, "kubernetes", pods=old), NATIVE, NOW).events == ()


@given(
    stored_jobs() | valid_jobs(),
    st.sampled_from(["volcano", COSCHEDULING, "kubernetes"]),
    st.sampled_from(["", "v1alpha1", "v1beta1"]),
)
@hypothesis.settings(max_examples=200)
def test_A2_1_any_job_that_decodes_has_a_plan(job: MPIJob, gang_scheduling: str, version: str) -> None:
    snapshot = Snapshot(job=job, gang_version=version, group_kinds=("PodGroup",))
    plan(snapshot, Settings(gang_scheduling=gang_scheduling), NOW)


def test_A2_14_a_quantity_that_no_number_can_hold_breaks_nothing() -> None:
    huge = a_template({"resources": {"requests": {"cpu": "9" * 5000}}})
    decided = plan(a_gang_snapshot(an_accepted_job(worker={"template": huge}), pod_group=None), VOLCANO, NOW)
    assert decided.actions != ()


def test_gang_scheduling_is_off_unless_asked_for() -> None:
    decided = plan(a_snapshot(NEW), Settings(), NOW)
    assert decided.actions == (create_workers(NEW, 0, 1), create_launcher(NEW))


def deletions(given: Snapshot) -> tuple[Action, ...]:
    """The deletion of all that describes the gang."""
    groups = () if given.pod_group is None else (delete_group(given.pod_group),)
    workloads = () if given.workload is None else (delete_group(given.workload, "Workload"),)
    return (*groups, *workloads)


def kinds(actions: tuple[Action, ...]) -> list[str]:
    """The kind that each action is about."""
    return ["Pod" if isinstance(action, CreateWorkers) else getattr(action, "kind", "Secret") for action in actions]
