"""Whole lives of jobs, with the operator as a process and the test as kubelet and Job controller."""

from __future__ import annotations

import pytest

from informers.resource import Resource
from mpi_operator import names
from mpi_operator.shell.resources import CONFIG_MAPS, JOBS, MPI_JOBS, PODS, SECRETS, SERVICES
from test.builders.jobs import a_raw_job
from test.integration.operator_process import OperatorProcess
from test.integration.server import Server, condition

WORKERS = ("pi-worker-0", "pi-worker-1")


def run_until_running(server: Server, **job: object) -> str:
    """Submit a two-worker job and let it run; return its launcher pod."""
    server.submit(a_raw_job(**job))  # type: ignore[arg-type]
    server.until_pods(*WORKERS)
    for worker in WORKERS:
        server.set_pod(worker, "Running")
    pod = server.start_launcher("pi-launcher")
    server.until_condition("pi", "Running")
    return pod


def test_B055_a_job_gets_all_its_children_and_one_status(server: Server, operator: OperatorProcess) -> None:
    server.submit(a_raw_job())
    server.until_launcher_job("pi-launcher")
    server.until_pods(*WORKERS)
    job = server.until_condition("pi", "Created")
    for resource, name in ((SERVICES, "pi"), (CONFIG_MAPS, "pi-config"), (SECRETS, "pi-ssh")):
        owners = server.must_get(resource, name)["metadata"]["ownerReferences"]
        assert [(owner["kind"], owner["uid"], owner["controller"]) for owner in owners] == [
            ("MPIJob", job["metadata"]["uid"], True)
        ]
    assert job["status"]["startTime"]
    assert server.until_event("pi", "MPIJobCreated")["message"] == f"MPIJob {server.namespace}/pi is created."


def test_B256_a_job_runs_and_succeeds_and_its_workers_go(server: Server, operator: OperatorProcess) -> None:
    pod = run_until_running(server, run_policy={"cleanPodPolicy": "Running"})
    server.finish_launcher("pi-launcher", pod)
    job = server.until_condition("pi", "Succeeded")
    assert condition(job, "Running")["status"] == "False"
    assert job["status"]["completionTime"]
    server.until_pods(pod)
    server.until_event("pi", "MPIJobSucceeded")
    reasons = [reason for _, reason, _ in server.events("pi")]
    assert sorted(reasons) == ["MPIJobCreated", "MPIJobRunning", "MPIJobSucceeded"]


def test_B236_a_job_fails_with_its_launcher(server: Server, operator: OperatorProcess) -> None:
    pod = run_until_running(server)
    server.finish_launcher("pi-launcher", pod, succeeded=False)
    job = server.until_condition("pi", "Failed")
    assert condition(job, "Failed")["reason"].startswith("BackoffLimitExceeded")


def test_B195_B197_B200_a_job_is_suspended_and_resumed(server: Server, operator: OperatorProcess) -> None:
    run_until_running(server)
    server.patch(MPI_JOBS, "pi", {"spec": {"runPolicy": {"suspend": True}}})
    server.suspend_launcher("pi-launcher")
    server.until_pods()
    job = server.until_condition("pi", "Suspended")
    first_start = job["status"]["startTime"]
    server.until_job("pi", lambda job: not job["status"]["replicaStatuses"]["Launcher"].get("active"), "no launcher")
    server.patch(MPI_JOBS, "pi", {"spec": {"runPolicy": {"suspend": False}}})
    job = server.until_condition("pi", "Suspended", "False", "MPIJobResumed")
    assert job["status"]["startTime"] >= first_start
    server.until_launcher_job("pi-launcher", suspended=False)
    server.until_pods(*WORKERS)
    server.until_event("pi", "MPIJobResumed")


def test_A1_1_scaling_down_deletes_the_surplus_worker_only(server: Server, operator: OperatorProcess) -> None:
    server.submit(a_raw_job(workers=3, runLauncherAsWorker=True))
    server.until_pods("pi-worker-0", "pi-worker-1", "pi-worker-2")
    server.patch(MPI_JOBS, "pi", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 2}}}})
    server.until_pods(*WORKERS)
    hosts = f"pi-worker-1.pi.{server.namespace}.svc"
    found = server.until(CONFIG_MAPS, lambda maps: "worker-2" not in maps["pi-config"]["data"]["hostfile"], "two hosts")
    assert hosts in found["pi-config"]["data"]["hostfile"]


