"""What is wrong with an MPIJob, in a fixed order (B018-B046, A4.9). The pods' templates are judged next door."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from mpi_operator import names
from mpi_operator.api import types
from mpi_operator.api.template_validation import normal_path, validate_template
from mpi_operator.api.types import MPIJob, MPIJobSpec, ReplicaSpec, RunPolicy
from mpi_operator.api.violation import Violation, invalid, not_supported, required

_MAX_LABEL_LENGTH = 63
_DNS_1035_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def validate(job: MPIJob) -> tuple[Violation, ...]:
    """Return every violation of a defaulted job, ordered as B038 says; none means that its children can be built.

    Total: whatever decodes as an MPIJob gets an answer, and never an exception.
    """
    return tuple(
        chain(
            _validate_name(job),
            _validate_replica_specs(job.spec),
            _validate_slots(job.spec),
            _validate_run_policy(job.spec),
            _validate_ssh_auth_mount_path(job.spec),
            _validate_choice("spec.mpiImplementation", job.spec.mpi_implementation, types.MPI_IMPLEMENTATIONS),
            _validate_choice(
                "spec.launcherCreationPolicy", job.spec.launcher_creation_policy, types.LAUNCHER_CREATION_POLICIES
            ),
        )
    )


def _validate_name(job: MPIJob) -> Iterator[Violation]:
    """The longest hostname must be a DNS label (B018, B019); the launcher's is never longer than that of 10 workers."""
    name = job.metadata.name
    longest = names.worker_name(name, max(job.spec.worker_replicas, 1) - 1)
    faults = []
    if not _DNS_1035_LABEL.fullmatch(longest):
        faults.append(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
            "character, and end with an alphanumeric character"
        )
    if len(longest) > _MAX_LABEL_LENGTH:
        faults.append(f"must be no more than {_MAX_LABEL_LENGTH} characters")
    if faults:
        detail = f'will not able to create pod and service with invalid DNS label "{longest}": {", ".join(faults)}'
        yield invalid("metadata.name", name, detail)


def _validate_replica_specs(spec: MPIJobSpec) -> Iterator[Violation]:
    field = "spec.mpiReplicaSpecs"
    if spec.mpi_replica_specs is None:
        yield required(field, "must have replica specs")
        return
    if spec.launcher is None:
        yield required(f"{field}[{types.LAUNCHER}]", "must have Launcher replica spec")
    else:
        yield from _validate_replica_spec(spec, types.LAUNCHER, spec.launcher)
        if spec.launcher.replicas not in {None, 1}:
            yield invalid(f"{field}[{types.LAUNCHER}].replicas", spec.launcher.replicas, "must be 1")
    if spec.worker is not None:
        yield from _validate_replica_spec(spec, types.WORKER, spec.worker)
        yield from _validate_worker_count(f"{field}[{types.WORKER}].replicas", spec.worker.replicas)
    elif spec.launcher is not None and not spec.is_launcher_worker:
        yield required(
            f"{field}[{types.WORKER}]",
            "must have Worker replica spec, as no rank has a place to run; add one, or set spec.runLauncherAsWorker",
        )
    for key in spec.mpi_replica_specs:
        yield from _validate_choice(f"{field}[{key}]", key, types.REPLICA_TYPES)


def _validate_worker_count(field: str, replicas: int | None) -> Iterator[Violation]:
    if replicas is not None and replicas < 1:
        yield invalid(field, replicas, "must be greater than or equal to 1")
    if replicas is not None and replicas > types.MAXIMUM_WORKERS:
        yield invalid(
            field,
            replicas,
            f"must be less than or equal to {types.MAXIMUM_WORKERS}, the hosts that a ConfigMap can name",
        )


def _validate_replica_spec(spec: MPIJobSpec, key: str, replica_spec: ReplicaSpec) -> Iterator[Violation]:
    field = f"spec.mpiReplicaSpecs[{key}]"
    if replica_spec.replicas is None:
        yield required(f"{field}.replicas", "must define number of replicas")
    yield from _validate_choice(f"{field}.restartPolicy", replica_spec.restart_policy, types.RESTART_POLICIES)
    mounts = [spec.ssh_auth_mount_path]
    if key == types.LAUNCHER:
        mounts.append(names.CONFIG_MOUNT_PATH)
    yield from validate_template(f"{field}.template", replica_spec.template, mount_paths=mounts)


def _validate_slots(spec: MPIJobSpec) -> Iterator[Violation]:
    if spec.slots_per_worker is None:
        yield required("spec.slotsPerWorker", "must have number of slots per worker")
    else:
        yield from _validate_minimum("spec.slotsPerWorker", spec.slots_per_worker, 1)


def _validate_run_policy(spec: MPIJobSpec) -> Iterator[Violation]:
    policy, field = spec.run_policy, "spec.runPolicy"
    if policy.clean_pod_policy is None:
        yield required(f"{field}.cleanPodPolicy", "must have clean Pod policy")
    else:
        yield from _validate_choice(f"{field}.cleanPodPolicy", policy.clean_pod_policy, types.CLEAN_POD_POLICIES)
    yield from _validate_minimum(f"{field}.ttlSecondsAfterFinished", policy.ttl_seconds_after_finished, 0)
    yield from _validate_minimum(f"{field}.activeDeadlineSeconds", policy.active_deadline_seconds, 0)
    yield from _validate_minimum(f"{field}.backoffLimit", policy.backoff_limit, 0)
    if policy.managed_by:
        yield from _validate_choice(f"{field}.managedBy", policy.managed_by, types.MANAGERS)
    yield from _validate_min_available(spec, policy)


def _validate_min_available(spec: MPIJobSpec, policy: RunPolicy) -> Iterator[Violation]:
    """Under WaitForWorkersReady the launcher is no member of the gang that is waited for (B043, B161)."""
    if policy.scheduling_policy is None or policy.scheduling_policy.min_available is None:
        return
    found = policy.scheduling_policy.min_available
    members = spec.gang_size
    if not 1 <= found <= members:
        yield invalid("spec.runPolicy.schedulingPolicy.minAvailable", found, f"must be between 1 and {members}")


def _validate_ssh_auth_mount_path(spec: MPIJobSpec) -> Iterator[Violation]:
    field, path = "spec.sshAuthMountPath", spec.ssh_auth_mount_path
    if not path:
        yield required(field, "must have a mount path for SSH credentials")
    elif not path.startswith("/"):
        yield invalid(field, path, "must be an absolute path, for example /root/.ssh")
    elif ":" in path:
        yield invalid(field, path, "must not contain ':'")
    elif _is_nested(path, names.CONFIG_MOUNT_PATH) or _is_nested(names.CONFIG_MOUNT_PATH, path):
        yield invalid(
            field, path, f"is reserved by the operator: must be outside of {names.CONFIG_MOUNT_PATH} and not above it"
        )


def _is_nested(inner: str, outer: str) -> bool:
    """Whether a path is the other one or lies below it."""
    return f"{normal_path(inner)}/".startswith(f"{normal_path(outer).rstrip('/')}/")


def _validate_choice(field: str, value: str, supported: tuple[str, ...]) -> Iterator[Violation]:
    if value not in supported:
        yield not_supported(field, value, supported)


def _validate_minimum(field: str, value: int | None, minimum: int) -> Iterator[Violation]:
    if value is not None and value < minimum:
        yield invalid(field, value, f"must be greater than or equal to {minimum}")
