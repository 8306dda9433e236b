"""Jobs that the Go operator left in every state: its children carry only its labels (lifecycle.md 2, B084, A2.13)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from hack.cluster.control_plane import ControlPlane
from informers.resource import Resource
from mpi_operator import names
from mpi_operator.shell.resources import CONFIG_MAPS, JOBS, MPI_JOBS, PODS, SECRETS, SERVICES
from mpi_operator.ssh_key import generate_pair
from test.builders.jobs import a_raw_job, a_template
from test.integration.conftest import ACCOUNT, GROUPS, LOCK_NAMESPACE
from test.integration.operator_process import LEADING, OperatorProcess
from test.integration.play import Fence, an_hour_ago, end_launcher_job, told, worker_names, writes
from test.integration.server import JSONObject, Server, condition

WAITING: dict[str, Any] = {"launcherCreationPolicy": "WaitForWorkersReady"}
CREATED = ("Created", "True", "MPIJobCreated")
RUNNING = ("Running", "True", "MPIJobRunning")
NOT_RUNNING = ("Running", "False", "MPIJobRunning")
SUSPENDED = (CREATED, ("Suspended", "True", "MPIJobSuspended"), ("Running", "False", "MPIJobSuspended"))
STOPPED = {"conditions": [{"type": "Suspended", "status": "True", "reason": "JobSuspended"}]}


class GoOperator:
    """Leaves jobs and children as the Go operator, v0.8, makes them."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._uids: dict[str, str] = {}

    def submit(self, name: str, **job: Any) -> None:
        self._uids[name] = self._server.submit(a_raw_job(name=name, **job))["metadata"]["uid"]

    def metadata(self, job: str, name: str, labels: Mapping[str, str] | None = None) -> JSONObject:
        owner = {
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "name": job,
            "uid": self._uids[job],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        return {"name": name, "labels": dict(labels or {"app": job}), "ownerReferences": [owner]}

    def create_what_pods_mount(self, job: str, workers: int = 2) -> None:
        hosts = [f"{worker}.{job}.{self._server.namespace}.svc" for worker in worker_names(workers, job)]
        files = {"hostfile": "".join(f"{host} slots=1\n" for host in hosts), "discover_hosts.sh": "#!/bin/sh\n"}
        service = {"clusterIP": "None", "selector": names.child_labels(job)}
        self._server.create(SERVICES, {"metadata": self.metadata(job, job), "spec": service})
        self._server.create(CONFIG_MAPS, {"metadata": self.metadata(job, f"{job}-config"), "data": files})
        pair = generate_pair()
        keys = {"ssh-privatekey": pair.private_key, "ssh-publickey": pair.public_key}
        self._server.create(
            SECRETS,
            {
                "metadata": self.metadata(job, f"{job}-ssh"),
                "type": "kubernetes.io/ssh-auth",
                "data": {key: b64encode(value).decode() for key, value in keys.items()},
            },
        )

    def create_workers(self, job: str, *ordinals: int, phase: str = "Running") -> None:
        for ordinal in ordinals:
            labels = {**names.pod_labels(job, names.ROLE_WORKER), names.LABEL_REPLICA_INDEX: str(ordinal)}
            name = names.worker_name(job, ordinal)
            spec = a_template(None, restartPolicy="Never", hostname=name, subdomain=job)["spec"]
            self._server.create(PODS, {"metadata": self.metadata(job, name, labels), "spec": spec})
            if phase != "Pending":
                self._server.set_pod(name, phase)

    def create_launcher(self, job: str, *, is_running: bool = True, **spec: Any) -> str:
        """Create the Job, and its pod if it runs; return the pod's name."""
        template = a_template(None, restartPolicy="OnFailure", hostname=f"{job}-launcher", subdomain=job)
        template["metadata"] = {"labels": names.pod_labels(job, names.ROLE_LAUNCHER)}
        name = names.launcher_name(job)
        self._server.create(JOBS, {"metadata": self.metadata(job, name), "spec": {"template": template, **spec}})
        return self._server.start_launcher(name) if is_running else ""

    def write_status(self, job: str, *conditions: tuple[str, str, str], **fields: Any) -> None:
        time = an_hour_ago()
        listed = [
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": f"{job} as the Go operator says",
                "lastTransitionTime": time,
                "lastUpdateTime": time,
            }
            for kind, status, reason in conditions
        ]
        status = {"conditions": listed, "startTime": time, **fields}
        self._server.patch(MPI_JOBS, job, {"status": status}, "status")

    def leave_running(self, job: str, workers: int = 2, **spec: Any) -> str:
        """Leave a job that runs, as far as its status says; return its launcher pod."""
        self.submit(job, workers=workers, **spec)
        self.create_what_pods_mount(job, workers)
        self.create_workers(job, *range(workers))
        pod = self.create_launcher(job, ttlSecondsAfterFinished=60)
        self.write_status(
            job, CREATED, RUNNING, replicaStatuses={"Launcher": {"active": 1}, "Worker": {"active": workers}}
        )
        return pod


