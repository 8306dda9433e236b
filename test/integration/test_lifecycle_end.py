"""The end of a job, what follows it, and what a plain life costs (lifecycle.md 1, 6, 7, 8)."""

from __future__ import annotations

import pytest

from hack.cluster.control_plane import ControlPlane
from mpi_operator.shell.resources import JOBS, MPI_JOBS, PODS
from test.builders.jobs import a_raw_job
from test.integration.operator_process import OperatorProcess
from test.integration.play import (
    HOLD,
    LAUNCHER,
    WORKERS,
    Fence,
    end_launcher_job,
    paused,
    run_workers,
    submit_running,
    told,
    until_active,
    until_gone,
    writes,
)
from test.integration.server import Server, condition

MOST_WRITES = 14 + 2  # a machine that is busy may spread a burst of updates over two looks, twice

pytestmark = pytest.mark.usefixtures("shared_operator")


def test_a_plain_life_is_few_writes_without_a_conflict(
    control_plane: ControlPlane, server: Server, shared_operator: OperatorProcess, settle: Fence
) -> None:
    server.submit(a_raw_job())
    server.until_launcher_job(LAUNCHER)
    server.until_condition("pi", "Created")
    settle()
    # Pods start, and a Job ends, within a moment, however busy the machine is that plays them.
    with paused(shared_operator):
        run_workers(server, *WORKERS)
        launcher = server.start_launcher(LAUNCHER)
    server.until_condition("pi", "Running")
    with paused(shared_operator):
        server.finish_launcher(LAUNCHER, launcher)
    server.until_condition("pi", "Succeeded")
    server.until_event("pi", "MPIJobSucceeded")
    settle()
    found = writes(control_plane, server.namespace)
    assert len(found) <= MOST_WRITES
    assert {write.code for write in found} == {200, 201}
    creates = [write.resource for write in found if write.verb == "create"]
    assert sorted(creates) == ["configmaps", *["events"] * 3, "jobs", *["pods"] * 2, "secrets", "services"]
    assert told(server) == {"MPIJobCreated": 1, "MPIJobRunning": 1, "MPIJobSucceeded": 1}


@pytest.mark.parametrize("kind", ["Complete", "Failed"])
@pytest.mark.parametrize(
    ("policy", "left"),
    [
        pytest.param("All", "", id="B212 All"),
        pytest.param("Running", "pi-worker-1 launcher", id="B213 Running"),
        pytest.param("None", "pi-worker-0 pi-worker-1 launcher", id="B214 None"),
    ],
)
def test_B219_pods_go_as_the_policy_says(server: Server, kind: str, policy: str, left: str) -> None:
    launcher = submit_running(server, run_policy={"cleanPodPolicy": policy})
    server.set_pod("pi-worker-1", "Succeeded")
    until_active(server, "Worker", 1)
    server.set_pod(launcher, "Succeeded" if kind == "Complete" else "Failed")
    end_launcher_job(server, kind)
    job = server.until_condition("pi", "Succeeded" if kind == "Complete" else "Failed")
    assert job["status"]["completionTime"] >= condition(job, "Running")["lastTransitionTime"]
    server.until_pods(*left.replace("launcher", launcher).split())
    server.must_get(JOBS, LAUNCHER)


def test_the_end_is_recorded_before_anything_is_deleted(
    control_plane: ControlPlane, server: Server, settle: Fence
) -> None:
    launcher = submit_running(server, run_policy={"cleanPodPolicy": "All"})
    settle()
    before = len(writes(control_plane, server.namespace))
    # Jobs and pods come by two watches: the pod's end alone changes a count, and may do so first.
    end_launcher_job(server, "Complete")
    server.until_pods()
    settle()
    after = writes(control_plane, server.namespace)[before:]
    order = [(write.verb, write.name) for write in after if write.resource != "events"]
    assert order[0] == ("patch", "pi")
    assert set(order[1:4]) == {("delete", name) for name in (*WORKERS, launcher)}


def test_A1_4_B141_the_TTL_may_be_set_late_and_takes_launcher_and_workers(server: Server, settle: Fence) -> None:
    launcher = submit_running(server)
    server.finish_launcher(LAUNCHER, launcher)
    server.until_condition("pi", "Succeeded")
    settle()
    server.until_pods(*WORKERS, launcher)
    server.patch(MPI_JOBS, "pi", {"spec": {"runPolicy": {"ttlSecondsAfterFinished": 1}}})
    until_gone(server, JOBS, LAUNCHER)
    server.until_pods(launcher)  # the garbage collector's part
    settle()
    assert server.find(JOBS) == []
    assert condition(server.must_get(MPI_JOBS, "pi"), "Succeeded")["status"] == "True"


def test_B054_a_job_that_is_being_deleted_is_left_alone(
    control_plane: ControlPlane, server: Server, settle: Fence
) -> None:
    submit_running(server)
    server.patch(MPI_JOBS, "pi", {"metadata": {"finalizers": [HOLD]}})
    settle()
    server.delete(MPI_JOBS, "pi")
    before = writes(control_plane, server.namespace)
    server.delete(PODS, "pi-worker-0")
    end_launcher_job(server, "Complete")
    settle()
    assert writes(control_plane, server.namespace) == before
    server.patch(MPI_JOBS, "pi", {"metadata": {"finalizers": None}})
