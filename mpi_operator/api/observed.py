"""What the caches keep of a job's children: the fields that decisions read, decoded leniently, and nothing else.

Values are frozen; unknown fields are dropped while decoding, which keeps a cached pod to a few KiB. Maps are typed
read-only and must not be changed. Scheduling directives of a launcher Job stay raw, because they are compared and
patched, never interpreted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mpi_operator.api.metadata import ObjectMeta, Timestamp

PENDING = "Pending"
RUNNING = "Running"
SUCCEEDED = "Succeeded"
FAILED = "Failed"
TERMINAL_PHASES = frozenset({SUCCEEDED, FAILED})


class ObservedCondition(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """A condition of a pod or Job."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Timestamp | None = None

    @property
    def is_true(self) -> bool:
        """Whether the condition holds."""
        return self.status == "True"


def condition_of(conditions: tuple[ObservedCondition, ...], kind: str) -> ObservedCondition | None:
    """Return the condition of that type, if there is one, whatever its status."""
    return next((condition for condition in conditions if condition.type == kind), None)


class Waiting(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """A container that is not running yet, or not again yet."""

    reason: str = ""
    message: str = ""


class Terminated(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """How a container ended; `message` is its termination message."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""
    finished_at: Timestamp | None = None


class ContainerState(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """The state of a container; with both fields None it runs or is unknown."""

    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """One container's state, its state before the last restart, and how often it was restarted."""

    name: str
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class Container(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A container's name: statuses are not in the order of the spec."""

    name: str


class PodSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """Of a pod's spec, its containers in order, how they are restarted, and the group that it is scheduled with."""

    containers: tuple[Container, ...] = ()
    restart_policy: str = ""
    scheduling_group: Mapping[str, Any] | None = None
    workload_ref: Mapping[str, Any] | None = None


class PodStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """What a pod is doing; an absent phase is Pending."""

    phase: str = PENDING
    reason: str = ""
    message: str = ""
    conditions: tuple[ObservedCondition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A worker or launcher pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def condition(self, kind: str) -> ObservedCondition | None:
        """Return the pod's condition of that type, if there is one."""
        return condition_of(self.status.conditions, kind)

    @property
    def is_terminal(self) -> bool:
        """Whether all containers ended for good."""
        return self.status.phase in TERMINAL_PHASES

    @property
    def is_running(self) -> bool:
        """Whether the pod runs and has not been told to go."""
        return self.status.phase == RUNNING and not self.metadata.is_terminating

    @property
    def is_ready(self) -> bool:
        """Whether the pod passes its readiness probes and has not been told to go (A1.14)."""
        ready = self.condition("Ready")
        return ready is not None and ready.is_true and not self.metadata.is_terminating


class TemplateMeta(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """The metadata of a Job's pod template."""

    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class Affinity(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """Of a pod's affinity, the part that may change while a Job is suspended."""

    node_affinity: Mapping[str, Any] | None = None


class TemplateSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """The scheduling directives of a Job's pod template that may change while the Job is suspended, raw."""

    node_selector: Mapping[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Mapping[str, Any], ...] = ()
    scheduling_gates: tuple[Mapping[str, Any], ...] = ()


class Template(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """Of a Job's pod template, the directives that may change while the Job is suspended."""

    metadata: TemplateMeta = TemplateMeta()
    spec: TemplateSpec = TemplateSpec()


class JobSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """What a launcher Job was told."""

    suspend: bool = False
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    ttl_seconds_after_finished: int | None = None
    template: Template = Template()


class JobStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """What the Job controller reports."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    start_time: Timestamp | None = None
    completion_time: Timestamp | None = None
    conditions: tuple[ObservedCondition, ...] = ()


class Job(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A batch/v1 Job that runs a launcher."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    def condition(self, kind: str) -> ObservedCondition | None:
        """Return the Job's condition of that type, if it holds."""
        condition = condition_of(self.status.conditions, kind)
        return condition if condition is not None and condition.is_true else None


class ServiceSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """The two fields of a Service that are repaired (B120)."""

    selector: Mapping[str, str] = {}
    publish_not_ready_addresses: bool = False


class Service(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The headless Service in front of a job's pods."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class ConfigMap(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The ConfigMap with a job's hostfile and discover_hosts.sh."""

    metadata: ObjectMeta = ObjectMeta()
    data: Mapping[str, str] = {}


class Secret(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What one GET told of a job's ssh Secret: never its keys, only whether they are a usable pair (A1.19)."""

    metadata: ObjectMeta = ObjectMeta()
    is_usable: bool = False


class GroupStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """What a gang scheduler reports of a group."""

    conditions: tuple[ObservedCondition, ...] = ()


class Group(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A gang scheduler's PodGroup or Workload. Its spec stays raw: it is compared and patched, never interpreted."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Mapping[str, Any] = {}
    status: GroupStatus = GroupStatus()


class PriorityClass(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """That a PriorityClass exists: pods that name one are refused until it does."""

    metadata: ObjectMeta = ObjectMeta()