def leave_everything(server: Server) -> None:
    """Leave one job in each state, with the state for its name."""
    go = GoOperator(server)
    go.submit("unseen")
    go.submit("halfway")
    go.create_what_pods_mount("halfway")
    go.create_workers("halfway", 0, phase="Pending")
    go.submit("pending")
    go.create_what_pods_mount("pending")
    go.create_workers("pending", 0, 1, phase="Pending")
    go.create_launcher("pending", is_running=False)
    go.write_status("pending", CREATED, replicaStatuses={"Launcher": {}, "Worker": {}})
    go.submit("waiting", **WAITING)
    go.create_what_pods_mount("waiting")
    go.create_workers("waiting", 0, 1)
    go.write_status("waiting", CREATED, replicaStatuses={"Worker": {"active": 2}})
    go.leave_running("running", run_policy={"cleanPodPolicy": "Running"})
    go.leave_running("surplus", workers=3)
    server.patch(MPI_JOBS, "surplus", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 1}}}})
    go.leave_running("suspending")
    server.patch(MPI_JOBS, "suspending", {"spec": {"runPolicy": {"suspend": True}}})
    for job, is_suspended in (("suspended", True), ("resuming", False)):
        go.submit(job, run_policy={"suspend": is_suspended})
        go.create_what_pods_mount(job)
        go.create_launcher(job, is_running=False, suspend=True)
        server.patch(JOBS, f"{job}-launcher", {"status": STOPPED}, "status")
        go.write_status(job, *SUSPENDED, replicaStatuses={"Launcher": {}, "Worker": {}})
    pod = go.leave_running("unrecorded", run_policy={"cleanPodPolicy": "Running"})
    server.finish_launcher("unrecorded-launcher", pod)
    for job, outcome in (("succeeded", "Succeeded"), ("failed", "Failed")):
        pod = go.leave_running(job)
        server.finish_launcher(f"{job}-launcher", pod, succeeded=outcome == "Succeeded")
        counts = {"Launcher": {outcome.lower(): 1}, "Worker": {}}
        ended = (CREATED, NOT_RUNNING, (outcome, "True", f"MPIJob{outcome}"))
        go.write_status(job, *ended, completionTime=an_hour_ago(), replicaStatuses=counts)
    go.leave_running("evicted", run_policy={"cleanPodPolicy": "Running"})
    server.set_pod("evicted-worker-1", "Failed", reason="Evicted")
    go.write_status("evicted", CREATED, NOT_RUNNING, ("Failed", "True", "MPIJobEvicted"))


@pytest.fixture(scope="module")
def server(control_plane: ControlPlane) -> Iterator[Server]:
    """A namespace with a job in each state, before our operator is started."""
    with Server(control_plane.kubeconfig, "adoption") as server:
        leave_everything(server)
        yield server


@pytest.fixture(scope="module")
def before(server: Server) -> dict[str, JSONObject]:
    """All children as the Go operator left them, by kind and name."""
    return snapshot(server)


