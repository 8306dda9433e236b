"""Suspend and resume: their order, what they wait for, and what others may rely on (lifecycle.md 4)."""

from __future__ import annotations

import pytest

from hack.cluster.control_plane import ControlPlane
from mpi_operator.shell.resources import CONFIG_MAPS, JOBS, MPI_JOBS, PODS, SECRETS, SERVICES
from test.builders.jobs import a_raw_job, a_template
from test.integration.play import (
    LAUNCHER,
    RESUME,
    SUSPEND,
    WORKERS,
    Fence,
    Write,
    fail_pod,
    hold,
    release,
    run,
    scale,
    submit_running,
    told,
    until_active,
    until_replaced,
    worker_names,
    writes,
)
from test.integration.server import JSONObject, Server, condition

pytestmark = pytest.mark.usefixtures("shared_operator")

NEW_IMAGE = {
    "spec": {"mpiReplicaSpecs": {"Launcher": {"template": {"spec": {"containers": [{"name": "mpi", "image": "new"}]}}}}}
}


def suspend(server: Server) -> None:
    """Suspend job pi, and play the Job controller until nothing of it runs."""
    server.patch(MPI_JOBS, "pi", SUSPEND)
    server.suspend_launcher(LAUNCHER)
    server.until_pods()
    server.until_condition("pi", "Suspended")
    until_active(server, "Launcher", 0)
    until_active(server, "Worker", 0)


def targets(found: list[Write]) -> list[tuple[str, str]]:
    return [(write.verb, write.resource) for write in found if write.resource != "events"]


def test_B195_B196_a_job_that_is_created_suspended_has_all_but_pods(server: Server, settle: Fence) -> None:
    server.submit(a_raw_job(run_policy={"suspend": True}))
    job = server.until_condition("pi", "Suspended")
    server.until_launcher_job(LAUNCHER, suspended=True)
    for resource, name in ((SERVICES, "pi"), (CONFIG_MAPS, "pi-config"), (SECRETS, "pi-ssh")):
        server.must_get(resource, name)
    assert [(each["type"], each["status"]) for each in job["status"]["conditions"]] == [
        ("Created", "True"),
        ("Suspended", "True"),
        ("Running", "False"),
    ]
    settle()
    assert server.find(PODS) == []
    assert "startTime" not in server.must_get(MPI_JOBS, "pi")["status"]


def test_B197_B200_launcher_workers_status_then_status_launcher_workers(
    control_plane: ControlPlane, server: Server, settle: Fence
) -> None:
    submit_running(server)
    settle()
    began = len(writes(control_plane, server.namespace))
    suspend(server)
    settle()
    suspended = len(writes(control_plane, server.namespace))
    server.patch(MPI_JOBS, "pi", RESUME)
    server.until_pods(*WORKERS)
    settle()
    found = writes(control_plane, server.namespace)
    order = targets(found[began:suspended])
    assert order[:4] == [("patch", "jobs"), ("delete", "pods"), ("delete", "pods"), ("patch", "mpijobs/status")]
    assert set(order[4:]) <= {("patch", "mpijobs/status"), ("patch", "configmaps")}
    order = targets(found[suspended:])
    assert order[:2] == [("patch", "mpijobs/status"), ("patch", "jobs")]
    assert [each for each in order[2:] if each[1] != "configmaps"] == [("create", "pods")] * 2
    assert {write.code for write in found} <= {200, 201}


def test_A1_9_B208_suspending_deletes_workers_that_ended_and_resuming_makes_all_anew(server: Server) -> None:
    submit_running(server, run_policy={"cleanPodPolicy": "Running"})
    before = [server.must_get(PODS, worker) for worker in WORKERS]
    fail_pod(server, "pi-worker-0")
    server.set_pod("pi-worker-1", "Succeeded")
    server.until_condition("pi", "Running", "False", "WorkersNotRunning")
    suspend(server)
    server.patch(MPI_JOBS, "pi", RESUME)
    for pod in before:
        until_replaced(server, pod)
    run(server)


def test_B198_pods_count_as_active_until_the_last_of_them_is_gone(server: Server, settle: Fence) -> None:
    server.submit(a_raw_job())
    server.until_pods(*WORKERS)
    hold(server, *WORKERS)
    server.set_pod("pi-worker-0", "Running")
    until_active(server, "Worker", 1)
    server.patch(MPI_JOBS, "pi", SUSPEND)
    server.until_condition("pi", "Suspended")
    until_active(server, "Worker", 2)
    release(server, "pi-worker-0")
    until_active(server, "Worker", 1)
    settle()
    release(server, "pi-worker-1")
    until_active(server, "Worker", 0)


