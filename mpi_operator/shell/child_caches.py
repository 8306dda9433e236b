"""The caches of MPIJobs and their children, and how a child is found from its job and the job from its child."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import msgspec

from informers.informer import Informer
from informers.metadata import KubernetesObject, build_key
from informers.resource import Resource
from informers.store import Store
from mpi_operator import names
from mpi_operator.api.metadata import ObjectMeta, OwnerReference
from mpi_operator.api.observed import ConfigMap, Group, Job, Pod, Service
from mpi_operator.api.types import API_VERSION, KIND, MPIJob
from mpi_operator.children.pod_group.scheduler import GroupKind
from mpi_operator.shell.resources import JOBS

BY_JOB_LABEL = "job label"
BY_CONTROLLER = "controller uid"

Child: TypeAlias = Pod | Job | Service | ConfigMap | Group

_GROUP_KINDS: dict[str, GroupKind] = {"PodGroup": "PodGroup", "Workload": "Workload"}


class GroupCaches:
    """The caches of a gang scheduler's objects, by kind: none, until its API is served. Safe from any thread."""

    def __init__(self) -> None:
        self._informers: Mapping[GroupKind, Informer[Group]] = {}
        self._version = ""

    def add(self, informers: Mapping[Resource, Informer[Group]]) -> None:
        """Look into these informers, of one API version, from now on."""
        self._version = next(iter(informers)).version
        self._informers = {_GROUP_KINDS[resource.kind]: informer for resource, informer in informers.items()}

    @property
    def version(self) -> str:
        """The version of the scheduler's API, empty while not all of its kinds have been listed."""
        return self._version if self.kinds else ""

    @property
    def kinds(self) -> tuple[GroupKind, ...]:
        """The scheduler's kinds; none while one of them has not been listed."""
        informers = self._informers
        return tuple(informers) if all(informer.is_listed() for informer in informers.values()) else ()

    def get(self, kind: GroupKind, key: str) -> Group | None:
        """Return the object of that kind, if there is one."""
        informer = self._informers.get(kind)
        return None if informer is None else informer.store.get(key)


class ChildCaches(msgspec.Struct, frozen=True, kw_only=True):
    """The stores that syncs read. Pods need the indices of `POD_INDEXERS`."""

    mpi_jobs: Store[MPIJob]
    pods: Store[Pod]
    launcher_jobs: Store[Job]
    services: Store[Service]
    config_maps: Store[ConfigMap]
    groups: GroupCaches = msgspec.field(default_factory=GroupCaches)

    def pods_of(self, job: MPIJob, launcher_job: Job | None) -> tuple[Pod, ...]:
        """Return every pod that has the job's label, or the job or its launcher Job for its controller."""
        metadata = job.metadata
        found = self.pods.by_index(BY_JOB_LABEL, job.key) + self.pods.by_index(BY_CONTROLLER, metadata.uid)
        if launcher_job is not None:
            found += self.pods.by_index(BY_CONTROLLER, launcher_job.metadata.uid)
        return tuple({pod.metadata.uid: pod for pod in found}.values())

    def owner_keys(self, child: Child) -> tuple[str, ...]:
        """Return the keys of the MPIJobs that should look at a change of this child (B062).

        A pod of a batch Job is traced through that Job; once the Job is gone, by the pod's own label, because the
        end of an old launcher's pod is what a new launcher Job waits for.
        """
        metadata = child.metadata
        controller = metadata.controller
        if controller is None:
            return ()
        if _is_mpi_job(controller):
            return (build_key(metadata.namespace, controller.name),)
        if not isinstance(child, Pod) or (controller.api_version, controller.kind) != (JOBS.api_version, JOBS.kind):
            return ()
        launcher_job = self.launcher_jobs.get(build_key(metadata.namespace, controller.name))
        if launcher_job is not None and launcher_job.metadata.uid == controller.uid:
            return self.owner_keys(launcher_job)
        return tuple(_label_keys(child))


def _is_mpi_job(owner: OwnerReference) -> bool:
    return (owner.api_version, owner.kind) == (API_VERSION, KIND)


def _label_keys(pod: Pod) -> Iterable[str]:
    job_name = pod.metadata.labels.get(names.LABEL_JOB_NAME)
    if job_name:
        yield build_key(pod.metadata.namespace, job_name)


def _controller_uids(child: KubernetesObject) -> Iterable[str]:
    metadata = child.metadata
    if isinstance(metadata, ObjectMeta) and metadata.controller is not None:
        yield metadata.controller.uid


POD_INDEXERS: dict[str, Callable[[Pod], Iterable[str]]] = {
    BY_JOB_LABEL: _label_keys,
    BY_CONTROLLER: _controller_uids,
}
