"""Rows of faults.md about what users write, and about queues that one job could fill for all others."""

from __future__ import annotations

from typing import Any

import pytest

from mpi_operator import names
from mpi_operator.shell.resources import CONFIG_MAPS, JOBS, MPI_JOBS, PODS, SERVICES
from test.builders.jobs import a_raw_job, a_template
from test.integration.play import (
    LAUNCHER,
    WORKERS,
    Fence,
    run,
    run_workers,
    scale,
    submit_running,
    told,
    until_replaced,
    worker_names,
)
from test.integration.server import JSONObject, Server, condition
from test.integration.test_faults_outcome import count_of

pytestmark = pytest.mark.usefixtures("shared_operator")

LONG_NAME = "p" * 54


def refused_template(number: int) -> JSONObject:
    """A pod template that the API server refuses, each for a reason of its own."""
    return a_template({"volumeMounts": [{"name": f"absent-{number}", "mountPath": "/absent"}]})


def worker_template(template: JSONObject) -> JSONObject:
    """The user's patch for another template of the workers."""
    return {"spec": {"mpiReplicaSpecs": {"Worker": {"template": template}}}}


def until_refused(server: Server, number: int) -> JSONObject:
    return server.until_job(
        "pi", lambda job: f"absent-{number}" in condition(job, "Running").get("message", ""), f"refusal {number}"
    )


def test_A1_10_B250_a_job_that_is_refused_again_and_again_is_created_once(server: Server, monitoring_port: int) -> None:
    before = count_of(monitoring_port, "created")
    server.submit(a_raw_job(worker={"template": refused_template(0)}))
    job = until_refused(server, 0)
    assert condition(job, "Running")["reason"] == "FailedCreate"
    server.until_launcher_job(LAUNCHER)
    for number in (1, 2):
        server.patch(MPI_JOBS, "pi", worker_template(refused_template(number)))
        assert until_refused(server, number)["status"]["startTime"] == job["status"]["startTime"]
    assert count_of(monitoring_port, "created") - before == 1
    assert told(server) == {"MPIJobCreated": 1, "FailedCreate": 1}


def test_A3_1_an_edit_does_not_wait_for_the_back_off_of_refusals(server: Server) -> None:
    server.submit(a_raw_job(worker={"template": refused_template(0)}))
    until_refused(server, 0)
    for number in range(1, 8):  # after so many refusals the next attempt is more than a minute away
        server.patch(MPI_JOBS, "pi", worker_template(refused_template(number)))
        until_refused(server, number)
    server.patch(MPI_JOBS, "pi", worker_template(a_template({"volumeMounts": None})))
    server.until_pods(*WORKERS)
    run(server)


