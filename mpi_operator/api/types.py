"""The MPIJob of kubeflow.org/v2beta1 as frozen values (v2beta1.md, api.md).

Decoding is lenient where others decide: unknown fields are dropped, enumerations are plain texts (validation judges
them), replica specs under unknown keys or with a null value are kept. A field of a wrong JSON type raises
`msgspec.ValidationError`. Maps are typed read-only and must not be changed; pod templates travel as raw data, so that
a pod field newer than this code reaches the pod. Field descriptions for users stand in the CRD generator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mpi_operator.api.metadata import ObjectMeta, Timestamp

GROUP = "kubeflow.org"
VERSION = "v2beta1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "MPIJob"
PLURAL = "mpijobs"

LAUNCHER = "Launcher"
WORKER = "Worker"
REPLICA_TYPES = (LAUNCHER, WORKER)
MAXIMUM_WORKERS = 10_000
"""More hosts, of two lines each, do not fit into a ConfigMap of 1 MiB; and it bounds the work of one sync."""

OPEN_MPI = "OpenMPI"
INTEL = "Intel"
MPICH = "MPICH"
MPI_IMPLEMENTATIONS = (INTEL, MPICH, OPEN_MPI)

AT_STARTUP = "AtStartup"
WAIT_FOR_WORKERS_READY = "WaitForWorkersReady"
LAUNCHER_CREATION_POLICIES = (AT_STARTUP, WAIT_FOR_WORKERS_READY)

CLEAN_ALL = "All"
CLEAN_NONE = "None"
CLEAN_RUNNING = "Running"
CLEAN_POD_POLICIES = (CLEAN_ALL, CLEAN_NONE, CLEAN_RUNNING)

NEVER = "Never"
ON_FAILURE = "OnFailure"
RESTART_POLICIES = (NEVER, ON_FAILURE)

MANAGED_BY_MPI_OPERATOR = "kubeflow.org/mpi-operator"
MANAGED_BY_MULTIKUEUE = "kueue.x-k8s.io/multikueue"
MANAGERS = (MANAGED_BY_MPI_OPERATOR, MANAGED_BY_MULTIKUEUE)


class SchedulingPolicy(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """Wishes for gang scheduling (B161-B194)."""

    min_available: int | None = None
    queue: str = ""
    min_resources: Mapping[str, str | int | float] | None = None
    priority_class: str = ""
    schedule_timeout_seconds: int | None = None


class RunPolicy(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """How the job runs as a whole. None means not given."""

    clean_pod_policy: str | None = None
    ttl_seconds_after_finished: int | None = None
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    scheduling_policy: SchedulingPolicy | None = None
    suspend: bool | None = None
    managed_by: str | None = None


class ReplicaSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """One role of the job: how many pods, made from which template. The template is raw and read-only."""

    replicas: int | None = None
    template: Mapping[str, Any] = {}
    restart_policy: str = ""


class MPIJobSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """What the user wants. The properties read a defaulted spec; on a raw one they show what is there."""

    slots_per_worker: int | None = None
    run_launcher_as_worker: bool | None = None
    run_policy: RunPolicy = RunPolicy()
    mpi_replica_specs: Mapping[str, ReplicaSpec | None] | None = None
    ssh_auth_mount_path: str = ""
    launcher_creation_policy: str = ""
    mpi_implementation: str = ""

    @property
    def launcher(self) -> ReplicaSpec | None:
        """The launcher's replica spec, if given."""
        return (self.mpi_replica_specs or {}).get(LAUNCHER)

    @property
    def worker(self) -> ReplicaSpec | None:
        """The workers' replica spec, if given."""
        return (self.mpi_replica_specs or {}).get(WORKER)

    @property
    def worker_replicas(self) -> int:
        """How many workers are wanted; 0 without a Worker entry."""
        worker = self.worker
        return (worker.replicas or 0) if worker is not None else 0

    @property
    def is_suspended(self) -> bool:
        """Whether the job is to be stopped: absent means it is not (B014)."""
        return bool(self.run_policy.suspend)

    @property
    def is_launcher_worker(self) -> bool:
        """Whether ranks run on the launcher too (`runLauncherAsWorker`): absent means they do not (B013)."""
        return bool(self.run_launcher_as_worker)

    @property
    def waits_for_workers(self) -> bool:
        """Whether the launcher is held back until every worker is Ready."""
        return self.launcher_creation_policy == WAIT_FOR_WORKERS_READY

    @property
    def has_launcher_in_gang(self) -> bool:
        """Whether the launcher's pod is one of those that a gang scheduler must wait for (B161, A2.8).

        Not if it is held back until the workers are Ready: the gang would wait for a pod that waits for the gang.
        """
        return not (self.waits_for_workers and self.worker_replicas > 0)

    @property
    def gang_size(self) -> int:
        """How many pods start together."""
        return max(self.worker_replicas, 0) + int(self.has_launcher_in_gang)

    @property
    def is_managed_elsewhere(self) -> bool:
        """Whether another controller runs the job, so that it is not touched at all (B050-B052, K1)."""
        return self.run_policy.managed_by not in {None, "", MANAGED_BY_MPI_OPERATOR}


class Condition(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """One condition; `status` is True, False or Unknown, as text. Only type and status are sure to be there."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_update_time: Timestamp | None = None
    last_transition_time: Timestamp | None = None

    @property
    def is_true(self) -> bool:
        """Whether the condition holds."""
        return self.status == "True"


class ReplicaStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """Counts of the pods of one role."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0


class ReplicaStatuses(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The counts of both roles; None is a key that is absent (B223)."""

    launcher: ReplicaStatus | None = msgspec.field(default=None, name=LAUNCHER)
    worker: ReplicaStatus | None = msgspec.field(default=None, name=WORKER)


class MPIJobStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """What was observed. `lastReconcileTime` and selectors of the schema are never set (B244) and not read."""

    conditions: tuple[Condition, ...] = ()
    replica_statuses: ReplicaStatuses = ReplicaStatuses()
    start_time: Timestamp | None = None
    completion_time: Timestamp | None = None


class MPIJob(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """An MPIJob. Encoding always writes apiVersion and kind, and nothing else that is absent."""

    api_version: str = API_VERSION
    kind: str = KIND
    metadata: ObjectMeta = ObjectMeta()
    spec: MPIJobSpec = MPIJobSpec()
    status: MPIJobStatus = MPIJobStatus()

    @property
    def key(self) -> str:
        """`namespace/name`, as work queues and logs name it."""
        return f"{self.metadata.namespace}/{self.metadata.name}"
