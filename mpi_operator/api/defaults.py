"""The values of what an MPIJob leaves out (B001-B017, A4.9)."""

from __future__ import annotations

import msgspec

from mpi_operator.api import types
from mpi_operator.api.types import MPIJob, MPIJobSpec, ReplicaSpec, RunPolicy

SLOTS_PER_WORKER = 1
SSH_AUTH_MOUNT_PATH = "/root/.ssh"
MPI_IMPLEMENTATION = types.OPEN_MPI
LAUNCHER_CREATION_POLICY = types.AT_STARTUP
CLEAN_POD_POLICY = types.CLEAN_NONE
REPLICAS = 1
RESTART_POLICY = {types.LAUNCHER: types.ON_FAILURE, types.WORKER: types.NEVER}


def apply_defaults(job: MPIJob) -> MPIJob:
    """Return the job with every absent value that has a default; what the user set stays, valid or not.

    Idempotent, and the job given is not changed: nothing of this is ever written back to the server (B015). No
    replica entry is invented (B011), and what batch/v1 defaults itself stays absent (B012).
    """
    return msgspec.structs.replace(job, spec=_spec(job.spec))


def _spec(spec: MPIJobSpec) -> MPIJobSpec:
    return msgspec.structs.replace(
        spec,
        slots_per_worker=SLOTS_PER_WORKER if spec.slots_per_worker is None else spec.slots_per_worker,
        run_launcher_as_worker=bool(spec.run_launcher_as_worker),
        run_policy=_run_policy(spec.run_policy),
        mpi_replica_specs=_replica_specs(spec),
        ssh_auth_mount_path=spec.ssh_auth_mount_path or SSH_AUTH_MOUNT_PATH,
        launcher_creation_policy=spec.launcher_creation_policy or LAUNCHER_CREATION_POLICY,
        mpi_implementation=spec.mpi_implementation or MPI_IMPLEMENTATION,
    )


def _run_policy(policy: RunPolicy) -> RunPolicy:
    return msgspec.structs.replace(
        policy,
        clean_pod_policy=CLEAN_POD_POLICY if policy.clean_pod_policy is None else policy.clean_pod_policy,
        suspend=bool(policy.suspend),
    )


def _replica_specs(spec: MPIJobSpec) -> dict[str, ReplicaSpec | None] | None:
    if spec.mpi_replica_specs is None:
        return None
    return {key: _replica_spec(key, replica_spec) for key, replica_spec in spec.mpi_replica_specs.items()}


def _replica_spec(key: str, spec: ReplicaSpec | None) -> ReplicaSpec | None:
    if spec is None or key not in RESTART_POLICY:
        return spec
    return msgspec.structs.replace(
        spec,
        replicas=REPLICAS if spec.replicas is None else spec.replicas,
        restart_policy=spec.restart_policy or RESTART_POLICY[key],
    )
