"""Rows of faults.md about when a launcher starts, and with what it starts again."""

from __future__ import annotations

from typing import Any

import pytest

from hack.cluster.control_plane import ControlPlane
from mpi_operator.shell.resources import JOBS, MPI_JOBS, PODS
from test.builders.jobs import a_raw_job, a_template
from test.integration.play import (
    LAUNCHER,
    RESUME,
    SUSPEND,
    WORKERS,
    Fence,
    an_hour_ago,
    fail_pod,
    hold,
    release,
    run,
    run_workers,
    submit_running,
    until_active,
    until_replaced,
    writes,
)
from test.integration.server import Server, condition

pytestmark = pytest.mark.usefixtures("shared_operator")

WAITING: dict[str, Any] = {"launcherCreationPolicy": "WaitForWorkersReady"}
GENERATED = {"batch.kubernetes.io/job-name": LAUNCHER, "job-name": LAUNCHER}


def test_A1_13_B158_a_job_that_is_created_suspended_waits_for_its_workers(server: Server, settle: Fence) -> None:
    server.submit(a_raw_job(run_policy={"suspend": True}, **WAITING))
    server.until_condition("pi", "Suspended")
    settle()
    assert server.find(JOBS) == []
    server.patch(MPI_JOBS, "pi", RESUME)
    run_workers(server, "pi-worker-0")
    settle()
    assert server.find(JOBS) == []
    run_workers(server, "pi-worker-1")
    server.until_launcher_job(LAUNCHER)


def test_A1_13_a_launcher_that_ran_stays_suspended_until_the_new_workers_are_ready(
    server: Server, settle: Fence
) -> None:
    submit_running(server, **WAITING)
    server.patch(MPI_JOBS, "pi", SUSPEND)
    server.suspend_launcher(LAUNCHER)
    server.until_pods()
    until_active(server, "Worker", 0)
    server.patch(MPI_JOBS, "pi", RESUME)
    server.until_pods(*WORKERS)
    server.set_pod("pi-worker-0", "Running")
    server.set_pod("pi-worker-1", "Running", ready=False)
    until_active(server, "Worker", 2)
    settle()
    assert server.must_get(JOBS, LAUNCHER)["spec"]["suspend"] is True
    run(server)


def test_A1_14_B157_a_worker_that_is_going_is_not_ready(server: Server, settle: Fence) -> None:
    server.submit(a_raw_job(**WAITING))
    run_workers(server, "pi-worker-0")
    going = server.must_get(PODS, "pi-worker-1")
    hold(server, "pi-worker-1")
    server.delete(PODS, "pi-worker-1")
    server.set_pod("pi-worker-1", "Running")
    until_active(server, "Worker", 2)
    settle()
    assert server.find(JOBS) == []
    release(server, "pi-worker-1")
    until_replaced(server, going)
    run_workers(server, "pi-worker-1")
    server.until_launcher_job(LAUNCHER)


def test_A1_15_a_deadline_holds_while_there_is_no_launcher(server: Server) -> None:
    server.submit(a_raw_job(run_policy={"activeDeadlineSeconds": 1, "cleanPodPolicy": "Running"}, **WAITING))
    job = server.until_condition("pi", "Failed", "True", "DeadlineExceeded")
    assert condition(job, "Running")["status"] == "False"
    server.until_pods()
    assert server.find(JOBS) == []


def test_A1_15_a_worker_that_failed_before_the_launch_is_replaced(server: Server) -> None:
    server.submit(a_raw_job(**WAITING))
    run_workers(server, "pi-worker-0")
    failed = server.must_get(PODS, "pi-worker-1")
    fail_pod(server, "pi-worker-1", at=an_hour_ago())
    until_replaced(server, failed)
    run(server)


def test_A1_16_A1_17_B203_B204_a_resume_brings_the_launchers_scheduling_up_to_date(
    control_plane: ControlPlane, server: Server, settle: Fence
) -> None:
    template = a_template(None, nodeSelector={"zone": "a"})
    template["metadata"] = {"annotations": {"a": "1"}, "labels": {"old": "yes"}}
    submit_running(server, launcher={"template": template})
    settle()
    server.patch(MPI_JOBS, "pi", SUSPEND)
    server.suspend_launcher(LAUNCHER)
    server.until_condition("pi", "Suspended")
    server.patch(JOBS, LAUNCHER, {"status": {"startTime": an_hour_ago()}}, "status")
    settle()
    before = server.must_get(JOBS, LAUNCHER)
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}]
    node_affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    toleration = {"key": "gpu", "operator": "Exists"}
    changed = {
        "metadata": {"annotations": None, "labels": {"old": None, "new": "yes"}},
        "spec": {"nodeSelector": None, "affinity": {"nodeAffinity": node_affinity}, "tolerations": [toleration]},
    }
    server.patch(MPI_JOBS, "pi", {"spec": {"mpiReplicaSpecs": {"Launcher": {"template": changed}}}})
    settle()
    server.patch(MPI_JOBS, "pi", RESUME)
    job = server.until_launcher_job(LAUNCHER)
    assert job["metadata"]["uid"] == before["metadata"]["uid"]
    assert "startTime" not in job["status"]
    found = job["spec"]["template"]
    labels = found["metadata"]["labels"]
    assert labels.items() >= {**GENERATED, "new": "yes"}.items()
    assert "old" not in labels
    assert "annotations" not in found["metadata"]
    assert not found["spec"].get("nodeSelector")
    assert found["spec"]["affinity"]["nodeAffinity"] == node_affinity
    assert found["spec"]["tolerations"] == [toleration]
    run(server)
    settle()
    refused = [write for write in writes(control_plane, server.namespace) if write.code not in {200, 201}]
    assert refused == []
