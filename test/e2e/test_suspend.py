"""Suspending and resuming, before and while a program runs (lifecycle.md 4; B195-B202; A1.13, A1.16)."""

import json
from pathlib import Path

from test.e2e.jobs import (
    RUN_UNTIL_FINISH,
    a_job,
    mpirun,
    shell,
    with_shell_as_first_process,
    with_slow_workers,
    worker_names,
)
from test.e2e.namespace import Namespace
from test.e2e.status import condition, condition_types, rank_hosts, ready_since, restarts


def test_B195_B196_a_job_created_suspended_starts_when_it_is_resumed(namespace: Namespace) -> None:
    name = namespace.apply(a_job(run_policy={"suspend": True}))
    job = namespace.await_condition(name, "Suspended")
    namespace.await_that("the launcher's Job exists", lambda: len(namespace.items("jobs")) == 1, 10)
    assert [each["type"] for each in job["status"]["conditions"]] == ["Created", "Suspended", "Running"]
    assert condition_types(job) == ["Created", "Suspended"]
    assert "startTime" not in job["status"]
    assert namespace.items("jobs")[0]["spec"]["suspend"] is True
    assert namespace.items("pods") == []

    namespace.suspend(name, suspend=False)
    job = namespace.await_condition(name, "Succeeded")
    assert rank_hosts(namespace.launcher_log(name)) == worker_names(name, 2)
    assert "startTime" in job["status"]
    assert condition(job, "Suspended")["reason"] == "MPIJobResumed"
    assert restarts(namespace.pods(name, "launcher")) == 0


def test_A1_13_a_resumed_launcher_waits_for_its_new_workers(namespace: Namespace) -> None:
    job = with_slow_workers(a_job(launcherCreationPolicy="WaitForWorkersReady", run_policy={"suspend": True}), 2)
    name = namespace.apply(job)
    namespace.await_condition(name, "Suspended")
    assert namespace.items("jobs") == []
    namespace.suspend(name, suspend=False)
    namespace.await_that("the launcher has a pod", lambda: bool(namespace.pods(name, "launcher")))
    [launcher] = namespace.pods(name, "launcher")
    ready = [ready_since(worker).isoformat().replace("+00:00", "Z") for worker in namespace.pods(name)]
    assert len(ready) == 2
    assert max(ready) <= launcher["metadata"]["creationTimestamp"]
    namespace.await_condition(name, "Succeeded")
    assert restarts(namespace.pods(name, "launcher")) == 0


def test_A1_16_a_running_program_notices_suspension_and_starts_again_on_resume(
    namespace: Namespace, tmp_path: Path
) -> None:
    job = with_shell_as_first_process(a_job(launcher=mpirun(2, *shell(RUN_UNTIL_FINISH))))
    name = namespace.apply(job)
    namespace.await_ranks(name, worker_names(name, 2))
    first = namespace.await_condition(name, "Running")
    with namespace.followed_log(worker_names(name, 1)[0], tmp_path / "log") as log:
        namespace.await_that("the worker's log is followed", lambda: "port 2222" in log.read_text(), 10)
        namespace.suspend(name)
        namespace.await_that("no pod is left", lambda: namespace.items("pods") == [])
        namespace.await_that(
            "the worker's log says that its rank was stopped", lambda: "told to stop" in log.read_text(), 10
        )
    suspended = namespace.await_condition(name, "Suspended")
    namespace.await_that("nothing counts as active", lambda: not _active(namespace.job(name)), 10)
    assert condition(suspended, "Running")["reason"] == "MPIJobSuspended"
    assert suspended["status"]["startTime"] == first["status"]["startTime"]

    namespace.suspend(name, suspend=False)
    namespace.await_ranks(name, worker_names(name, 2))
    resumed = namespace.await_condition(name, "Running")
    assert resumed["status"]["startTime"] > first["status"]["startTime"]
    namespace.finish(name)
    job = namespace.await_condition(name, "Succeeded")
    assert job["status"]["replicaStatuses"]["Launcher"] == {"succeeded": 1}, "stopping is no failure"
    assert restarts(namespace.pods(name, "launcher")) == 0
    reasons = [event["reason"] for event in namespace.events(name)]
    for once in ("MPIJobSuspended", "MPIJobResumed", "MPIJobSucceeded"):
        assert reasons.count(once) == 1, reasons


def _active(job: dict[str, object]) -> bool:
    return '"active"' in json.dumps(job["status"])
