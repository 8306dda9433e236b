"""What tests of whole life cycles do over and over, and what they read from the audit log."""

from __future__ import annotations

import itertools
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from hack.cluster.control_plane import ControlPlane
from informers.resource import Resource
from mpi_operator import names
from mpi_operator.shell.resources import CONFIG_MAPS, JOBS, MPI_JOBS, PODS
from test.builders.jobs import a_raw_job
from test.integration.operator_process import OperatorProcess
from test.integration.server import EVENTS, JSONObject, Server, now

LAUNCHER = "pi-launcher"
WORKERS = ("pi-worker-0", "pi-worker-1")
SUSPEND = {"spec": {"runPolicy": {"suspend": True}}}
RESUME = {"spec": {"runPolicy": {"suspend": False}}}
HOLD = "test.example.com/hold"
CHILDREN = (("services", "pi"), ("configmaps", "pi-config"), ("secrets", "pi-ssh"), ("jobs", LAUNCHER))


def worker_names(count: int, job: str = "pi") -> tuple[str, ...]:
    """The names of a job's workers."""
    return tuple(names.worker_name(job, ordinal) for ordinal in range(count))


def an_hour_ago() -> str:
    """A time that nothing in a test happens at by itself."""
    return (datetime.now(UTC) - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def scale(replicas: int) -> JSONObject:
    """The user's patch for so many workers."""
    return {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": replicas}}}}


def submit_running(server: Server, name: str = "pi", workers: int = 2, **job: Any) -> str:
    """Submit a job and let its pods run until it is Running; return its launcher pod."""
    server.submit(a_raw_job(name=name, workers=workers, **job))
    return run(server, name, workers)


def run(server: Server, name: str = "pi", workers: int = 2) -> str:
    """Let a job's pods run until it is Running; return its launcher pod."""
    run_workers(server, *worker_names(workers, name))
    pod = server.start_launcher(names.launcher_name(name))
    server.until_condition(name, "Running")
    return pod


def run_workers(server: Server, *workers: str) -> None:
    """Wait for these workers and let them run."""
    server.until(PODS, lambda pods: set(workers) <= set(pods), f"the workers {workers}")
    for worker in workers:
        server.set_pod(worker, "Running")


def until_gone(server: Server, resource: Resource, name: str) -> None:
    """Wait until there is no such object."""
    server.until(resource, lambda found: name not in found, f"no {resource.kind} {name}")


def until_replaced(server: Server, pod: JSONObject) -> JSONObject:
    """Wait until another pod has the name of this one, and return it."""
    name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
    found = server.until(
        PODS, lambda pods: name in pods and pods[name]["metadata"]["uid"] != uid, f"another pod {name}"
    )
    return found[name]


def until_hosts(server: Server, *hosts: str) -> None:
    """Wait until discover_hosts.sh of job pi lists exactly these pods."""
    lines = [f"echo {host}.pi.{server.namespace}.svc\n" for host in hosts]
    wanted = "".join(["#!/bin/sh\n", *lines])
    server.until(CONFIG_MAPS, lambda maps: maps["pi-config"]["data"]["discover_hosts.sh"] == wanted, wanted)


def until_active(server: Server, role: str, count: int) -> JSONObject:
    """Wait until the status of job pi counts so many active pods of a role, and return the job."""

    def holds(job: JSONObject) -> bool:
        return bool(job.get("status", {}).get("replicaStatuses", {}).get(role, {}).get("active", 0) == count)

    return server.until_job("pi", holds, f"{count} active of {role}")


def a_container_status(*, exit_code: int | None, restarts: int = 0, message: str = "", **times: str) -> JSONObject:
    """The status of the main container: ended with a code, or running."""
    ended = {"exitCode": exit_code, "reason": "Error", "message": message, **times}
    state = {"running": {}} if exit_code is None else {"terminated": ended}
    ready = exit_code is None
    return {"name": "mpi", "image": "x", "imageID": "", "ready": ready, "restartCount": restarts, "state": state}


def fail_pod(server: Server, pod: str, exit_code: int = 3, message: str = "", at: str = "") -> None:
    """Let a pod's container end by its own failure."""
    status = a_container_status(exit_code=exit_code, message=message, finishedAt=at or now())
    server.set_pod(pod, "Failed", containerStatuses=[status])


def end_launcher_job(server: Server, kind: str, *, at: str = "", name: str = LAUNCHER, **condition: str) -> None:
    """Let the Job controller report Complete or Failed, the pods being what they are."""
    first = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
    time = at or now()
    conditions = [{"type": each, "status": "True", "lastTransitionTime": time, **condition} for each in (first, kind)]
    status: JSONObject = {"active": 0, "conditions": conditions}
    if kind == "Complete":
        status |= {"succeeded": 1, "completionTime": time}
    server.patch(JOBS, name, {"status": status}, "status")


def hold(server: Server, *pods: str) -> None:
    """Let pods stay, terminating, when they are deleted."""
    for pod in pods:
        server.patch(PODS, pod, {"metadata": {"finalizers": [HOLD]}})


def release(server: Server, *pods: str) -> None:
    """Let terminating pods go."""
    for pod in pods:
        server.patch(PODS, pod, {"metadata": {"finalizers": None}})


def patch_conditions(server: Server, kind: str, **fields: str) -> None:
    """Change a condition of job pi, as nobody but a test does."""
    job = server.must_get(MPI_JOBS, "pi")
    conditions = [{**each, **(fields if each["type"] == kind else {})} for each in job["status"]["conditions"]]
    server.patch(MPI_JOBS, "pi", {"status": {"conditions": conditions}}, "status")


def create_pod(server: Server, name: str, labels: Mapping[str, str]) -> JSONObject:
    """Create a Running and Ready pod of nobody."""
    spec = {"containers": [{"name": "x", "image": "x"}]}
    created = server.create(PODS, {"metadata": {"name": name, "labels": dict(labels)}, "spec": spec})
    server.set_pod(name, "Running")
    return created


def told(server: Server, name: str = "pi") -> Counter[str]:
    """How often each reason was told of an object, repetitions of one Event included."""
    reasons: Counter[str] = Counter()
    for event in server.find(EVENTS):
        if event["involvedObject"]["name"] == name:
            reasons[event["reason"]] += event.get("count") or 1
    return reasons


@contextmanager
def paused(operator: OperatorProcess) -> Iterator[None]:
    """Stop the operator's threads for a moment, so that it sees all that happens meanwhile at one go."""
    operator.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        operator.signal(signal.SIGCONT)


class Write(NamedTuple):
    """A write of the operator, as audited: `resource` with its subresource, `name` empty for a create."""

    verb: str
    resource: str
    name: str
    code: int


def writes(plane: ControlPlane, namespace: str) -> list[Write]:
    """All writes of operators in a namespace, refused ones too, in their order."""
    return [_write(event) for event in audited(plane, namespace) if event["verb"] not in {"get", "list", "watch"}]


def audited(plane: ControlPlane, namespace: str) -> Iterator[dict[str, Any]]:
    """All requests of operators in a namespace."""
    return (event for event in plane.audit_events() if event.get("objectRef", {}).get("namespace") == namespace)


def _write(event: Mapping[str, Any]) -> Write:
    target = event["objectRef"]
    resource = "/".join(filter(None, (target["resource"], target.get("subresource"))))
    return Write(event["verb"], resource, target.get("name", ""), event["responseStatus"]["code"])


def is_worker_counted(job: JSONObject) -> bool:
    """Whether the status says that one worker runs."""
    return bool(job["status"].get("replicaStatuses", {}).get("Worker", {}).get("active") == 1)


class Fence:
    """Waits until the operator has had its look at all that happened before: it does a job's work meanwhile.

    Updates of pods are gathered before they are looked at, so it is a pod that is updated last, and seen to be.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._numbers = itertools.count(1)

    def __call__(self) -> None:
        name = f"fence-{next(self._numbers)}"
        self._server.submit(a_raw_job(name=name, workers=1, run_policy={"suspend": True}))
        self._server.until_condition(name, "Suspended")
        self._server.patch(MPI_JOBS, name, RESUME)
        self._server.until_condition(name, "Suspended", "False")
        self._server.until_launcher_job(names.launcher_name(name))
        worker = names.worker_name(name, 0)
        self._server.until(PODS, lambda pods: worker in pods, f"pod {worker}")
        self._server.set_pod(worker, "Running")
        self._server.until_job(name, is_worker_counted, "a worker that runs")
        self._server.delete(MPI_JOBS, name)
