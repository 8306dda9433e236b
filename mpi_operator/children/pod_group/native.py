"""Kubernetes' own gang scheduling: Workload and PodGroup of scheduling.k8s.io, which pods name in a field.

Its shape changes with each release (interop.md 4.1): one scheduler for each version that the API server may serve.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mpi_operator import names
from mpi_operator.api.types import GROUP, KIND, MPIJob, ReplicaSpec
from mpi_operator.children.pod_group.scheduler import Gang, GroupResource

API_GROUP = "scheduling.k8s.io"
TEMPLATE = "mpi"
"""The name of the one group of pods in a Workload."""

POD_FIELDS = ("schedulingGroup", "workloadRef")
"""The fields of a pod's spec that name a group, of all versions."""


class WorkloadAlone(msgspec.Struct, frozen=True):
    """Kubernetes 1.35, v1alpha1: the groups stand in the Workload, and may not change."""

    @property
    def resources(self) -> tuple[GroupResource, ...]:
        """The Workload; nothing protects it, so that it can be made anew at any time."""
        return (GroupResource(API_GROUP, "v1alpha1", "workloads", "Workload", "replace"),)

    def build_spec(self, resource: GroupResource, job: MPIJob, gang: Gang) -> dict[str, Any]:  # noqa: ARG002 - there is one kind
        """Return the Workload's spec."""
        group = {"name": TEMPLATE, "policy": _build_policy(gang)}
        return {"controllerRef": _build_controller_reference(job), "podGroups": [group]}

    @property
    def cleared_fields(self) -> frozenset[str]:
        """None."""
        return frozenset()

    def build_annotations(self, job: MPIJob) -> dict[str, str]:  # noqa: ARG002 - the scheduler reads none
        """Return none."""
        return {}

    def decorate(self, pod: dict[str, Any], job: MPIJob) -> None:
        """Set the reference; the scheduler's name stays as the user has it."""
        pod["spec"]["workloadRef"] = {"name": names.pod_group_name(job.metadata.name), "podGroup": TEMPLATE}


class WorkloadAndPodGroup(msgspec.Struct, frozen=True):
    """Kubernetes 1.36 (v1alpha2) and 1.37 (v1beta1): the group is an object of its own, made after a template.

    In 1.36 the count may not change, and the object stays until its pods have ended: it is left until the job is
    suspended and resumed. In 1.37 it is patched.
    """

    version: str

    @property
    def resources(self) -> tuple[GroupResource, ...]:
        """The Workload, then the PodGroup that refers to it."""
        change = self.version != "v1alpha2"
        return (
            GroupResource(API_GROUP, self.version, "workloads", "Workload", "keep"),
            GroupResource(API_GROUP, self.version, "podgroups", "PodGroup", "patch" if change else "keep"),
        )

    def build_spec(self, resource: GroupResource, job: MPIJob, gang: Gang) -> dict[str, Any]:
        """Return the Workload's or the PodGroup's spec."""
        if resource.kind == "Workload":
            template = {"name": TEMPLATE, "schedulingPolicy": _build_policy(gang)}
            return {"controllerRef": _build_controller_reference(job), "podGroupTemplates": [template]}
        return {**self._build_template_reference(job), "schedulingPolicy": _build_policy(gang)}

    def _build_template_reference(self, job: MPIJob) -> dict[str, Any]:
        workload = names.pod_group_name(job.metadata.name)
        if self.version == "v1alpha2":
            reference = {"workloadName": workload, "podGroupTemplateName": TEMPLATE}
            return {"podGroupTemplateRef": {"workload": reference}}
        return {"workloadRef": {"workloadName": workload, "templateName": TEMPLATE}}

    @property
    def cleared_fields(self) -> frozenset[str]:
        """None."""
        return frozenset()

    def build_annotations(self, job: MPIJob) -> dict[str, str]:  # noqa: ARG002 - the scheduler reads none
        """Return none."""
        return {}

    def decorate(self, pod: dict[str, Any], job: MPIJob) -> None:
        """Set the group; the scheduler's name stays as the user has it."""
        pod["spec"]["schedulingGroup"] = {"podGroupName": names.pod_group_name(job.metadata.name)}


SCHEDULERS = (WorkloadAndPodGroup("v1beta1"), WorkloadAndPodGroup("v1alpha2"), WorkloadAlone())
"""For the versions that may be served, the newest first."""


def named_group(scheduler: object) -> str:
    """Return the field of a pod's spec in which this scheduler's groups are named."""
    return "workloadRef" if isinstance(scheduler, WorkloadAlone) else "schedulingGroup"


def has_group_of_its_own(replica_spec: ReplicaSpec | None) -> bool:
    """Whether the user put the pods of a template into a group already, which is never overwritten."""
    spec = None if replica_spec is None else replica_spec.template.get("spec")
    return isinstance(spec, Mapping) and any(spec.get(field) for field in POD_FIELDS)


def _build_policy(gang: Gang) -> dict[str, Any]:
    return {"gang": {"minCount": gang.min_member}}


def _build_controller_reference(job: MPIJob) -> dict[str, str]:
    return {"apiGroup": GROUP, "kind": KIND, "name": job.metadata.name}
