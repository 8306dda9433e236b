"""Pods that end, restart, wait for a node, or change in number (lifecycle.md 5, 6, 9)."""

from __future__ import annotations

import json

import pytest

from hack.cluster.control_plane import ControlPlane
from mpi_operator import names
from mpi_operator.shell.resources import CONFIG_MAPS, JOBS, MPI_JOBS, PODS
from test.builders.jobs import a_raw_job
from test.integration.play import (
    LAUNCHER,
    WORKERS,
    Fence,
    Write,
    a_container_status,
    an_hour_ago,
    end_launcher_job,
    fail_pod,
    run,
    run_workers,
    scale,
    submit_running,
    told,
    until_active,
    until_hosts,
    until_replaced,
    worker_names,
    writes,
)
from test.integration.server import JSONObject, Server, condition, now

pytestmark = pytest.mark.usefixtures("shared_operator")


def a_pod_condition(kind: str, status: str = "True", reason: str = "Test", message: str = "make room") -> JSONObject:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now()}


def unschedulable(since: str, message: str = "0/3 nodes are available") -> JSONObject:
    """The status of a pod that the scheduler has no node for."""
    scheduled = {**a_pod_condition("PodScheduled", "False", "Unschedulable", message), "lastTransitionTime": since}
    return {"status": {"conditions": [scheduled]}}


@pytest.mark.parametrize(
    ("status", "reason", "text"),
    [
        pytest.param(
            {"conditions": [a_pod_condition("DisruptionTarget")]},
            "MPIJobEvicted",
            "make room",
            id="A1_6 to be disrupted",
        ),
        pytest.param(
            {"conditions": [a_pod_condition("TerminatedByKueue")]},
            "MPIJobEvicted",
            "make room",
            id="A1_7 by Kueue",
        ),
        pytest.param({"reason": "NodeLost"}, "WorkerReplaced", "failed (NodeLost)", id="A1_7 lost with its node"),
        pytest.param({"reason": "OutOfcpu"}, "WorkerReplaced", "failed (OutOfcpu)", id="A1_7 refused by its node"),
    ],
)
def test_a_disrupted_worker_is_replaced_at_once(server: Server, status: JSONObject, reason: str, text: str) -> None:
    submit_running(server)
    lost = server.must_get(PODS, "pi-worker-1")
    server.patch(PODS, "pi-worker-1", {"status": {"phase": "Failed", **status}}, "status")
    until_replaced(server, lost)
    event = server.until_event("pi", reason)
    assert event["type"] == "Warning"
    assert text in event["message"]
    run_workers(server, "pi-worker-1")
    server.until_condition("pi", "Running")
    assert told(server)[reason] == 1


def test_B072_a_worker_that_fails_before_the_launch_is_counted_first_and_fails_the_job_at_last(
    control_plane: ControlPlane, server: Server, settle: Fence
) -> None:
    server.submit(a_raw_job(run_policy={"backoffLimit": 1}, launcherCreationPolicy="WaitForWorkersReady"))
    run_workers(server, "pi-worker-0")
    first = server.must_get(PODS, "pi-worker-1")
    fail_pod(server, "pi-worker-1", 4, at=an_hour_ago())
    until_replaced(server, first)
    kept = server.must_get(CONFIG_MAPS, "pi-config")["metadata"]["annotations"][names.ANNOTATION_WORKER_RESTARTS]
    assert json.loads(kept) == {"1": {"count": 1, "pod": first["metadata"]["uid"]}}
    fail_pod(server, "pi-worker-1", 5, "no such host", at=an_hour_ago())
    failed = condition(server.until_condition("pi", "Failed", "True", "WorkersFailed"), "Failed")
    assert "container mpi exited with code 5: no such host" in failed["message"]
    settle()
    found = writes(control_plane, server.namespace)
    deleted = found.index(Write("delete", "pods", "pi-worker-1", 200))
    counted = [index for index, write in enumerate(found) if write.resource == "configmaps" and write.verb == "patch"]
    assert any(index < deleted for index in counted)
    assert told(server)["WorkerReplaced"] == 1


def test_a_worker_that_failed_before_the_launch_is_not_replaced_before_its_back_off_is_over(
    server: Server, settle: Fence
) -> None:
    server.submit(a_raw_job(launcherCreationPolicy="WaitForWorkersReady"))
    run_workers(server, "pi-worker-0")
    failed = server.must_get(PODS, "pi-worker-1")
    fail_pod(server, "pi-worker-1")
    server.until_job(
        "pi", lambda job: job["status"]["replicaStatuses"]["Worker"].get("failed") == 1, "the failure is counted"
    )
    settle()
    assert server.must_get(PODS, "pi-worker-1")["metadata"]["uid"] == failed["metadata"]["uid"]
    until_replaced(server, failed)  # ten seconds later


