"""Rows of faults.md about what a job's status, events and counters say."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from clockwork import OwnedThread, StopToken
from hack.cluster.control_plane import ControlPlane
from mpi_operator.shell.resources import JOBS, MPI_JOBS, PODS
from test.builders.jobs import a_template
from test.integration.play import (
    LAUNCHER,
    RESUME,
    SUSPEND,
    Fence,
    an_hour_ago,
    end_launcher_job,
    fail_pod,
    patch_conditions,
    run,
    run_workers,
    submit_running,
    told,
    until_active,
    until_replaced,
    worker_names,
    writes,
)
from test.integration.server import Server, condition
from test.integration.test_process import get

pytestmark = pytest.mark.usefixtures("shared_operator")

RUNNING_POLICY = {"cleanPodPolicy": "Running"}
CONFLICTS = 8


def test_A1_6_B240_an_eviction_fails_no_job_and_is_told_once_for_each_pod(server: Server) -> None:
    launcher = submit_running(server, run_policy=RUNNING_POLICY)
    evicted = server.must_get(PODS, "pi-worker-1")
    server.set_pod("pi-worker-1", "Failed", reason="Evicted", message="the node was low on memory")
    until_replaced(server, evicted)
    server.until_condition("pi", "Running", "False", "WorkersNotRunning")
    run_workers(server, "pi-worker-1")
    server.until_condition("pi", "Running")
    server.finish_launcher(LAUNCHER, launcher)
    job = server.until_condition("pi", "Succeeded")
    assert condition(job, "Failed") == {}
    server.until_pods(launcher)
    server.until_event("pi", "MPIJobSucceeded")
    assert told(server)["MPIJobEvicted"] == 1


def test_A1_7_B072_a_worker_that_failed_is_replaced_for_the_next_attempt_and_no_sooner(
    server: Server, settle: Fence
) -> None:
    launcher = submit_running(server, launcher={"restartPolicy": "Never"})
    failed = server.must_get(PODS, "pi-worker-0")
    fail_pod(server, "pi-worker-0")
    server.until_condition("pi", "Running", "False", "WorkersNotRunning")
    settle()
    assert server.must_get(PODS, "pi-worker-0")["metadata"]["uid"] == failed["metadata"]["uid"]
    fail_pod(server, launcher)
    server.patch(JOBS, LAUNCHER, {"status": {"active": 0, "failed": 1}}, "status")
    until_replaced(server, failed)
    assert "exited with code 3" in server.until_event("pi", "WorkerReplaced")["message"]
    run_workers(server, "pi-worker-0")
    server.start_launcher(LAUNCHER)
    server.until_condition("pi", "Running")


def test_A1_11_B047_a_running_job_that_was_edited_wrongly_goes_on(server: Server, settle: Fence) -> None:
    launcher = submit_running(server, run_policy=RUNNING_POLICY)
    server.patch(MPI_JOBS, "pi", {"spec": {"mpiReplicaSpecs": {"Launcher": {"replicas": 2}}}})
    server.until_event("pi", "ValidationError")
    lost = server.must_get(PODS, "pi-worker-1")
    server.delete(PODS, "pi-worker-1")
    server.until_condition("pi", "Running", "False", "WorkersNotRunning")
    settle()
    assert server.get(PODS, lost["metadata"]["name"]) is None
    server.finish_launcher(LAUNCHER, launcher)
    job = server.until_condition("pi", "Succeeded")
    assert condition(job, "Created")["status"] == "True"
    server.until_pods(launcher)
    assert told(server)["ValidationError"] == 1


def test_A3_3_B216_a_finished_job_costs_no_write(control_plane: ControlPlane, server: Server, settle: Fence) -> None:
    server.finish_launcher(LAUNCHER, submit_running(server, run_policy=RUNNING_POLICY))
    server.until_condition("pi", "Succeeded")
    until_active(server, "Worker", 0)
    settle()
    before = writes(control_plane, server.namespace)
    for number in range(10):
        server.patch(MPI_JOBS, "pi", {"metadata": {"labels": {"number": str(number)}}})
    settle()
    assert writes(control_plane, server.namespace) == before


def test_A3_4_B255_a_transition_is_told_once_however_often_the_job_is_touched(
    control_plane: ControlPlane, server: Server, settle: Fence
) -> None:
    submit_running(server)
    server.until_event("pi", "MPIJobRunning")
    settle()
    before = writes(control_plane, server.namespace)
    for number in range(5):
        server.patch(MPI_JOBS, "pi", {"metadata": {"annotations": {"number": str(number)}}})
    settle()
    assert writes(control_plane, server.namespace) == before
    assert told(server) == {"MPIJobCreated": 1, "MPIJobRunning": 1}


def test_A3_4_B069_a_conflict_repeats_no_event_and_no_count(
    control_plane: ControlPlane, server: Server, monitoring_port: int, settle: Fence
) -> None:
    jobs = [f"pi-{number}" for number in range(CONFLICTS)]
    pods = {job: submit_running(server, job, 1) for job in jobs}
    before = count_of(monitoring_port, "successful")
    for job, pod in pods.items():
        with edited_again_and_again(server, job):
            server.finish_launcher(f"{job}-launcher", pod)
            server.until_condition(job, "Succeeded")
    for job in jobs:
        server.until_event(job, "MPIJobSucceeded")
    settle()
    assert count_of(monitoring_port, "successful") - before == CONFLICTS
    once = {"MPIJobCreated": 1, "MPIJobRunning": 1, "MPIJobSucceeded": 1}
    assert [told(server, job) for job in jobs] == [once] * CONFLICTS
    codes = {write.code for write in writes(control_plane, server.namespace) if write.resource == "mpijobs/status"}
    assert codes == {200, 409}, "there was no conflict"


@contextmanager
def edited_again_and_again(server: Server, job: str) -> Iterator[None]:
    """Have somebody write to the MPIJob all the time."""
    stop = StopToken()

    def edit() -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            server.patch(MPI_JOBS, job, {"metadata": {"labels": {"number": str(number)}}})

    thread = OwnedThread(f"edits of {job}", edit).start()
    try:
        yield
    finally:
        stop.set("the job has ended")
        thread.join()


def count_of(port: int, transition: str) -> float:
    """The counter of a transition, as scraped."""
    name = f"mpi_operator_jobs_{transition}_total "
    (line,) = (line for line in get(port, "/metrics")[1].splitlines() if line.startswith(name))
    return float(line.removeprefix(name))


def test_A3_7_conditions_that_somebody_emptied_are_written_again(server: Server) -> None:
    submit_running(server)
    server.patch(MPI_JOBS, "pi", {"status": {"conditions": None, "startTime": None}}, "status")
    job = server.until_condition("pi", "Running")
    assert condition(job, "Created")["status"] == "True"
    assert job["status"]["startTime"]


@pytest.mark.parametrize(
    ("policy", "active"), [pytest.param("None", 2, id="A4_1 None"), pytest.param("Running", 0, id="A4_1 Running")]
)
def test_counts_are_what_the_pods_are_after_the_finish(server: Server, settle: Fence, policy: str, active: int) -> None:
    launcher = submit_running(server, run_policy={"cleanPodPolicy": policy})
    server.finish_launcher(LAUNCHER, launcher)
    server.until_condition("pi", "Succeeded")
    until_active(server, "Worker", active)
    settle()
    counts = server.must_get(MPI_JOBS, "pi")["status"]["replicaStatuses"]
    assert counts == {"Launcher": {"succeeded": 1}, "Worker": {"active": active} if active else {}}


def test_A4_2_A4_5_running_is_withdrawn_and_its_message_kept_current(server: Server) -> None:
    submit_running(server, workers=3)
    lost = [server.must_get(PODS, worker) for worker in worker_names(3)]
    server.delete(PODS, "pi-worker-2")
    server.until_condition("pi", "Running", "False", "WorkersNotRunning")
    until_replaced(server, lost[2])
    before = an_hour_ago()
    patch_conditions(server, "Running", lastTransitionTime=before)
    server.delete(PODS, "pi-worker-1")
    job = server.until_job(
        "pi", lambda job: condition(job, "Running")["message"].startswith("1 of 3 workers"), "a new message"
    )
    assert condition(job, "Running")["lastTransitionTime"] == before
    until_replaced(server, lost[1])
    run_workers(server, "pi-worker-1", "pi-worker-2")
    server.until_condition("pi", "Running")


def test_A4_3_A4_4_B237_a_failure_is_explained_and_dated_by_the_job(server: Server) -> None:
    launcher = submit_running(server, run_policy={"backoffLimit": 0}, launcher={"restartPolicy": "Never"})
    fail_pod(server, launcher, 3, "no such file")
    ended = an_hour_ago()
    server.patch(JOBS, LAUNCHER, {"status": {"active": 0, "failed": 1}}, "status")
    end_launcher_job(server, "Failed", at=ended, reason="BackoffLimitExceeded", message="too many failures")
    job = server.until_condition("pi", "Failed")
    failed, running = condition(job, "Failed"), condition(job, "Running")
    message = "too many failures: container mpi exited with code 3: no such file"
    assert (failed["reason"], failed["message"]) == ("BackoffLimitExceeded", message)
    assert job["status"]["completionTime"] == ended
    assert (running["status"], running["lastTransitionTime"], running["lastUpdateTime"]) == ("False", ended, ended)
    event = server.until_event("pi", "BackoffLimitExceeded")
    assert (event["type"], event["message"]) == ("Warning", message)


def test_A4_6_B199_a_suspension_keeps_the_start_time_and_a_resume_sets_it(server: Server) -> None:
    submit_running(server)
    before = an_hour_ago()
    server.patch(MPI_JOBS, "pi", {"status": {"startTime": before}}, "status")
    server.patch(MPI_JOBS, "pi", SUSPEND)
    server.suspend_launcher(LAUNCHER)
    server.until_pods()
    job = until_active(server, "Launcher", 0)
    assert (condition(job, "Suspended")["status"], job["status"]["startTime"]) == ("True", before)
    server.patch(MPI_JOBS, "pi", RESUME)
    job = server.until_condition("pi", "Suspended", "False", "MPIJobResumed")
    assert job["status"]["startTime"] > before


def test_A4_15_B238_a_long_message_is_cut_between_characters(server: Server) -> None:
    launcher = submit_running(server)
    fail_pod(server, launcher)
    end_launcher_job(server, "Failed", reason="PodFailurePolicy", message="ü" * 2000)
    message = condition(server.until_condition("pi", "Failed"), "Failed")["message"]
    assert message == "ü" * 510 + "..."
    assert server.until_event("pi", "PodFailurePolicy")["message"] == message


def test_A4_18_B148_an_overridden_restart_policy_is_told_once(server: Server, settle: Fence) -> None:
    submit_running(server, launcher={"template": a_template(None, restartPolicy="Always")})
    server.patch(MPI_JOBS, "pi", SUSPEND)
    server.suspend_launcher(LAUNCHER)
    server.until_condition("pi", "Suspended")
    server.patch(MPI_JOBS, "pi", RESUME)
    run(server)
    settle()
    assert told(server)["SetPodTemplateRestartPolicy"] == 1