@pytest.fixture(scope="module", autouse=True)
def adopter(control_plane: ControlPlane, before: dict[str, JSONObject]) -> Iterator[OperatorProcess]:
    """Our operator, which takes over."""
    assert before
    kubeconfig = control_plane.user_kubeconfig(ACCOUNT, GROUPS)
    with OperatorProcess(f"--lock-namespace={LOCK_NAMESPACE}", kubeconfig=kubeconfig) as process:
        process.await_log(LEADING)
        yield process
        assert process.stop() == 0
        assert [record for record in process.records() if record["level"] in {"error", "critical"}] == []


@pytest.fixture(scope="module")
def settle(control_plane: ControlPlane) -> Iterator[Fence]:
    """Wait until the operator has looked at all that has happened."""
    with Server(control_plane.kubeconfig, "adoption-fence") as server:
        yield Fence(server)


def snapshot(server: Server) -> dict[str, JSONObject]:
    return {
        f"{resource.kind} {found['metadata']['name']}": found
        for resource in (SERVICES, CONFIG_MAPS, SECRETS, JOBS, PODS)
        for found in server.find(resource)
    }


def children_of(job: str, found: Mapping[str, JSONObject]) -> dict[str, str]:
    """The uids of a job's children."""
    return {key: each["metadata"]["uid"] for key, each in found.items() if key.split(" ")[1].split("-")[0] == job}


def until_adopted(server: Server, job: str) -> None:
    """Wait until everything of a job that is cached carries the operator's labels."""
    wanted = names.child_labels(job).items()
    fixed: tuple[tuple[Resource, str], ...] = (
        (SERVICES, job),
        (CONFIG_MAPS, f"{job}-config"),
        (JOBS, names.launcher_name(job)),
    )
    for resource, name in fixed:
        server.until(
            resource,
            lambda found, name=name: name in found and wanted <= found[name]["metadata"].get("labels", {}).items(),  # type: ignore[misc]
            f"{name} has our labels",
        )


def run(server: Server, job: str, workers: int = 2) -> str:
    """Let the pods of a job run, and return the launcher's."""
    for worker in worker_names(workers, job):
        server.until(PODS, lambda pods, worker=worker: worker in pods, worker)  # type: ignore[misc]
        server.set_pod(worker, "Running")
    pod = server.start_launcher(names.launcher_name(job))
    server.until_condition(job, "Running")
    return pod


@pytest.mark.parametrize("job", ["unseen", "halfway"])
def test_a_job_that_was_not_begun_or_begun_only_is_run(server: Server, before: dict[str, JSONObject], job: str) -> None:
    run(server, job)
    assert children_of(job, before).items() <= children_of(job, snapshot(server)).items()
    server.until_event(job, "MPIJobRunning")
    assert told(server, job) == {"MPIJobCreated": 1, "MPIJobRunning": 1}


def test_B084_a_pending_job_is_adopted_and_runs_with_the_pods_that_it_has(
    server: Server, before: dict[str, JSONObject]
) -> None:
    until_adopted(server, "pending")
    run(server, "pending")
    assert children_of("pending", before).items() <= children_of("pending", snapshot(server)).items()
    server.until_event("pending", "MPIJobRunning")
    assert told(server, "pending") == {"MPIJobRunning": 1}


def test_a_job_that_waited_for_its_workers_gets_its_launcher(server: Server, before: dict[str, JSONObject]) -> None:
    server.until_launcher_job("waiting-launcher")
    assert children_of("waiting", before).items() <= children_of("waiting", snapshot(server)).items()


def test_B084_B141_a_running_job_is_adopted_untouched_loses_the_TTL_and_ends_as_any_other(
    server: Server, before: dict[str, JSONObject], settle: Fence
) -> None:
    until_adopted(server, "running")
    job = server.until(
        JOBS, lambda jobs: "ttlSecondsAfterFinished" not in jobs["running-launcher"]["spec"], "no TTL of its own"
    )["running-launcher"]
    settle()
    assert children_of("running", snapshot(server)) == children_of("running", before)
    assert server.must_get(SECRETS, "running-ssh")["data"] == before["Secret running-ssh"]["data"]
    assert job["spec"]["template"] == before["Job running-launcher"]["spec"]["template"]
    assert told(server, "running") == {}
    (pod,) = (key.split(" ")[1] for key in before if key.startswith("Pod running-launcher"))
    server.finish_launcher("running-launcher", pod)
    server.until_condition("running", "Succeeded")
    server.until(PODS, lambda pods: not {*worker_names(2, "running")} & set(pods), "no workers")
    server.until_event("running", "MPIJobSucceeded")
    assert told(server, "running") == {"MPIJobSucceeded": 1}


