"""A pure world around the planner: objects, a Job controller, kubelets, users, caches that lag, and an operator.

Just enough of Kubernetes to live through a job's life in microseconds. What the real server would refuse, or what
would break a promise of the operator, raises AssertionError at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any

import msgspec

from mpi_operator import actions, names
from mpi_operator.api.observed import ConfigMap, Group, Job, Pod, Secret, Service
from mpi_operator.api.types import MPIJob
from mpi_operator.children.pod_group.choice import find_scheduler
from mpi_operator.plan.live_reads import live_reads
from mpi_operator.plan.outcome import Event, Plan
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from mpi_operator.plan.status_patch import build_status_patch
from test.builders.jobs import UID, JSONObject
from test.builders.pods import NOW

GROUP_KINDS = ("PodGroup", "Workload")
KINDS = ("MPIJob", "Service", "ConfigMap", "Secret", "Job", "Pod", *GROUP_KINDS)
_TYPES: dict[str, Any] = {"MPIJob": MPIJob, "Service": Service, "ConfigMap": ConfigMap, "Job": Job, "Pod": Pod}
_TYPES |= dict.fromkeys(GROUP_KINDS, Group)
_FIXED = {"Service": "service", "ConfigMap": "config_map", "Secret": "secret", "Job": "launcher_job"}
_FIXED |= {"PodGroup": "pod_group", "Workload": "workload"}
_DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")
TERMINAL = ("Succeeded", "Failed")

Objects = dict[str, JSONObject]


class Interrupted(Exception):
    """The operator was killed between two writes."""


class World:
    """One namespace with one MPIJob. `writes` counts the operator's requests; `limit` kills it after so many.

    `gang_version` is the version in which the gang scheduler's API is served, if there is one.
    """

    def __init__(self, job: JSONObject, *, settings: Settings | None = None, gang_version: str = "") -> None:
        self.settings = settings or Settings()
        self.gang_version = gang_version
        scheduler = find_scheduler(self.settings.gang_scheduling, gang_version)
        self.group_kinds = () if scheduler is None else tuple(resource.kind for resource in scheduler.resources)
        self.now: datetime = NOW
        self.objects: dict[str, Objects] = {kind: {} for kind in KINDS}
        self.cached: dict[str, Objects] = {kind: {} for kind in KINDS}
        self.version = 0
        self.serial = 0
        self.announced: set[str] = set()
        self.events: list[Event] = []
        self.counters: list[str] = []
        self.statuses: list[JSONObject] = []
        self.budget: int | None = None
        self.name = job["metadata"]["name"]
        self.insert("MPIJob", {**job, "metadata": {**job["metadata"], "creationTimestamp": self.stamp()}})
        self.see()

    # What the API server does.

    def stamp(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def insert(self, kind: str, manifest: JSONObject) -> JSONObject:
        self.version += 1
        self.serial += 1
        obj: JSONObject = deepcopy(manifest)
        metadata = obj["metadata"]
        metadata.setdefault("uid", f"uid-{self.serial}")
        metadata |= {"resourceVersion": str(self.version)}
        metadata.setdefault("creationTimestamp", self.stamp())
        self.objects[kind][metadata["name"]] = obj
        return obj

    def touch(self, obj: JSONObject) -> None:
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)

    def see(self, *kinds: str) -> None:
        """Bring the caches of these kinds (all by default) up to date."""
        for kind in kinds or KINDS:
            self.cached[kind] = deepcopy(self.objects[kind])

    @property
    def job(self) -> JSONObject:
        return self.objects["MPIJob"][self.name]

    @property
    def launcher_job(self) -> JSONObject | None:
        return self.objects["Job"].get(names.launcher_name(self.name))

    def pods(self, owner_uid: str | None = None) -> list[JSONObject]:
        pods = self.objects["Pod"].values()
        return [pod for pod in pods if owner_uid is None or controller_uid(pod) == owner_uid]

    @property
    def workers(self) -> list[JSONObject]:
        return self.pods(UID)

    @property
    def launcher_pods(self) -> list[JSONObject]:
        return [pod for pod in self.pods() if pod["metadata"].get("ownerReferences", [{}])[0].get("kind") == "Job"]

    # What the operator does.

    def observe(self, live: dict[str, JSONObject] | None = None) -> Snapshot:
        cached = self.cached
        pods = {**cached["Pod"], **{name: obj for name, obj in (live or {}).items() if obj.get("kind") == "Pod"}}
        fields: dict[str, Any] = {}
        for kind, field in _FIXED.items():
            found = self._holder(kind, cached, live or {})
            fields[field] = None if found is None else self._decode(kind, found)
        snapshot = Snapshot(
            job=self._decode("MPIJob", cached["MPIJob"][self.name]),
            pods=tuple(self._decode("Pod", pod) for pod in pods.values()),
            announced=frozenset(self.announced),
            gang_version=self.gang_version,
            group_kinds=self.group_kinds,
            **fields,
        )
        for read in live_reads(snapshot):
            found = self.objects[read.kind].get(read.name)
            if found is not None:
                snapshot = msgspec.structs.replace(snapshot, **{_FIXED[read.kind]: self._decode(read.kind, found)})
        return snapshot

    def _holder(self, kind: str, cached: dict[str, Objects], live: dict[str, JSONObject]) -> JSONObject | None:
        name = {
            "Service": names.service_name,
            "ConfigMap": names.config_map_name,
            "Secret": names.ssh_secret_name,
            "Job": names.launcher_name,
            "PodGroup": names.pod_group_name,
            "Workload": names.pod_group_name,
        }[kind](self.name)
        found = live.get(name)
        if found is not None and found.get("kind") == kind:
            return found
        return None if kind == "Secret" else cached[kind].get(name)

    @staticmethod
    def _decode(kind: str, obj: JSONObject) -> Any:
        if kind == "Secret":
            return msgspec.convert({"metadata": obj["metadata"], "isUsable": obj.get("isUsable", False)}, Secret)
        return msgspec.convert(obj, _TYPES[kind])

    def sync(self, budget: int | None = None) -> Plan:
        """One sync of the operator, killed after `budget` writes if that is given. Own writes are seen afterwards."""
        self.budget = budget
        live: dict[str, JSONObject] = {}
        decided = plan(self.observe(), self.settings, self.now)
        for _ in range(3):
            decided = plan(self.observe(live), self.settings, self.now)
            try:
                held = self._carry_out(decided)
            except Interrupted:
                self.announced.clear()
                self.see()
                return decided
            if not held:
                break
            live |= held
        return decided

    def _carry_out(self, decided: Plan) -> dict[str, JSONObject]:
        stored = self._decode("MPIJob", self.cached["MPIJob"][self.name])
        if decided.status_write == "first" and not self._write_status(stored, decided):
            return {}
        for step in decided.steps:
            held: dict[str, JSONObject] = {}
            is_outdated = False
            for action in single_actions(step):
                holder = self._act(action)
                if holder is not None:
                    held[holder["metadata"]["name"]] = holder
                is_outdated = is_outdated or self._outdated
            if held or is_outdated:
                return held
        if decided.status_write == "last" and not self._write_status(stored, decided):
            return {}
        for event in decided.events:
            self._emit(event)
        return {}

    def _spend(self) -> None:
        if self.budget is not None:
            if self.budget == 0:
                raise Interrupted
            self.budget -= 1

    def _emit(self, event: Event) -> None:
        if event.once in self.announced:
            return
        self.events.append(event)
        if event.once:
            self.announced.add(event.once)

    def _write_status(self, stored: MPIJob, decided: Plan) -> bool:
        self._spend()
        job = self.job
        if job["metadata"]["resourceVersion"] != stored.metadata.resource_version:
            return False
        job["status"] = merge(job.get("status", {}), build_status_patch(stored.status, decided.status))
        decoded: MPIJob = self._decode("MPIJob", job)
        assert decoded.status == decided.status, "the patch does not make the status that was decided"
        self.touch(job)
        self.statuses.append(deepcopy(job["status"]))
        self.see("MPIJob")
        for event in decided.transitions:
            self._emit(event)
        self.counters += decided.counters
        return True

    _outdated = False

    def _act(self, action: actions.Action) -> JSONObject | None:
        self._spend()
        self._outdated = False
        match action:
            case actions.Create():
                return self._create(action.kind, {"kind": action.kind, **action.manifest})
            case actions.EnsureSecret():
                return self._ensure_secret(action)
            case actions.Patch():
                self._patch(action)
            case actions.Delete():
                self._delete(action)
        return None

    def _create(self, kind: str, manifest: dict[str, Any]) -> JSONObject | None:
        name = manifest["metadata"]["name"]
        existing = self.objects[kind].get(name)
        if existing is None:
            if kind == "Pod":
                self._check_worker(manifest)
                manifest["status"] = {"phase": "Pending"}
            if kind == "Job":
                manifest["spec"].setdefault("backoffLimit", 6)
            self.insert(kind, manifest)
            self.see(kind)
            return None
        if controller_uid(existing) == UID and "deletionTimestamp" not in existing["metadata"]:
            self.see(kind)
            return None
        return existing

    def _check_worker(self, manifest: JSONObject) -> None:
        job: MPIJob = self._decode("MPIJob", self.cached["MPIJob"][self.name])
        ordinal = names.worker_ordinal(self.name, manifest["metadata"]["name"])
        assert ordinal is not None, "a pod that is no worker is created"
        assert ordinal < job.spec.worker_replicas, f"worker {ordinal} of {job.spec.worker_replicas} is created"
        assert not job.spec.is_suspended, "a worker of a suspended job is created"
        assert all(self.objects[kind] for kind in self.group_kinds), "a worker is created before its gang is described"

    def _ensure_secret(self, action: actions.EnsureSecret) -> JSONObject | None:
        metadata: JSONObject = {
            "name": action.name,
            "ownerReferences": [{"kind": "MPIJob", "uid": UID, "controller": True}],
        }
        metadata["labels"] = names.child_labels(self.name)
        existing = self.objects["Secret"].get(action.name)
        if action.uid and existing is not None:
            assert controller_uid(existing) == UID, "a foreign Secret is patched"
            existing["isUsable"] = True
            self.touch(existing)
            return None
        return self._create("Secret", {"kind": "Secret", "metadata": metadata, "isUsable": True})

    def _patch(self, action: actions.Patch) -> None:
        existing = self.objects[action.kind].get(action.name)
        version = "" if existing is None else existing["metadata"]["resourceVersion"]
        if (
            existing is None
            or existing["metadata"]["uid"] != action.uid
            or action.resource_version not in {"", version}
        ):
            self._outdated = True
            self.see()
            return
        self._check_ours(existing)
        if action.kind == "Job" and not action.subresource:
            self._check_template(existing, action.patch)
        patch = {"status": action.patch["status"]} if action.subresource else action.patch
        if action.subresource:
            assert existing["spec"].get("suspend"), "startTime of a Job that is not suspended is cleared"
        changed = merge(existing, patch)
        changed["metadata"] = merge(existing["metadata"], dict(action.patch.get("metadata", {})))
        self.objects[action.kind][action.name] = changed
        self.touch(changed)
        self.see(action.kind)

    def _check_template(self, existing: JSONObject, patch: Any) -> None:
        """The server lets directives change only while the Job is suspended and not started (KEP-2926)."""
        template = patch.get("spec", {}).get("template")
        if template:
            assert existing["spec"].get("suspend"), "the template of a running Job is patched"
            assert not existing.get("status", {}).get("startTime"), "the template of a started Job is patched"
            removed = {key for key, value in template.get("metadata", {}).get("labels", {}).items() if value is None}
            assert not removed & set(names.JOB_CONTROLLER_LABELS), "a label of the Job controller is removed"

    def _delete(self, action: actions.Delete) -> None:
        existing = self.objects[action.kind].get(action.name)
        if existing is None or existing["metadata"]["uid"] != action.uid:
            return
        if action.kind != "MPIJob":
            self._check_ours(existing)
        self.delete(action.kind, action.name)
        self.see(action.kind)
        self.see("Pod")

    def _check_ours(self, existing: JSONObject) -> None:
        ours = {UID, *(job["metadata"]["uid"] for job in self.objects["Job"].values() if controller_uid(job) == UID)}
        is_own_launcher_pod = existing in self.launcher_pods and "foreign" not in existing["metadata"]["name"]
        assert controller_uid(existing) in ours or is_own_launcher_pod, f"foreign {existing['metadata']} is touched"

    def delete(self, kind: str, name: str) -> None:
        """Delete: a pod that has not ended terminates first, a Job's pods are told to go, all else is gone at once."""
        existing = self.objects[kind].get(name)
        if existing is None:
            return
        if kind == "Pod" and existing["status"]["phase"] not in TERMINAL:
            if "deletionTimestamp" not in existing["metadata"]:
                existing["metadata"]["deletionTimestamp"] = self.stamp()
                self.touch(existing)
            return
        self.version += 1
        del self.objects[kind][name]
        if kind == "Job":
            for pod in self.pods(existing["metadata"]["uid"]):
                self.delete("Pod", pod["metadata"]["name"])


def single_actions(step: tuple[actions.Action, ...]) -> Iterator[actions.Action]:
    """The actions of a step, a batch taken apart."""
    for action in step:
        if isinstance(action, actions.CreateWorkers):
            yield from action.pods
        else:
            yield action


def controller_uid(obj: JSONObject) -> str:
    """The uid of an object's controller, empty without one."""
    owners = obj["metadata"].get("ownerReferences", [])
    return next((owner["uid"] for owner in owners if owner.get("controller")), "")


def merge(target: JSONObject, patch: Any) -> JSONObject:
    """The target with a JSON merge patch applied (RFC 7386)."""
    merged = dict(target)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            inner = merged.get(key)
            merged[key] = merge(inner if isinstance(inner, dict) else {}, value)
        else:
            merged[key] = deepcopy(value)
    return merged


def later(world: World, seconds: float) -> None:
    """Let time pass."""
    world.now += timedelta(seconds=seconds)
