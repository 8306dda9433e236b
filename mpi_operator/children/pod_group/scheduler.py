"""What the gang schedulers have in common: the interface, and the gang that each tells its scheduler of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec

from mpi_operator.api.types import MPIJob, ReplicaSpec
from mpi_operator.children.pod_group.resources import sum_requests

GroupKind = Literal["Workload", "PodGroup"]
OnChange = Literal["patch", "replace", "keep"]


class GroupResource(msgspec.Struct, frozen=True):
    """A kind of object that describes a gang, as the API server serves it.

    `on_change` says what is done when its owned fields differ: they are patched, the object is deleted to be made
    anew, or it is left, because it may not change while pods refer to it.
    """

    group: str
    version: str
    plural: str
    kind: GroupKind
    on_change: OnChange = "patch"

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}"

    @property
    def name(self) -> str:
        """The name that RBAC and CRDs use."""
        return f"{self.plural}.{self.group}"


class Gang(msgspec.Struct, frozen=True, kw_only=True):
    """A job's gang, whoever schedules it: how many pods must start together, and what they need. Empty is not given."""

    min_member: int
    min_resources: Mapping[str, str | int | float]
    queue: str
    priority_class: str
    schedule_timeout_seconds: int | None


class GangScheduler(Protocol):
    """One way to have pods scheduled together. Implementations are frozen, and know nothing of any job."""

    @property
    def resources(self) -> tuple[GroupResource, ...]:
        """The kinds that describe a gang, in the order in which they are created."""
        ...

    def build_spec(self, resource: GroupResource, job: MPIJob, gang: Gang) -> dict[str, Any]:
        """Return the spec of one of these objects: all of it is owned, and nothing that is empty is in it."""
        ...

    @property
    def cleared_fields(self) -> frozenset[str]:
        """The fields of the spec that are removed where `build_spec` leaves them out."""
        ...

    def build_annotations(self, job: MPIJob) -> dict[str, str]:
        """Return the annotations of the job that the objects carry too."""
        ...

    def decorate(self, pod: dict[str, Any], job: MPIJob) -> None:
        """Change a pod's template, which has `metadata` and `spec`, so that its pods belong to the gang."""
        ...


def build_gang(job: MPIJob) -> Gang:
    """Return the gang of a defaulted, valid job (B161-B173, B182, B183)."""
    policy = job.spec.run_policy.scheduling_policy
    wanted = None if policy is None else policy.min_available
    members = job.spec.gang_size if wanted is None else wanted
    explicit = None if policy is None else policy.min_resources
    return Gang(
        min_member=members,
        min_resources=explicit or sum_requests(job, members),
        queue="" if policy is None else policy.queue,
        priority_class=find_priority_class(job),
        schedule_timeout_seconds=None if policy is None else policy.schedule_timeout_seconds,
    )


def find_priority_class(job: MPIJob) -> str:
    """Return the class that the gang is in: the policy's, else the launcher's, else the workers', else none (B183)."""
    policy = job.spec.run_policy.scheduling_policy
    given = "" if policy is None else policy.priority_class
    return given or next((name for name in map(_priority_class, (job.spec.launcher, job.spec.worker)) if name), "")


def names_priority_class(job: MPIJob, name: str) -> bool:
    """Whether the job, or one of its pods, is in that class."""
    return name in {find_priority_class(job), _priority_class(job.spec.launcher), _priority_class(job.spec.worker)}


def _priority_class(replica_spec: ReplicaSpec | None) -> str:
    spec = None if replica_spec is None else replica_spec.template.get("spec")
    return str(spec.get("priorityClassName") or "") if isinstance(spec, Mapping) else ""
