"""Volcano: a PodGroup of scheduling.volcano.sh, which pods name in an annotation (B180-B188, interop.md 2)."""

from __future__ import annotations

from typing import Any

import msgspec

from mpi_operator import names
from mpi_operator.api.types import MPIJob
from mpi_operator.children.pod_group.scheduler import Gang, GroupResource

SCHEDULER_NAME = "volcano"
POD_GROUPS = GroupResource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"

_PREFIXES = ("volcano.sh/", "scheduling.volcano.sh/")


class Volcano(msgspec.Struct, frozen=True):
    """Gangs for Volcano's scheduler.

    An empty queue is never sent, because Volcano's CRD refuses it and its webhook fills it in (B188). Annotations of
    the MPIJob that are Volcano's, such as those for preemption or network topology, go to the PodGroup and the pods; a
    template's own go before them.
    """

    @property
    def resources(self) -> tuple[GroupResource, ...]:
        """The PodGroup."""
        return (POD_GROUPS,)

    def build_spec(self, resource: GroupResource, job: MPIJob, gang: Gang) -> dict[str, Any]:  # noqa: ARG002 - there is one kind
        """Return the PodGroup's spec; the timeout is not Volcano's (B184)."""
        wanted = {
            "minMember": gang.min_member,
            "minResources": dict(gang.min_resources),
            "queue": gang.queue or job.metadata.annotations.get(QUEUE_ANNOTATION, ""),
            "priorityClassName": gang.priority_class,
        }
        return {key: value for key, value in wanted.items() if value}

    @property
    def cleared_fields(self) -> frozenset[str]:
        """The resources; queue and priority may have been filled in by others."""
        return frozenset({"minResources"})

    def build_annotations(self, job: MPIJob) -> dict[str, str]:
        """Return the job's annotations that Volcano reads, less the queue's, which is in the spec."""
        return {
            key: value
            for key, value in job.metadata.annotations.items()
            if key.startswith(_PREFIXES) and key != QUEUE_ANNOTATION
        }

    def decorate(self, pod: dict[str, Any], job: MPIJob) -> None:
        """Set the scheduler's name and the annotations (B185)."""
        metadata = pod["metadata"]
        metadata["annotations"] = {
            **self.build_annotations(job),
            **(metadata.get("annotations") or {}),
            GROUP_ANNOTATION: names.pod_group_name(job.metadata.name),
        }
        pod["spec"]["schedulerName"] = SCHEDULER_NAME
