"""Rows of faults.md about which objects are a job's, and what they hold."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from hack.cluster.control_plane import ControlPlane
from informers.resource import Resource
from mpi_operator import names
from mpi_operator.shell.resources import CONFIG_MAPS, JOBS, MPI_JOBS, PODS, SECRETS, SERVICES
from test.builders.jobs import a_raw_job, a_template
from test.integration.operator_process import OperatorProcess
from test.integration.play import (
    LAUNCHER,
    SUSPEND,
    WORKERS,
    Fence,
    audited,
    create_pod,
    hold,
    paused,
    release,
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
from test.integration.server import JSONObject, Server

pytestmark = pytest.mark.usefixtures("shared_operator")

WORKER_LABELS = names.pod_labels("pi", names.ROLE_WORKER)
ONE_PORT = {"ports": [{"port": 80}]}
ONE_CONTAINER = {"containers": [{"name": "x", "image": "x"}]}


def test_A1_1_A1_2_A1_3_pods_with_the_jobs_labels_are_nobodys_workers(server: Server) -> None:
    launcher = submit_running(server, workers=3, runLauncherAsWorker=True)
    create_pod(server, "dbg", WORKER_LABELS)
    create_pod(server, "far", {**WORKER_LABELS, names.LABEL_REPLICA_INDEX: "7"})
    server.patch(MPI_JOBS, "pi", scale(2))
    server.until_pods(*WORKERS, launcher, "dbg", "far")
    until_hosts(server, LAUNCHER, *WORKERS)
    until_active(server, "Worker", 2)


def test_A1_2_foreign_pods_that_are_ready_start_no_launcher(server: Server, settle: Fence) -> None:
    for name in ("dbg", "far"):
        create_pod(server, name, WORKER_LABELS)
    server.submit(a_raw_job(launcherCreationPolicy="WaitForWorkersReady"))
    server.until_pods(*WORKERS, "dbg", "far")
    settle()
    assert server.find(JOBS) == []
    assert server.must_get(MPI_JOBS, "pi")["status"]["replicaStatuses"] == {"Worker": {}}


def test_A1_5_B071_a_deleted_launcher_is_followed_once_its_pod_is_gone(
    control_plane: ControlPlane, server: Server, settle: Fence
) -> None:
    pod = submit_running(server)
    hold(server, pod)
    server.delete(JOBS, LAUNCHER, propagationPolicy="Background")
    server.delete(PODS, pod)
    settle()
    assert server.find(JOBS) == []
    release(server, pod)
    server.until_launcher_job(LAUNCHER)
    settle()
    assert [write.code for write in writes(control_plane, server.namespace) if write[:2] == ("create", "jobs")] == [
        201,
        201,
    ]


def test_A1_8_workers_above_the_replicas_do_not_outlive_a_suspension(server: Server) -> None:
    submit_running(server, workers=4)
    server.patch(MPI_JOBS, "pi", {"spec": {**SUSPEND["spec"], **scale(2)["spec"]}})
    server.suspend_launcher(LAUNCHER)
    server.until_pods()


def test_A1_18_hosts_are_in_order_and_without_those_that_are_told_to_go(server: Server) -> None:
    workers = worker_names(12)
    launcher = submit_running(server, workers=12)
    until_hosts(server, *workers)
    hold(server, *workers[2:])
    server.patch(MPI_JOBS, "pi", scale(2))
    until_hosts(server, *WORKERS)
    server.until_pods(*workers, launcher)


def test_A1_19_a_key_pair_that_is_complete_is_not_replaced(server: Server, settle: Fence) -> None:
    submit_running(server)
    before = server.must_get(SECRETS, "pi-ssh")["data"]
    server.patch(SECRETS, "pi-ssh", {"data": {"x": "eA=="}})
    server.patch(MPI_JOBS, "pi", scale(3))
    server.until(PODS, lambda pods: "pi-worker-2" in pods, "a look at the job")
    settle()
    assert server.must_get(SECRETS, "pi-ssh")["data"] == {**before, "x": "eA=="}


def test_A1_20_A1_22_A1_23_A1_24_what_users_wrote_is_respected(server: Server) -> None:
    own = {"name": "OMPI_MCA_plm_rsh_args", "value": "-p 2222"}
    containers = [{"name": "proxy", "image": "x"}, {"name": "mpi", "image": "x"}]
    template = a_template(None, containers=containers)
    template["metadata"] = {"annotations": {names.ANNOTATION_DEFAULT_CONTAINER: "mpi"}}
    gpu = {"resources": {"limits": {"nvidia.com/gpu": "1"}}, "env": [own]}
    server.submit(
        a_raw_job(
            workers=1,
            launcher={"template": a_template(gpu)},
            worker={"template": template},
            sshAuthMountPath="/root/.ssh/",
        )
    )
    launcher = server.until_launcher_job(LAUNCHER)["spec"]["template"]["spec"]["containers"][0]
    environment = [(each["name"], each.get("value", "")) for each in launcher["env"]]
    assert [value for name, value in environment if name == own["name"]] == [own["value"]]
    assert ("PRTE_MCA_prte_default_hostfile", "/etc/mpi/hostfile") in environment
    assert not [name for name, _ in environment if name.startswith("NVIDIA")]
    worker = server.until_pods("pi-worker-0")["pi-worker-0"]["spec"]
    assert [[mount["name"] for mount in each.get("volumeMounts", ())] for each in worker["containers"]] == [
        [],
        ["ssh-auth"],
    ]
    assert worker["volumes"][0]["secret"]["defaultMode"] == 0o600


def test_A3_2_B132_workers_are_created_in_parallel(control_plane: ControlPlane, server: Server, settle: Fence) -> None:
    server.submit(a_raw_job(workers=40))
    server.until_pods(*worker_names(40))
    settle()
    spans = sorted(
        (event["requestReceivedTimestamp"], event["stageTimestamp"])
        for event in audited(control_plane, server.namespace)
        if (event["verb"], event["objectRef"]["resource"]) == ("create", "pods")
    )
    assert len(spans) == 40
    assert any(later[0] < earlier[1] for earlier, later in pairwise(spans))


def test_A3_8_a_running_launcher_is_told_of_new_hosts_after_they_are_mounted(
    control_plane: ControlPlane, server: Server, settle: Fence
) -> None:
    pod = submit_running(server)
    server.patch(MPI_JOBS, "pi", scale(3))
    run_workers(server, "pi-worker-2")
    until_hosts(server, *worker_names(3))
    annotation = names.ANNOTATION_HOSTS_VERSION
    first = server.until(PODS, lambda pods: annotation in pods[pod]["metadata"].get("annotations", {}), "told")
    server.patch(MPI_JOBS, "pi", scale(2))
    version = first[pod]["metadata"]["annotations"][annotation]
    server.until(PODS, lambda pods: pods[pod]["metadata"]["annotations"][annotation] != version, "told again")
    settle()
    patches = [write for write in writes(control_plane, server.namespace) if write.verb == "patch"]
    told_at = [index for index, write in enumerate(patches) if write.resource == "pods"]
    assert {patches[index].name for index in told_at} == {pod}
    assert all(("configmaps", "pi-config") in {each[1:3] for each in patches[:index]} for index in told_at)


@pytest.mark.parametrize(
    ("resource", "name", "body"),
    [
        pytest.param(CONFIG_MAPS, "pi-config", {}, id="A4_11 a ConfigMap"),
        pytest.param(SECRETS, "pi-ssh", {}, id="A4_11 a Secret"),
        pytest.param(JOBS, LAUNCHER, {"spec": {"template": a_template(None, restartPolicy="Never")}}, id="A4_11 a Job"),
        pytest.param(PODS, "pi-worker-1", {"spec": ONE_CONTAINER}, id="A4_11 a worker's pod"),
    ],
)
def test_a_name_that_is_taken_is_told_of_once_and_waited_for(
    server: Server, resource: Resource, name: str, body: JSONObject
) -> None:
    foreign = server.create(resource, {"metadata": {"name": name}, **body})
    server.submit(a_raw_job())
    server.until_condition("pi", "Running", "False", "ErrResourceExists")
    message = f'Resource "{name}" of Kind "{resource.kind}" already exists and is not managed by MPIJob'
    assert server.until_event("pi", "ErrResourceExists")["message"] == message
    assert server.must_get(resource, name)["metadata"]["resourceVersion"] == foreign["metadata"]["resourceVersion"]
    server.delete(resource, name, gracePeriodSeconds=0, propagationPolicy="Background")
    server.until_launcher_job(LAUNCHER)
    server.until_pods(*WORKERS)
    run_workers(server, *WORKERS)
    server.start_launcher(LAUNCHER)
    server.until_condition("pi", "Running")
    assert told(server)["ErrResourceExists"] == 1


def test_A4_12_what_a_predecessor_left_is_waited_for_without_a_word(server: Server, settle: Fence) -> None:
    launcher = submit_running(server)
    hold(server, *WORKERS, launcher)
    server.delete(MPI_JOBS, "pi")
    old = {pod["metadata"]["uid"] for pod in server.find(PODS)}
    job = server.submit(a_raw_job())
    settle()
    assert {pod["metadata"]["uid"] for pod in server.find(PODS)} == old
    # What the garbage collector does, the pods last.
    server.delete(JOBS, LAUNCHER, propagationPolicy="Background")
    for resource, name in ((SERVICES, "pi"), (CONFIG_MAPS, "pi-config"), (SECRETS, "pi-ssh")):
        server.delete(resource, name)
    held = [server.must_get(PODS, worker) for worker in WORKERS]
    for pod in (*WORKERS, launcher):
        server.delete(PODS, pod)
        release(server, pod)
    for old_pod in held:
        assert until_replaced(server, old_pod)["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    server.until_launcher_job(LAUNCHER)
    server.until_event("pi", "MPIJobCreated")
    assert told(server).keys() <= {"MPIJobCreated", "MPIJobRunning"}


def test_A4_14_a_worker_that_is_gone_already_needs_no_deletion(
    server: Server, shared_operator: OperatorProcess, settle: Fence
) -> None:
    submit_running(server, workers=3)
    key = f"{server.namespace}/pi"
    with paused(shared_operator):
        server.patch(MPI_JOBS, "pi", scale(1))
        server.delete(PODS, "pi-worker-2")
    until_hosts(server, "pi-worker-0")
    settle()
    assert [record["event"] for record in shared_operator.records() if record.get("key") == key] == []


def test_B120_a_service_that_was_changed_is_repaired(server: Server) -> None:
    submit_running(server)
    changed: dict[str, Any] = {"spec": {"selector": {names.LABEL_JOB_NAME: "other"}, "publishNotReadyAddresses": False}}
    server.patch(SERVICES, "pi", changed)

    def is_repaired(services: dict[str, JSONObject]) -> bool:
        spec = services["pi"]["spec"]
        return spec["selector"] == names.child_labels("pi") and bool(spec.get("publishNotReadyAddresses"))

    server.until(SERVICES, is_repaired, "the selector and its addresses")
