"""Reading a job's world: caches, and live only what the contract names (lifecycle.md 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from informers.api import Api
from informers.errors import DecodeError, NotFound
from informers.metadata import build_key
from informers.object_identity import Identity
from mpi_operator import names
from mpi_operator.api.metadata import ObjectMeta
from mpi_operator.api.observed import ConfigMap, Job, Pod, Secret, Service
from mpi_operator.api.types import MPIJob
from mpi_operator.plan.live_reads import LiveRead, ReadKind, live_reads
from mpi_operator.plan.snapshot import Snapshot
from mpi_operator.shell.announced import Announced
from mpi_operator.shell.child_caches import ChildCaches
from mpi_operator.shell.resources import MPI_JOBS, RESOURCES
from mpi_operator.shell.secret_memory import SecretMemory
from mpi_operator.ssh_key import is_usable

Observed: TypeAlias = Service | ConfigMap | Secret | Job
T = TypeVar("T")


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a name that a create asked for, as a live GET told: not ours, or terminating."""

    kind: str
    identity: Identity


class _SecretObject(msgspec.Struct, frozen=True, gc=False):
    """A Secret while it is judged; it goes no further than this module, and its repr says nothing."""

    metadata: ObjectMeta = ObjectMeta()
    data: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return "Secret(...)"


class Observer:
    """Makes Snapshots. Safe from any thread."""

    def __init__(self, caches: ChildCaches, api: Api, secrets: SecretMemory, announced: Announced) -> None:
        self._caches = caches
        self._api = api
        self._secrets = secrets
        self._announced = announced

    def observe(self, job: MPIJob, holders: Sequence[Holder] = ()) -> Snapshot:
        """Return the world of `job`, which came from the cache, with `holders` under their names.

        Reads the server only for what `plan.live_reads` asks: children that ought to exist and are in no cache, and
        the Secret, whose usability is remembered for a minute. Raises ApiError.
        """
        name, namespace = job.metadata.name, job.metadata.namespace
        launcher_job = self._caches.launcher_jobs.get(build_key(namespace, names.launcher_name(name)))
        snapshot = Snapshot(
            job=job,
            pods=self._caches.pods_of(job, launcher_job),
            launcher_job=launcher_job,
            service=self._caches.services.get(build_key(namespace, names.service_name(name))),
            config_map=self._caches.config_maps.get(build_key(namespace, names.config_map_name(name))),
            secret=self._secrets.get(job.metadata.uid),
            announced=self._announced.keys(job.metadata.uid),
        )
        snapshot = _with_holders(snapshot, holders)
        found = {read.kind: self._read(job, read) for read in live_reads(snapshot)}
        return _with_live(snapshot, found)

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

    def _read(self, job: MPIJob, read: LiveRead) -> Observed | None:
        resource = RESOURCES[read.kind]
        action = f"look for {read.kind} {job.metadata.namespace}/{read.name}, which is in no cache"
        path = resource.path(namespace=job.metadata.namespace, name=read.name)
        try:
            body = self._api.request("GET", path, action=action).body
        except NotFound:
            return None
        if read.kind == "Secret":
            secret = decode_secret(body, action=action)
            if secret.metadata.is_controlled_by(job.metadata.uid):
                self._secrets.put(job.metadata.uid, secret)
            return secret
        return _decode(_DECODERS[read.kind], body, action=action)


def decode_secret(body: bytes, *, action: str) -> Secret:
    """Return what may be known of a Secret: its metadata, and whether its key pair is usable. Raises DecodeError."""
    found = _decode(_SECRET_DECODER.decode, body, action=action)
    return Secret(metadata=found.metadata, is_usable=is_usable(found.data))


def build_metadata(identity: Identity) -> ObjectMeta:
    """Return as much metadata as an identity tells."""
    known = {key: value for key, value in msgspec.to_builtins(identity).items() if value is not None}
    return msgspec.convert(known, ObjectMeta)


def _decode(decode: Callable[[bytes], T], body: bytes, *, action: str) -> T:
    try:
        return decode(body)
    except msgspec.MsgspecError as error:
        raise DecodeError(f"the answer could not be read: {error}", action=action) from None


def _with_live(snapshot: Snapshot, found: Mapping[ReadKind, Observed | None]) -> Snapshot:
    changes = {_FIELDS[kind]: obj for kind, obj in found.items() if obj is not None}
    return msgspec.structs.replace(snapshot, **changes) if changes else snapshot


def _with_holders(snapshot: Snapshot, holders: Sequence[Holder]) -> Snapshot:
    if not holders:
        return snapshot
    changes: dict[str, Any] = {}
    pods = {pod.metadata.name: pod for pod in snapshot.pods}
    for holder in holders:
        metadata = build_metadata(holder.identity)
        if holder.kind == "Pod":
            pods[metadata.name] = Pod(metadata=metadata)
        else:
            changes[_FIELDS[holder.kind]] = _TYPES[holder.kind](metadata=metadata)
    return msgspec.structs.replace(snapshot, pods=tuple(pods.values()), **changes)


_JOB_DECODER = msgspec.json.Decoder(MPIJob)
_SECRET_DECODER = msgspec.json.Decoder(_SecretObject)
_TYPES: dict[str, Callable[..., Observed]] = {"Service": Service, "ConfigMap": ConfigMap, "Secret": Secret, "Job": Job}
_FIELDS = {"Service": "service", "ConfigMap": "config_map", "Secret": "secret", "Job": "launcher_job"}
_DECODERS: dict[str, Callable[[bytes], Observed]] = {
    "Service": msgspec.json.Decoder(Service).decode,
    "ConfigMap": msgspec.json.Decoder(ConfigMap).decode,
    "Job": msgspec.json.Decoder(Job).decode,
}
