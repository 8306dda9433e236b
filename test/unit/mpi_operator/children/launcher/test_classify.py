"""What the launcher's Job and pods say of its attempts (lifecycle.md 5, 6)."""

from __future__ import annotations

from typing import Any

import pytest

from mpi_operator.api.observed import Job, Pod
from mpi_operator.children.launcher.classify import Launcher, classify_launcher
from mpi_operator.children.ownership import Holder
from test.builders.children import COMPLETE, FAILED, SUSPENDED, a_launcher_job
from test.builders.pods import a_launcher_pod, ago
from test.builders.snapshots import an_accepted_job, counts

CRASHED: dict[str, Any] = {"exitCode": 3, "finishedAt": ago(7)}


def classify(job: Job | None, *pods: Pod) -> Launcher:
    return classify_launcher(an_accepted_job(), job, pods)


def _restarted(count: int, *, waiting: bool) -> Pod:
    state = {"waiting": {"reason": "CrashLoopBackOff"}} if waiting else {}
    return a_launcher_pod(container={"restartCount": count, "state": state, "lastState": {"terminated": CRASHED}})


def _gone(name: str, **state: Any) -> Pod:
    return a_launcher_pod(name, phase="Failed", exit_code=3, **state)


@pytest.mark.parametrize(
    ("launcher", "number"),
    [
        pytest.param(classify(a_launcher_job(), a_launcher_pod()), None, id="one that runs has ended no attempt"),
        pytest.param(
            classify(a_launcher_job(), a_launcher_pod(container={"state": {"waiting": {"reason": "Pulling"}}})),
            None,
            id="nor has one that waits to run for the first time",
        ),
        pytest.param(classify(a_launcher_job(), _gone("a")), None, id="a failed pod that the Job has not counted"),
        pytest.param(classify(a_launcher_job(status={"failed": 1}), _gone("a")), 1, id="and one that it has"),
        pytest.param(
            classify(a_launcher_job(status={"failed": 3}), _gone("c")), 3, id="pods that are gone still count"
        ),
        pytest.param(classify(a_launcher_job(), _restarted(0, waiting=True)), 1, id="it waits: one has ended"),
        pytest.param(classify(a_launcher_job(), _restarted(1, waiting=False)), 1, id="it runs again: one has ended"),
        pytest.param(classify(a_launcher_job(), _restarted(1, waiting=True)), 2, id="it waits again: two have"),
    ],
)
def test_attempts(launcher: Launcher, number: int | None) -> None:
    attempt = launcher.last_attempt
    assert (None if attempt is None else attempt.number) == number


@pytest.mark.parametrize(
    ("launcher", "expected"),
    [
        pytest.param(classify(None), False, id="no Job"),
        pytest.param(classify(a_launcher_job(status={"failed": 6})), True, id="B012 six failures of six"),
        pytest.param(classify(a_launcher_job(status={"failed": 7})), False, id="one more than the limit"),
        pytest.param(classify(a_launcher_job(conditions=[FAILED])), False, id="the Job has failed"),
        pytest.param(
            classify(a_launcher_job(conditions=[{"type": "FailureTarget", "status": "True"}])), False, id="it will have"
        ),
        pytest.param(classify(a_launcher_job(), a_launcher_pod(phase="Succeeded")), False, id="a pod has succeeded"),
        pytest.param(
            classify(a_launcher_job(spec={"backoffLimit": 2}), _restarted(1, waiting=True)),
            True,
            id="one restart of two",
        ),
        pytest.param(
            classify(a_launcher_job(spec={"backoffLimit": 2}), _restarted(2, waiting=True)),
            False,
            id="two restarts of two",
        ),
    ],
)
def test_another_attempt_follows(launcher: Launcher, expected: bool) -> None:
    assert launcher.will_be_retried is expected


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        pytest.param(a_launcher_job(), False, id="it runs"),
        pytest.param(a_launcher_job(suspended=True), True, id="it never started"),
        pytest.param(a_launcher_job(suspended=True, status={"startTime": ago(9)}), False, id="it does not say so yet"),
        pytest.param(
            a_launcher_job(suspended=True, status={"startTime": ago(9)}, conditions=[SUSPENDED]), True, id="it says so"
        ),
        pytest.param(
            a_launcher_job(suspended=True, status={"active": 1}, conditions=[SUSPENDED]), False, id="a pod is active"
        ),
        pytest.param(a_launcher_job(suspended=True, terminating=True), False, id="it is terminating"),
    ],
)
def test_a_suspended_job_is_at_rest(job: Job, expected: bool) -> None:
    assert classify(job).is_at_rest is expected


def test_a_launcher_is_running_unless_its_container_waits_to_be_restarted() -> None:
    assert classify(a_launcher_job(), a_launcher_pod()).is_running
    assert classify(a_launcher_job(), _restarted(1, waiting=False)).is_running
    assert not classify(a_launcher_job(), _restarted(1, waiting=True)).is_running
    assert not classify(a_launcher_job(), a_launcher_pod(terminating=True)).is_running


def test_pods_of_another_job_of_that_name_are_former_ones() -> None:
    old, new = a_launcher_pod("old", job_uid="old"), a_launcher_pod("new")
    launcher = classify(a_launcher_job(), new, old)
    assert (launcher.pods, launcher.former, launcher.own_former) == ((new,), (old,), (old,))


def test_A4_12_a_pod_older_than_the_job_is_a_predecessors() -> None:
    old = a_launcher_pod("old", job_uid="old", created_ago=4000)
    launcher = classify(None, old)
    assert (launcher.former, launcher.own_former) == ((old,), ())


def test_A1_4_a_pod_is_ours_only_if_the_status_remembers_a_launcher() -> None:
    old = a_launcher_pod("old", job_uid="old")
    job = an_accepted_job(replicas=counts(worker={}))
    assert classify_launcher(job, None, (old,)).own_former == ()


def test_a_job_that_is_not_ours_says_nothing() -> None:
    launcher = classify(a_launcher_job(owned=False, conditions=[COMPLETE]))
    assert launcher.holder is Holder.FOREIGN
    assert launcher.job is None
    assert launcher.finished is None
