"""The coscheduling plugin of scheduler-plugins: a PodGroup of scheduling.x-k8s.io, which pods name in a label.

The scheduler that runs the plugin has a name of its own, which the flag gives (B189-B194, interop.md 3.1).
"""

from __future__ import annotations

from typing import Any

import msgspec

from mpi_operator import names
from mpi_operator.api.types import MPIJob
from mpi_operator.children.pod_group.scheduler import Gang, GroupResource

POD_GROUPS = GroupResource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


class Coscheduling(msgspec.Struct, frozen=True):
    """Gangs for the scheduler of that name. Its PodGroups know neither queues nor priorities (B192)."""

    scheduler_name: str

    @property
    def resources(self) -> tuple[GroupResource, ...]:
        """The PodGroup."""
        return (POD_GROUPS,)

    def build_spec(self, resource: GroupResource, job: MPIJob, gang: Gang) -> dict[str, Any]:  # noqa: ARG002 - there is one kind
        """Return the PodGroup's spec; a timeout of 0 is the plugin's own (B191)."""
        spec: dict[str, Any] = {
            "minMember": gang.min_member,
            "scheduleTimeoutSeconds": gang.schedule_timeout_seconds or 0,
        }
        if gang.min_resources:
            spec["minResources"] = dict(gang.min_resources)
        return spec

    @property
    def cleared_fields(self) -> frozenset[str]:
        """The resources."""
        return frozenset({"minResources"})

    def build_annotations(self, job: MPIJob) -> dict[str, str]:  # noqa: ARG002 - the plugin reads none
        """Return none."""
        return {}

    def decorate(self, pod: dict[str, Any], job: MPIJob) -> None:
        """Set the scheduler's name and the label (B193)."""
        metadata = pod["metadata"]
        metadata["labels"] = {
            **(metadata.get("labels") or {}),
            GROUP_LABEL: names.pod_group_name(job.metadata.name),
        }
        pod["spec"]["schedulerName"] = self.scheduler_name
