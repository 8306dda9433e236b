"""Reading a job's world: caches, and live only what the contract names (lifecycle.md 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from informers.api import Api
from informers.errors import DecodeError, NotFound
from informers.metadata import build_key
from informers.resource import Resource
from mpi_operator import names
from mpi_operator.api.metadata import ObjectMeta
from mpi_operator.api.observed import ConfigMap, Group, Job, Pod, Secret, Service
from mpi_operator.api.types import MPIJob
from mpi_operator.plan.live_reads import asks_for_launcher_pods, live_reads
from mpi_operator.plan.snapshot import Snapshot
from mpi_operator.shell.announced import Announced
from mpi_operator.shell.child_caches import ChildCaches
from mpi_operator.shell.resources import MPI_JOBS, PODS, RESOURCES
from mpi_operator.shell.secret_memory import SecretMemory
from mpi_operator.ssh_key import is_usable

Observed: TypeAlias = Pod | Service | ConfigMap | Secret | Job | Group
T = TypeVar("T")


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A held name that a create asked for: by an object of others, one that is terminating, or one to be adopted."""

    kind: str
    name: str


class _SecretObject(msgspec.Struct, frozen=True, gc=False):
    """A Secret while it is judged; it goes no further than this module, and its repr says nothing."""

    metadata: ObjectMeta = ObjectMeta()
    data: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return "Secret(...)"


class _PodList(msgspec.Struct, frozen=True):
    items: tuple[Pod, ...] = ()


class Observer:
    """Makes Snapshots. Safe from any thread."""

    def __init__(
        self,
        caches: ChildCaches,
        api: Api,
        secrets: SecretMemory,
        announced: Announced,
        *,
        resources: Mapping[str, Resource] = RESOURCES,
    ) -> None:
        self._caches = caches
        self._api = api
        self._resources = resources
        self._secrets = secrets
        self._announced = announced

    def observe(self, job: MPIJob, holders: Sequence[Holder] = ()) -> Snapshot:
        """Return the world of `job`, with `holders` under their names.

        Reads the server only for holders, and for what `plan.live_reads` asks: children that ought to exist and are in
        no cache, the pods of a launcher's Job that is gone, and the Secret, whose usability is remembered for a
        minute. Raises ApiError.
        """
        name, namespace = job.metadata.name, job.metadata.namespace
        launcher_job = self._caches.launcher_jobs.get(build_key(namespace, names.launcher_name(name)))
        groups, group_key = self._caches.groups, build_key(namespace, names.pod_group_name(name))
        snapshot = Snapshot(
            job=job,
            pods=self._caches.pods_of(job, launcher_job),
            launcher_job=launcher_job,
            service=self._caches.services.get(build_key(namespace, names.service_name(name))),
            config_map=self._caches.config_maps.get(build_key(namespace, names.config_map_name(name))),
            secret=self._secrets.get(job.metadata.uid),
            announced=self._announced.keys(job.metadata.uid),
            gang_version=groups.version,
            group_kinds=groups.kinds,
            pod_group=groups.get("PodGroup", group_key),
            workload=groups.get("Workload", group_key),
        )
        held = {holder: self._read(job, holder.kind, holder.name) for holder in holders}
        snapshot = _with_found(snapshot, held)
        missing = [Holder(kind=read.kind, name=read.name) for read in live_reads(snapshot)]
        snapshot = _with_found(snapshot, {each: self._read(job, each.kind, each.name) for each in missing})
        if asks_for_launcher_pods(snapshot):
            snapshot = msgspec.structs.replace(snapshot, pods=(*snapshot.pods, *self._list_launcher_pods(job)))
        return snapshot

    def read_job(self, job: MPIJob) -> MPIJob | None:
        """Return the job as it is now, None when it is gone or another has its name. Raises ApiError."""
        action = f"read MPIJob {job.key} again, because it has changed"
        path = MPI_JOBS.path(namespace=job.metadata.namespace, name=job.metadata.name)
        try:
            body = self._api.request("GET", path, action=action).body
        except NotFound:
            return None
        live = _decode(_JOB_DECODER.decode, body, action=action)
        return live if live.metadata.uid == job.metadata.uid else None

    def _list_launcher_pods(self, job: MPIJob) -> tuple[Pod, ...]:
        labels = names.pod_labels(job.metadata.name, names.ROLE_LAUNCHER)
        query = {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())}
        action = f"look for pods of the launcher of MPIJob {job.key}, whose Job is gone"
        path = PODS.path(namespace=job.metadata.namespace)
        body = self._api.request("GET", path, query=query, action=action).body
        return _decode(_POD_LIST_DECODER.decode, body, action=action).items

    def _read(self, job: MPIJob, kind: str, name: str) -> Observed | None:
        resource = self._resources[kind]
        action = f"look for {kind} {job.metadata.namespace}/{name}, which is in no cache"
        path = resource.path(namespace=job.metadata.namespace, name=name)
        try:
            body = self._api.request("GET", path, action=action).body
        except NotFound:
            return None
        if kind == "Secret":
            secret = decode_secret(body, action=action)
            if secret.metadata.is_controlled_by(job.metadata.uid):
                self._secrets.put(job.metadata.uid, secret)
            return secret
        return _decode(_DECODERS[kind], body, action=action)


def decode_secret(body: bytes, *, action: str) -> Secret:
    """Return what may be known of a Secret: its metadata, and whether its key pair is usable. Raises DecodeError."""
    found = _decode(_SECRET_DECODER.decode, body, action=action)
    return Secret(metadata=found.metadata, is_usable=is_usable(found.data))


def _decode(decode: Callable[[bytes], T], body: bytes, *, action: str) -> T:
    try:
        return decode(body)
    except msgspec.MsgspecError as error:
        raise DecodeError(f"the answer could not be read: {error}", action=action) from None


def _with_found(snapshot: Snapshot, found: Mapping[Holder, Observed | None]) -> Snapshot:
    pods = {pod.metadata.name: pod for pod in snapshot.pods}
    pods |= {each.metadata.name: each for each in found.values() if isinstance(each, Pod)}
    fields = {_FIELDS[holder.kind]: each for holder, each in found.items() if each is not None and holder.kind != "Pod"}
    return msgspec.structs.replace(snapshot, pods=tuple(pods.values()), **fields) if found else snapshot


_JOB_DECODER = msgspec.json.Decoder(MPIJob)
_POD_LIST_DECODER = msgspec.json.Decoder(_PodList)
_SECRET_DECODER = msgspec.json.Decoder(_SecretObject)
_FIELDS = {
    "Service": "service",
    "ConfigMap": "config_map",
    "Secret": "secret",
    "Job": "launcher_job",
    "PodGroup": "pod_group",
    "Workload": "workload",
}
_DECODERS: dict[str, Callable[[bytes], Observed]] = {
    "Pod": msgspec.json.Decoder(Pod).decode,
    "Service": msgspec.json.Decoder(Service).decode,
    "ConfigMap": msgspec.json.Decoder(ConfigMap).decode,
    "Job": msgspec.json.Decoder(Job).decode,
    "PodGroup": msgspec.json.Decoder(Group).decode,
    "Workload": msgspec.json.Decoder(Group).decode,
}
