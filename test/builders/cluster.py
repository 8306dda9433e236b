"""What the rest of a cluster does to a World: the Job controller, kubelets, nodes, and people."""

from __future__ import annotations

from typing import Any

from mpi_operator import names
from test.builders.jobs import UID, JSONObject
from test.builders.world import TERMINAL, World


def control_job(world: World) -> None:
    """One sync of the Job controller (podReplacementPolicy Failed)."""
    job = world.launcher_job
    if job is None:
        return
    status: JSONObject = job.setdefault("status", {})
    if any(_holds(status, kind) for kind in ("Complete", "Failed")):
        return
    before = repr(job)
    pods = world.pods(job["metadata"]["uid"])
    active = [pod for pod in pods if pod["status"]["phase"] not in TERMINAL]
    phases = [pod["status"]["phase"] for pod in pods]
    status["failed"] = max(status.get("failed", 0), phases.count("Failed"))
    staying = [pod for pod in active if "deletionTimestamp" not in pod["metadata"]]
    if "Succeeded" in phases:
        status |= {"succeeded": 1, "completionTime": world.stamp(), "active": 0}
        _set(world, status, "Complete", "")
    elif status["failed"] > job["spec"]["backoffLimit"] or _restarts(pods) >= max(job["spec"]["backoffLimit"], 1):
        for pod in staying:
            world.delete("Pod", pod["metadata"]["name"])
        _set(world, status, "Failed", "BackoffLimitExceeded")
    elif job["spec"].get("suspend"):
        for pod in staying:
            world.delete("Pod", pod["metadata"]["name"])
        _set(world, status, "Suspended", "JobSuspended")
    else:
        _unset(status, "Suspended")
        status.setdefault("startTime", world.stamp())
        if not active:
            _start_launcher(world, job)
    remaining = [pod for pod in world.pods(job["metadata"]["uid"]) if pod["status"]["phase"] not in TERMINAL]
    status["active"] = len([pod for pod in remaining if "deletionTimestamp" not in pod["metadata"]])
    status["terminating"] = len(remaining) - status["active"]
    if repr(job) != before:
        world.touch(job)


def _restarts(pods: list[JSONObject]) -> int:
    statuses = [each for pod in pods for each in pod["status"].get("containerStatuses", [])]
    restarts: int = sum(each.get("restartCount", 0) for each in statuses)
    return restarts


def _start_launcher(world: World, job: JSONObject) -> None:
    others = [pod for pod in world.launcher_pods if pod["status"]["phase"] not in TERMINAL]
    assert not others, "two launchers run at the same time"
    world.serial += 1
    template = job["spec"]["template"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
    owner |= {"name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}
    metadata = {**template["metadata"], "ownerReferences": [owner], "namespace": "default"}
    metadata["name"] = f"{job['metadata']['name']}-{world.serial}"
    world.insert("Pod", {"metadata": metadata, "spec": template["spec"], "status": {"phase": "Pending"}})


def _holds(status: JSONObject, kind: str) -> bool:
    return any(each["type"] == kind and each["status"] == "True" for each in status.get("conditions", []))


def _set(world: World, status: JSONObject, kind: str, reason: str) -> None:
    if not _holds(status, kind):
        kept = [each for each in status.get("conditions", []) if each["type"] != kind]
        condition = {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": world.stamp()}
        status["conditions"] = [*kept, condition]


def _unset(status: JSONObject, kind: str) -> None:
    if _holds(status, kind):
        status["conditions"] = [
            {**each, "status": "False"} if each["type"] == kind else each for each in status["conditions"]
        ]


def run_pod(world: World, pod: JSONObject) -> None:
    """A kubelet starts a pod."""
    if pod["status"]["phase"] == "Pending" and "deletionTimestamp" not in pod["metadata"]:
        pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        world.touch(pod)


def crash_container(world: World, pod: JSONObject, *, waits: bool) -> None:
    """The main container of a pod that stays fails; the kubelet starts it again, at once or after a wait."""
    if pod["status"]["phase"] != "Running":
        return
    restarts = _restarts([pod])
    pod["status"]["containerStatuses"] = [
        {
            "name": pod["spec"]["containers"][0]["name"],
            "restartCount": restarts if waits else restarts + 1,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}} if waits else {},
            "lastState": {"terminated": {"exitCode": 3, "finishedAt": world.stamp()}},
        }
    ]
    world.touch(pod)


def restart_container(world: World, pod: JSONObject) -> None:
    """The kubelet starts a container that has waited."""
    for status in pod["status"].get("containerStatuses", []):
        if status["state"].get("waiting"):
            status |= {"state": {}, "restartCount": status["restartCount"] + 1}
            world.touch(pod)


def end_pod(world: World, pod: JSONObject, phase: str, **status: Any) -> None:
    """A pod ends; one that was told to go is gone then."""
    if pod["status"]["phase"] in TERMINAL:
        return
    container = pod["spec"]["containers"][0]["name"]
    ended = {"exitCode": 0 if phase == "Succeeded" else 1, "finishedAt": world.stamp()}
    pod["status"] = {
        "phase": phase,
        "containerStatuses": [{"name": container, "state": {"terminated": ended}}],
        **status,
    }
    world.touch(pod)
    if "deletionTimestamp" in pod["metadata"]:
        world.delete("Pod", pod["metadata"]["name"])


def bury_pods(world: World) -> None:
    """Kubelets report that every pod that was told to go has stopped."""
    for pod in world.pods():
        if "deletionTimestamp" in pod["metadata"]:
            end_pod(world, pod, "Failed")


def edit(world: World, **changes: Any) -> None:
    """A user edits the spec: `suspend`, `workers`, `node_selector`, `image`, `backoff_limit` or `launcher_replicas`."""
    job = world.job
    spec = job["spec"]
    launcher = spec["mpiReplicaSpecs"]["Launcher"]
    for key, value in changes.items():
        match key:
            case "suspend":
                spec["runPolicy"]["suspend"] = value
            case "workers":
                spec["mpiReplicaSpecs"]["Worker"]["replicas"] = value
            case "node_selector":
                launcher["template"]["spec"]["nodeSelector"] = value
            case "image":
                launcher["template"]["spec"]["containers"][0]["image"] = value
            case "backoff_limit":
                spec["runPolicy"]["backoffLimit"] = value
            case "launcher_replicas":
                launcher["replicas"] = value
            case _:
                raise AssertionError(key)
    job["metadata"]["generation"] += 1
    world.touch(job)


def occupy(world: World, ordinal: int) -> None:
    """Somebody else makes a pod under a worker's name, if that is free."""
    name = names.worker_name(world.name, ordinal)
    if name not in world.objects["Pod"]:
        metadata = {"name": name, "labels": names.pod_labels(world.name, names.ROLE_WORKER)}
        world.insert(
            "Pod",
            {
                "kind": "Pod",
                "metadata": metadata,
                "spec": {"containers": [{"name": "foreign"}]},
                "status": {"phase": "Running"},
            },
        )


def leave(world: World) -> None:
    """Others take their pods away."""
    for name, pod in list(world.objects["Pod"].items()):
        owners = pod["metadata"].get("ownerReferences", [])
        if not owners:
            world.version += 1
            del world.objects["Pod"][name]
    assert all(pod["metadata"].get("ownerReferences") for pod in world.pods()), UID