def test_A1_4_a_result_is_recorded_before_the_TTL_takes_the_launcher(server: Server, operator: OperatorProcess) -> None:
    pod = run_until_running(server, run_policy={"ttlSecondsAfterFinished": 0})
    assert "ttlSecondsAfterFinished" not in server.must_get(JOBS, "pi-launcher")["spec"]
    server.finish_launcher("pi-launcher", pod)
    server.until(JOBS, lambda jobs: "pi-launcher" not in jobs, "the launcher Job is gone")
    assert condition(server.must_get(MPI_JOBS, "pi"), "Succeeded")["status"] == "True"


def test_A1_7_a_disrupted_worker_is_replaced(server: Server, operator: OperatorProcess) -> None:
    run_until_running(server)
    uid = server.must_get(PODS, "pi-worker-1")["metadata"]["uid"]
    server.set_pod("pi-worker-1", "Failed", reason="Evicted", message="the node was low on memory")
    server.until(
        PODS,
        lambda pods: "pi-worker-1" in pods and pods["pi-worker-1"]["metadata"]["uid"] != uid,
        "a new pi-worker-1",
    )
    assert server.until_event("pi", "MPIJobEvicted")["type"] == "Warning"
    server.until_condition("pi", "Running", "False", "WorkersNotRunning")


def test_B045_an_invalid_job_is_told_so_and_starts_once_it_is_valid(server: Server, operator: OperatorProcess) -> None:
    server.submit(a_raw_job(launcher={"replicas": 2}))
    server.until_condition("pi", "Created", "False", "ValidationError")
    assert "spec.mpiReplicaSpecs[Launcher].replicas" in server.until_event("pi", "ValidationError")["message"]
    assert server.find(PODS) == []
    server.patch(MPI_JOBS, "pi", {"spec": {"mpiReplicaSpecs": {"Launcher": {"replicas": 1}}}})
    server.until_condition("pi", "Created")
    server.until_pods(*WORKERS)


def test_B057_A4_11_a_foreign_object_with_a_childs_name_is_left_alone(
    server: Server, operator: OperatorProcess
) -> None:
    foreign = server.create(SERVICES, {"metadata": {"name": "pi"}, "spec": {"ports": [{"port": 80}]}})
    server.submit(a_raw_job())
    server.until_condition("pi", "Running", "False", "ErrResourceExists")
    message = 'Resource "pi" of Kind "Service" already exists and is not managed by MPIJob'
    assert server.until_event("pi", "ErrResourceExists")["message"] == message
    assert server.must_get(SERVICES, "pi")["metadata"]["uid"] == foreign["metadata"]["uid"]
    server.delete(SERVICES, "pi")
    server.until_pods(*WORKERS)


def test_B050_a_job_of_another_manager_is_not_touched(server: Server, operator: OperatorProcess) -> None:
    server.submit(a_raw_job(name="theirs", run_policy={"managedBy": "kueue.x-k8s.io/multikueue"}))
    server.submit(a_raw_job())
    server.until_condition("pi", "Created")
    assert "status" not in server.must_get(MPI_JOBS, "theirs")
    assert server.get(SERVICES, "theirs") is None


def test_A1_10_what_the_server_refuses_is_recorded(server: Server, operator: OperatorProcess) -> None:
    broken = {
        "template": {
            "spec": {"containers": [{"name": "w", "image": "x", "volumeMounts": [{"name": "no", "mountPath": "/no"}]}]}
        }
    }
    server.submit(a_raw_job(worker=broken))
    job = server.until_condition("pi", "Running", "False", "FailedCreate")
    assert condition(job, "Created")["status"] == "True"
    assert "Pod pi-worker-0" in condition(job, "Running")["message"]
    assert server.until_event("pi", "FailedCreate")["type"] == "Warning"


@pytest.mark.parametrize(
    ("resource", "name"),
    [(SERVICES, "pi"), (CONFIG_MAPS, "pi-config"), (JOBS, "pi-launcher")],
    ids=["B084 a Service", "B084 a ConfigMap", "B084 a Job"],
)
def test_a_child_that_lost_its_labels_is_adopted(
    server: Server, operator: OperatorProcess, resource: Resource, name: str
) -> None:
    label = names.LABEL_OPERATOR_NAME
    server.submit(a_raw_job())
    server.until_pods(*WORKERS)
    server.until_condition("pi", "Created")
    uid = server.must_get(resource, name)["metadata"]["uid"]
    server.patch(resource, name, {"metadata": {"labels": {label: None}}})
    found = server.until(
        resource, lambda found: label in found[name]["metadata"].get("labels", {}), "the label is back"
    )
    assert found[name]["metadata"]["uid"] == uid