def test_a_worker_that_succeeded_is_left_alone_until_another_attempt_begins(server: Server, settle: Fence) -> None:
    launcher = submit_running(server)
    done = server.must_get(PODS, "pi-worker-0")
    server.set_pod("pi-worker-0", "Succeeded", containerStatuses=[a_container_status(exit_code=0, finishedAt=now())])
    server.until_condition("pi", "Running", "False", "WorkersNotRunning")
    settle()
    assert server.must_get(PODS, "pi-worker-0")["metadata"]["uid"] == done["metadata"]["uid"]
    ended = a_container_status(exit_code=1, finishedAt=now())
    server.set_pod(launcher, "Running", ready=False, containerStatuses=[ended])
    until_replaced(server, done)


def test_B231_an_attempt_that_fails_in_its_pod_is_told_and_explains_the_failure(server: Server) -> None:
    launcher = submit_running(server)
    again = a_container_status(exit_code=None, restarts=1)
    again["lastState"] = a_container_status(exit_code=7, message="out of disk", finishedAt=now())["state"]
    ended = a_container_status(exit_code=7, message="out of disk", finishedAt=now())
    server.set_pod(launcher, "Running", ready=False, containerStatuses=[ended])
    job = server.until_condition("pi", "Restarting", "True", "MPIJobRestarting")
    assert condition(job, "Running")["status"] == "False"
    text = "container mpi exited with code 7: out of disk"
    assert condition(job, "Restarting")["message"].endswith(text)
    server.set_pod(launcher, "Running", containerStatuses=[again])
    job = server.until_condition("pi", "Running")
    assert condition(job, "Restarting")["status"] == "False"
    server.delete(PODS, launcher, gracePeriodSeconds=0)
    end_launcher_job(server, "Failed", reason="BackoffLimitExceeded", message="too many failures")
    job = server.until_condition("pi", "Failed")
    assert text in condition(job, "Failed")["message"]
    server.until_event("pi", "BackoffLimitExceeded")
    assert told(server)["MPIJobRestarting"] == 1


def test_a_launcher_that_succeeded_is_finishing_and_flips_nothing(server: Server, settle: Fence) -> None:
    launcher = submit_running(server, run_policy={"cleanPodPolicy": "All"})
    server.set_pod(launcher, "Succeeded")
    until_active(server, "Launcher", 0)
    server.set_pod("pi-worker-0", "Succeeded")
    until_active(server, "Worker", 1)
    settle()
    assert condition(server.must_get(MPI_JOBS, "pi"), "Running")["status"] == "True"
    end_launcher_job(server, "Complete")
    server.until_condition("pi", "Succeeded")
    server.until_pods()
    server.must_get(JOBS, LAUNCHER)


def test_what_the_scheduler_says_is_told_after_half_a_minute(server: Server, settle: Fence) -> None:
    server.submit(a_raw_job())
    server.until_pods(*WORKERS)
    server.until_condition("pi", "Created")
    server.patch(PODS, "pi-worker-1", unschedulable(now()), "status")
    settle()
    assert condition(server.must_get(MPI_JOBS, "pi"), "Running") == {}
    server.patch(PODS, "pi-worker-1", unschedulable(an_hour_ago()), "status")
    job = server.until_condition("pi", "Running", "False", "Unschedulable")
    message = condition(job, "Running")["message"]
    assert message == "0/3 nodes are available"
    server.patch(PODS, "pi-worker-1", unschedulable(an_hour_ago(), "0/4 nodes are available"), "status")
    settle()
    assert condition(server.must_get(MPI_JOBS, "pi"), "Running")["message"] == message
    run(server)


def test_B134_B095_a_job_is_scaled_and_given_more_slots_while_it_runs(server: Server) -> None:
    launcher = submit_running(server)
    server.patch(MPI_JOBS, "pi", scale(4))
    server.until_condition("pi", "Running", "False", "WorkersNotRunning")
    run_workers(server, "pi-worker-2", "pi-worker-3")
    server.until_condition("pi", "Running")
    until_hosts(server, *worker_names(4))
    server.patch(MPI_JOBS, "pi", {"spec": {"slotsPerWorker": 3}})
    lines = [f"{worker}.pi.{server.namespace}.svc slots=3\n" for worker in worker_names(4)]
    server.until(CONFIG_MAPS, lambda maps: maps["pi-config"]["data"]["hostfile"] == "".join(lines), "three slots each")
    server.patch(MPI_JOBS, "pi", scale(1))
    server.until_pods("pi-worker-0", launcher)
    until_hosts(server, "pi-worker-0")
    server.until_condition("pi", "Running")


def test_a_running_launcher_is_not_touched_when_a_worker_cannot_be_created(server: Server) -> None:
    launcher = submit_running(server)
    before = server.must_get(JOBS, LAUNCHER)
    broken = [{"name": "mpi", "image": "x", "volumeMounts": [{"name": "absent", "mountPath": "/absent"}]}]
    spec = {"template": {"spec": {"containers": broken}}, "replicas": 3}
    server.patch(MPI_JOBS, "pi", {"spec": {"mpiReplicaSpecs": {"Worker": spec}}})
    server.until_condition("pi", "Running", "False", "FailedCreate")
    server.until_pods(*WORKERS, launcher)
    assert server.must_get(JOBS, LAUNCHER)["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    server.patch(MPI_JOBS, "pi", scale(2))
    server.until_condition("pi", "Running")
