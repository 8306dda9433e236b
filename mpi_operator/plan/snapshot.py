"""All that one decision reads: the job, its children, who holds its names, and what the process remembers."""

from __future__ import annotations

import msgspec

from mpi_operator.api.observed import ConfigMap, Group, Job, Pod, Secret, Service
from mpi_operator.api.types import MPIJob
from mpi_operator.children.pod_group.scheduler import GroupKind


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One immutable view of a job's world.

    `job` is the MPIJob as stored, without defaults. Each fixed-name field holds the object that has the job's fixed
    name, *whoever owns it*, from the cache or from a live read; None means that nobody is known to have it.
    `pods` are all pods that may matter, in any order: those that the cache indexes under the job's name label or
    under the uid of the MPIJob or of its launcher Job, and any pod that a live read found under a worker's name.
    Foreign and old ones among them do no harm: the rooms sort them. `secret` is None too when it was not read.
    `announced` are the keys of events that this process has emitted for this job's uid (see `Event.once`).
    With gang scheduling, `gang_version` is the version of the scheduler's API that is served and `group_kinds` are its
    kinds, both empty if none is; `pod_group` and `workload` are fixed-name objects too.
    """

    job: MPIJob
    pods: tuple[Pod, ...] = ()
    launcher_job: Job | None = None
    service: Service | None = None
    config_map: ConfigMap | None = None
    secret: Secret | None = None
    announced: frozenset[str] = frozenset()
    gang_version: str = ""
    group_kinds: tuple[GroupKind, ...] = ()
    pod_group: Group | None = None
    workload: Group | None = None

    def group(self, kind: GroupKind) -> Group | None:
        """Return the object of that kind under the job's fixed name, whoever owns it."""
        return self.workload if kind == "Workload" else self.pod_group
