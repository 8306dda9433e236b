"""A test's view of an API server, and the roles that no controller plays on a bare control plane."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from clockwork import StopToken
from informers.api import MERGE_PATCH
from informers.errors import NotFound
from informers.resource import Resource
from informers.transport.configuration import load_configuration
from informers.transport.transport import Transport
from mpi_operator.shell.resources import JOBS, MPI_JOBS, PODS

JSONObject = dict[str, Any]
LIMIT_SECONDS = 30
EVENTS = Resource("", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)


class Server:
    """One namespace of an API server, made anew unless told otherwise, as the administrator sees it.

    A context manager. Nothing polls: `until` waits on a watch.
    """

    def __init__(self, kubeconfig: Path, namespace: str, *, is_new: bool = True) -> None:
        self.namespace = namespace
        self._is_new = is_new
        self._transport = Transport(load_configuration(kubeconfig=str(kubeconfig), environ={}))
        self._numbers = itertools.count(1)

    def __enter__(self) -> Self:
        if self._is_new:
            self.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        return self

    def __exit__(self, *_: object) -> None:
        self._transport.close()

    def _path(self, resource: Resource, name: str = "", subresource: str = "") -> str:
        return resource.path(namespace=self.namespace, name=name, subresource=subresource)

    def create(self, resource: Resource, manifest: Mapping[str, Any]) -> JSONObject:
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **manifest}
        answer = self._transport.request("POST", self._path(resource), body=json.dumps(body).encode())
        return dict(json.loads(answer.body))

    def get(self, resource: Resource, name: str) -> JSONObject | None:
        try:
            return dict(json.loads(self._transport.request("GET", self._path(resource, name)).body))
        except NotFound:
            return None

    def must_get(self, resource: Resource, name: str) -> JSONObject:
        """Return an object, waiting for it if it is not there yet."""
        return self.until(resource, lambda found: name in found, f"a {resource.kind} {name}")[name]

    def find(self, resource: Resource) -> list[JSONObject]:
        return list(json.loads(self._transport.request("GET", self._path(resource)).body)["items"])

    def patch(self, resource: Resource, name: str, patch: Mapping[str, Any], subresource: str = "") -> JSONObject:
        path = self._path(resource, name, subresource)
        body = json.dumps(patch).encode()
        return dict(json.loads(self._transport.request("PATCH", path, body=body, content_type=MERGE_PATCH).body))

    def delete(self, resource: Resource, name: str, **options: Any) -> None:
        body = json.dumps({"apiVersion": "v1", "kind": "DeleteOptions", **options}).encode()
        self._transport.request("DELETE", self._path(resource, name), body=body)

    def until(
        self, resource: Resource, holds: Callable[[dict[str, JSONObject]], bool], what: str
    ) -> dict[str, JSONObject]:
        """Wait until `holds` of the namespace's objects by name, and return them; fail after half a minute."""
        answer = json.loads(self._transport.request("GET", self._path(resource)).body)
        objects = {item["metadata"]["name"]: item for item in answer["items"]}
        query = {
            "watch": "1",
            "resourceVersion": answer["metadata"]["resourceVersion"],
            "timeoutSeconds": str(LIMIT_SECONDS),
        }
        if holds(objects):
            return objects
        with self._transport.stream(self._path(resource), query=query, stop=StopToken()) as lines:
            for line in lines:
                event = json.loads(line)
                name = event["object"]["metadata"]["name"]
                if event["type"] == "DELETED":
                    objects.pop(name, None)
                else:
                    objects[name] = event["object"]
                if holds(objects):
                    return objects
        raise AssertionError(f"not in {LIMIT_SECONDS} s: {what}; found {json.dumps(objects, indent=1)[:4000]}")

    # The user's part.

    def submit(self, job: Mapping[str, Any]) -> JSONObject:
        return self.create(MPI_JOBS, {**job, "metadata": {**job["metadata"], "namespace": self.namespace}})

    def until_job(self, name: str, holds: Callable[[JSONObject], bool], what: str) -> JSONObject:
        return self.until(MPI_JOBS, lambda jobs: name in jobs and holds(jobs[name]), what)[name]

    def until_condition(self, name: str, kind: str, status: str = "True", reason: str = "") -> JSONObject:
        """Wait for a condition of the MPIJob and return the job."""

        def holds(job: JSONObject) -> bool:
            found = condition(job, kind)
            return found.get("status") == status and reason in {"", found.get("reason")}

        return self.until_job(name, holds, f"condition {kind}={status} {reason}")

    def events(self, name: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of the events about an object, in the order of their names."""
        found = [event for event in self.find(EVENTS) if event["involvedObject"]["name"] == name]
        return [(event["type"], event["reason"], event["message"]) for event in found]

    def until_event(self, name: str, reason: str) -> JSONObject:
        def matches(event: JSONObject) -> bool:
            return bool(event["involvedObject"]["name"] == name and event["reason"] == reason)

        events = self.until(EVENTS, lambda found: any(map(matches, found.values())), f"event {reason}")
        return next(event for event in events.values() if matches(event))

    # The kubelet's part.

    def until_pods(self, *names: str) -> dict[str, JSONObject]:
        return self.until(PODS, lambda pods: set(pods) == set(names), f"exactly the pods {names}")

    def set_pod(self, name: str, phase: str, *, ready: bool | None = None, **status: Any) -> None:
        is_ready = phase == "Running" if ready is None else ready
        conditions = [{"type": "Ready", "status": "True" if is_ready else "False"}]
        self.patch(PODS, name, {"status": {"phase": phase, "conditions": conditions, **status}}, "status")

    # The Job controller's part.

    def until_launcher_job(self, name: str, *, suspended: bool = False) -> JSONObject:
        def holds(jobs: dict[str, JSONObject]) -> bool:
            return name in jobs and bool(jobs[name]["spec"].get("suspend")) is suspended

        return self.until(JOBS, holds, f"Job {name} with suspend={suspended}")[name]

    def start_launcher(self, name: str, phase: str = "Running") -> str:
        """Make the Job's pod, in that phase, and return its name."""
        launcher_job = self.until_launcher_job(name)
        template = launcher_job["spec"]["template"]
        pod = f"{name}-{next(self._numbers)}"
        owner = {
            "apiVersion": JOBS.api_version,
            "kind": JOBS.kind,
            "name": name,
            "uid": launcher_job["metadata"]["uid"],
            "controller": True,
        }
        given = {key: template["metadata"].get(key, {}) for key in ("labels", "annotations")}
        manifest = {"metadata": {"name": pod, **given, "ownerReferences": [owner]}, "spec": template["spec"]}
        self.create(PODS, manifest)
        started = launcher_job["status"].get("startTime") or now()
        self.patch(JOBS, name, {"status": {"active": 1, "startTime": started}}, "status")
        self.set_pod(pod, phase)
        return pod

    def finish_launcher(self, name: str, pod: str, *, succeeded: bool = True) -> None:
        """Let the pod and its Job end."""
        self.set_pod(pod, "Succeeded" if succeeded else "Failed")
        kinds = ("SuccessCriteriaMet", "Complete") if succeeded else ("FailureTarget", "Failed")
        reason = {} if succeeded else {"reason": "BackoffLimitExceeded", "message": "too many failures"}
        conditions = [{"type": kind, "status": "True", "lastTransitionTime": now(), **reason} for kind in kinds]
        counts = {"succeeded": 1} if succeeded else {"failed": 1}
        end = {"completionTime": now()} if succeeded else {}
        self.patch(JOBS, name, {"status": {"active": 0, **counts, **end, "conditions": conditions}}, "status")

    def suspend_launcher(self, name: str) -> None:
        """Do what the Job controller does once `suspend` is set: the pods go, the status says so."""
        self.until_launcher_job(name, suspended=True)
        for pod in self.find(PODS):
            owners = pod["metadata"].get("ownerReferences", ())
            if any(owner["name"] == name for owner in owners):
                self.delete(PODS, pod["metadata"]["name"], gracePeriodSeconds=0)
        conditions = [{"type": "Suspended", "status": "True", "reason": "JobSuspended", "lastTransitionTime": now()}]
        self.patch(JOBS, name, {"status": {"active": 0, "startTime": None, "conditions": conditions}}, "status")


def condition(job: JSONObject, kind: str) -> JSONObject:
    """The job's condition of that type, empty if it has none."""
    conditions = job.get("status", {}).get("conditions", ())
    return next((dict(each) for each in conditions if each["type"] == kind), {})


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