def test_A1_8_workers_above_the_replicas_go(server: Server, before: dict[str, JSONObject]) -> None:
    server.until(PODS, lambda pods: not {"surplus-worker-1", "surplus-worker-2"} & set(pods), "one worker")
    after = children_of("surplus", snapshot(server))
    assert children_of("surplus", before).items() >= after.items()
    assert "Pod surplus-worker-0" in after


def test_a_job_that_was_being_suspended_is_suspended(server: Server) -> None:
    server.suspend_launcher("suspending-launcher")
    server.until_condition("suspending", "Suspended")
    server.until(PODS, lambda pods: not [name for name in pods if name.startswith("suspending")], "no pods")
    server.until_event("suspending", "MPIJobSuspended")
    assert told(server, "suspending") == {"MPIJobSuspended": 1}


def test_a_suspended_job_stays_so_and_is_resumed_with_a_launcher_of_its_present_template(
    server: Server, before: dict[str, JSONObject], settle: Fence
) -> None:
    until_adopted(server, "suspended")
    settle()
    assert children_of("suspended", snapshot(server)) == children_of("suspended", before)
    server.patch(MPI_JOBS, "suspended", {"spec": {"runPolicy": {"suspend": False}}})
    run(server, "suspended")
    server.until_event("suspended", "MPIJobRunning")
    assert told(server, "suspended") == {"MPIJobResumed": 1, "MPIJobRunning": 1}


def test_a_job_that_was_being_resumed_is_resumed(server: Server) -> None:
    run(server, "resuming")
    server.until_event("resuming", "MPIJobRunning")
    assert told(server, "resuming") == {"MPIJobResumed": 1, "MPIJobRunning": 1}


def test_A1_4_a_result_that_was_not_recorded_is_recorded(server: Server) -> None:
    server.until_condition("unrecorded", "Succeeded")
    server.until(PODS, lambda pods: not {*worker_names(2, "unrecorded")} & set(pods), "no workers")
    server.until_event("unrecorded", "MPIJobSucceeded")
    assert told(server, "unrecorded") == {"MPIJobSucceeded": 1}


@pytest.mark.parametrize("job", ["succeeded", "failed"])
def test_A4_1_a_finished_job_keeps_all_but_its_counts(
    server: Server, before: dict[str, JSONObject], settle: Fence, job: str
) -> None:
    counted = server.until_job(
        job, lambda found: found["status"]["replicaStatuses"]["Worker"] == {"active": 2}, "counts of what is there"
    )
    settle()
    assert children_of(job, snapshot(server)) == children_of(job, before)
    assert {each["message"] for each in counted["status"]["conditions"]} == {f"{job} as the Go operator says"}
    assert told(server, job) == {}


def test_A1_6_B220_a_job_that_failed_by_eviction_is_cleaned_up_and_stays_failed(server: Server, settle: Fence) -> None:
    server.until(PODS, lambda pods: "evicted-worker-0" not in pods, "no worker that runs")
    end_launcher_job(server, "Complete", name="evicted-launcher")
    settle()
    job = server.must_get(MPI_JOBS, "evicted")
    assert condition(job, "Failed")["status"] == "True"
    assert condition(job, "Succeeded") == {}
    assert told(server, "evicted") == {}


def test_nothing_is_asked_for_in_vain_but_children_of_a_job_without_a_status(
    control_plane: ControlPlane, server: Server, settle: Fence
) -> None:
    settle()
    refused = [write for write in writes(control_plane, server.namespace) if write.code not in {200, 201}]
    children = {("configmaps", "halfway-config"), ("services", "halfway"), ("secrets", "halfway-ssh")}
    assert {(write.verb, write.code) for write in refused} <= {("create", 409)}
    assert {(write.resource, write.name) for write in refused} <= children