def test_a_resume_waits_until_the_launcher_has_stopped_and_old_workers_are_gone(server: Server, settle: Fence) -> None:
    submit_running(server)
    held = server.must_get(PODS, "pi-worker-0")
    hold(server, "pi-worker-0")
    server.patch(MPI_JOBS, "pi", SUSPEND)
    server.until_launcher_job(LAUNCHER, suspended=True)
    server.until_condition("pi", "Suspended")
    server.patch(MPI_JOBS, "pi", RESUME)
    server.until_condition("pi", "Suspended", "False", "MPIJobResumed")
    settle()
    assert server.must_get(JOBS, LAUNCHER)["spec"]["suspend"] is True
    assert server.get(PODS, "pi-worker-1") is None
    server.suspend_launcher(LAUNCHER)
    server.until_launcher_job(LAUNCHER)
    server.until(PODS, lambda pods: "pi-worker-1" in pods, "a new pi-worker-1")
    settle()
    assert server.must_get(PODS, "pi-worker-0")["metadata"]["uid"] == held["metadata"]["uid"]
    release(server, "pi-worker-0")
    until_replaced(server, held)
    run(server)


def test_B205_another_image_makes_the_launcher_anew_once_its_pods_are_gone(server: Server) -> None:
    submit_running(server)
    before = server.must_get(JOBS, LAUNCHER)
    suspend(server)
    server.patch(MPI_JOBS, "pi", NEW_IMAGE)
    server.patch(MPI_JOBS, "pi", RESUME)

    def holds(jobs: dict[str, JSONObject]) -> bool:
        return LAUNCHER in jobs and jobs[LAUNCHER]["metadata"]["uid"] != before["metadata"]["uid"]

    job = server.until(JOBS, holds, "another Job")[LAUNCHER]
    assert job["spec"]["template"]["spec"]["containers"][0]["image"] == "new"
    run(server)


def test_B210_B254_a_job_is_suspended_scaled_and_resumed_twice(server: Server) -> None:
    submit_running(server)
    for workers in (3, 1):
        suspend(server)
        server.patch(MPI_JOBS, "pi", scale(workers))
        server.patch(MPI_JOBS, "pi", RESUME)
        server.until_pods(*worker_names(workers))
        launcher = run(server, workers=workers)
    server.finish_launcher(LAUNCHER, launcher)
    server.until_condition("pi", "Succeeded")
    server.until_event("pi", "MPIJobSucceeded")
    assert told(server) == {
        "MPIJobCreated": 1,
        "MPIJobRunning": 3,
        "MPIJobSuspended": 2,
        "MPIJobResumed": 2,
        "MPIJobSucceeded": 1,
    }


def test_an_invalid_spec_may_be_suspended_and_is_resumed_once_it_is_valid(server: Server, settle: Fence) -> None:
    submit_running(server)
    server.patch(MPI_JOBS, "pi", {"spec": {"mpiReplicaSpecs": {"Launcher": {"replicas": 2}}}})
    suspend(server)
    server.patch(MPI_JOBS, "pi", RESUME)
    settle()
    assert server.find(PODS) == []
    assert condition(server.must_get(MPI_JOBS, "pi"), "Suspended")["status"] == "True"
    server.patch(MPI_JOBS, "pi", {"spec": {"mpiReplicaSpecs": {"Launcher": {"replicas": 1}}}})
    run(server)
    assert told(server)["ValidationError"] == 3  # once for each generation that is not valid


@pytest.mark.parametrize("succeeded", [pytest.param(True, id="that succeeded"), pytest.param(False, id="that failed")])
def test_a_job_ignores_suspend_and_every_change_of_its_launcher(
    control_plane: ControlPlane, server: Server, settle: Fence, succeeded: bool
) -> None:
    server.finish_launcher(LAUNCHER, submit_running(server), succeeded=succeeded)
    kind = "Succeeded" if succeeded else "Failed"
    server.until_condition("pi", kind)
    settle()
    before = writes(control_plane, server.namespace)
    job = server.must_get(MPI_JOBS, "pi")
    server.patch(MPI_JOBS, "pi", SUSPEND)
    server.delete(JOBS, LAUNCHER, propagationPolicy="Background")
    settle()
    server.patch(MPI_JOBS, "pi", RESUME)
    settle()
    assert writes(control_plane, server.namespace) == before
    assert server.must_get(MPI_JOBS, "pi")["status"] == job["status"]


def test_a_template_of_the_workers_may_change_while_suspended(server: Server) -> None:
    submit_running(server)
    suspend(server)
    template = a_template({"image": "new"})
    server.patch(MPI_JOBS, "pi", {"spec": {"mpiReplicaSpecs": {"Worker": {"template": template}}}})
    server.patch(MPI_JOBS, "pi", RESUME)
    pods = server.until_pods(*WORKERS)
    assert {pod["spec"]["containers"][0]["image"] for pod in pods.values()} == {"new"}