def test_A3_1_updates_of_pods_delay_no_other_job(server: Server) -> None:
    workers = worker_names(20)
    server.submit(a_raw_job(workers=20))
    server.until_pods(*workers)
    # With a budget of ten events a second, and a hundred at once, this would be most of a minute's worth.
    for number in range(25):
        for worker in workers:
            server.patch(PODS, worker, {"metadata": {"annotations": {"number": str(number)}}})
    server.submit(a_raw_job(name="next", workers=1))
    server.until_pods(*workers, "next-worker-0")


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        pytest.param(
            {"launcherCreationPolicy": "Foo"}, "spec.launcherCreationPolicy", id="A4_7 B040 a launcher policy"
        ),
        pytest.param({"launcher": {"restartPolicy": "Always"}}, "Launcher].restartPolicy", id="A4_9 B026 Always"),
        pytest.param({"worker": {"restartPolicy": "ExitCode"}}, "Worker].restartPolicy", id="A4_9 B026 ExitCode"),
        pytest.param({"slotsPerWorker": 0}, "spec.slotsPerWorker", id="A4_9 B029 no slots"),
        pytest.param({"workers": None}, "spec.mpiReplicaSpecs[Worker]", id="A4_9 no ranks at all"),
        pytest.param({"sshAuthMountPath": "ssh"}, "spec.sshAuthMountPath", id="A4_9 a relative mount path"),
        pytest.param({"sshAuthMountPath": "/etc/mpi"}, "spec.sshAuthMountPath", id="A4_9 a reserved mount path"),
        pytest.param(
            {"worker": {"template": a_template(None, volumes=[{"name": "ssh-auth", "emptyDir": {}}])}},
            "Worker].template.spec.volumes[0].name",
            id="A4_9 B044 a reserved volume",
        ),
        pytest.param(
            {"run_policy": {"schedulingPolicy": {"minAvailable": 4}}},
            "spec.runPolicy.schedulingPolicy.minAvailable",
            id="B043 a gang of more than there are",
        ),
    ],
)
def test_a_new_job_that_is_not_valid_is_told_so_and_nothing_is_made(
    server: Server, settle: Fence, fields: dict[str, Any], path: str
) -> None:
    server.submit(a_raw_job(**fields))
    job = server.until_condition("pi", "Created", "False", "ValidationError")
    event = server.until_event("pi", "ValidationError")
    assert path in event["message"]
    assert condition(job, "Created")["message"] == event["message"]
    settle()
    assert [server.find(resource) for resource in (PODS, JOBS, SERVICES, CONFIG_MAPS)] == [[], [], [], []]
    assert told(server) == {"ValidationError": 1}


def test_A2_1_B041_an_unknown_replica_type_is_refused_and_stops_no_other_job(server: Server) -> None:
    broken = a_raw_job(name="broken", workers=1)
    broken["spec"]["mpiReplicaSpecs"]["worker"] = {"template": a_template()}
    server.submit(broken)
    server.until_condition("broken", "Created", "False", "ValidationError")
    assert "spec.mpiReplicaSpecs[worker]" in server.until_event("broken", "ValidationError")["message"]
    submit_running(server)


def test_A4_9_B008_a_worker_entry_without_replicas_is_one_worker(server: Server) -> None:
    job = a_raw_job()
    del job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]
    server.submit(job)
    server.until_launcher_job(LAUNCHER)
    server.until_pods("pi-worker-0")


def test_A4_10_a_scale_that_makes_a_host_name_too_long_is_refused_for_itself(server: Server) -> None:
    worker = names.worker_name(LONG_NAME, 0)
    launcher = submit_running(server, LONG_NAME, 1)
    server.patch(MPI_JOBS, LONG_NAME, scale(11))
    assert "metadata.name" in server.until_event(LONG_NAME, "ValidationError")["message"]
    lost = server.must_get(PODS, worker)
    server.delete(PODS, worker)
    until_replaced(server, lost)
    run_workers(server, worker)
    server.until_condition(LONG_NAME, "Running")
    assert {pod["metadata"]["name"] for pod in server.find(PODS)} == {worker, launcher}
    server.finish_launcher(names.launcher_name(LONG_NAME), launcher)
    server.until_condition(LONG_NAME, "Succeeded")
    assert told(server, LONG_NAME)["ValidationError"] == 1


def test_A4_13_B160_limits_are_edited_while_the_job_runs(server: Server) -> None:
    submit_running(server, run_policy={"activeDeadlineSeconds": 1000})
    server.patch(
        MPI_JOBS,
        "pi",
        {"spec": {"runPolicy": {"activeDeadlineSeconds": 2000, "backoffLimit": 2, "ttlSecondsAfterFinished": 5}}},
    )

    def holds(jobs: dict[str, JSONObject]) -> bool:
        spec = jobs[LAUNCHER]["spec"]
        return (spec.get("activeDeadlineSeconds"), spec.get("backoffLimit")) == (2000, 2)

    found = server.until(JOBS, holds, "the new limits")
    assert "ttlSecondsAfterFinished" not in found[LAUNCHER]["spec"]
