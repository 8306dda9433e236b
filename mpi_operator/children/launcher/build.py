"""The manifest of the launcher's Job, and those parts of it that may change while it is suspended."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from mpi_operator import names
from mpi_operator.api.pod_template import read_template
from mpi_operator.api.types import MPIJob, ReplicaSpec
from mpi_operator.children.launcher.environment import build_environment
from mpi_operator.children.metadata import build_metadata
from mpi_operator.children.pod import add_volume, build_pod

_READABLE, _EXECUTABLE = 0o444, 0o555
_HASH_LENGTH = 16
_DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")


def build_launcher_job(job: MPIJob, *, is_suspended: bool) -> dict[str, Any]:
    """Return the manifest of the launcher's Job (B140-B155), which never has a TTL of its own (B141).

    `job` is defaulted and valid. Whether the Job starts suspended is the caller's to decide (lifecycle.md 3); `suspend`
    is absent where it does not (B143).
    """
    metadata = build_metadata(job, names.launcher_name(job.metadata.name))
    metadata["annotations"] = {names.ANNOTATION_TEMPLATE_HASH: template_hash(job)}
    policy = job.spec.run_policy
    spec: dict[str, Any] = {"template": build_pod_template(job), "podReplacementPolicy": "Failed"}
    if policy.active_deadline_seconds is not None:
        spec["activeDeadlineSeconds"] = policy.active_deadline_seconds
    if policy.backoff_limit is not None:
        spec["backoffLimit"] = policy.backoff_limit
    if is_suspended:
        spec["suspend"] = True
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def build_pod_template(job: MPIJob) -> dict[str, Any]:
    """Return the pod template of the launcher's Job, sharing nothing with the job's own."""
    launcher = _launcher(job)
    name = job.metadata.name
    view = read_template(launcher.template)
    main = view.main_container_index
    labels = names.pod_labels(name, names.ROLE_LAUNCHER)
    if job.spec.is_launcher_worker:
        labels[names.LABEL_REPLICA_INDEX] = "0"
    pod = build_pod(
        job,
        launcher,
        hostname=names.launcher_name(name),
        labels=labels,
        environment=build_environment(job.spec, (view.spec.containers or ())[main]),
    )
    add_volume(pod, _build_config_volume(name), mount_path=names.CONFIG_MOUNT_PATH, container_index=main)
    return pod


def build_scheduling_directives(job: MPIJob) -> dict[str, Any]:
    """Return those parts of the pod template that a suspended Job lets change (B203, KEP-2926), each one present.

    Labels and annotations, nodeSelector, node affinity, tolerations and schedulingGates, empty where the template has
    none. The Job controller's own labels are not among them: they stay as the Job has them.
    """
    template = build_pod_template(job)
    spec = template["spec"]
    affinity = spec.get("affinity") or {}
    return {
        "metadata": template["metadata"],
        "spec": {
            "nodeSelector": spec.get("nodeSelector") or {},
            "affinity": {"nodeAffinity": affinity.get("nodeAffinity") or {}},
            "tolerations": spec.get("tolerations") or [],
            "schedulingGates": spec.get("schedulingGates") or [],
        },
    }


def template_hash(job: MPIJob) -> str:
    """Return a short hash of all that shapes the launcher's pods, less its scheduling directives (B205).

    Taken of what the user wrote and not of what was made from it, so that another version of the operator finds the
    same. Two jobs that differ only in directives have the same hash.
    """
    launcher = _launcher(job)
    spec = {key: value for key, value in launcher.template["spec"].items() if key not in _DIRECTIVES}
    affinity = {key: value for key, value in (spec.pop("affinity", None) or {}).items() if key != "nodeAffinity"}
    shape = {
        "spec": spec,
        "affinity": affinity,
        "mainContainer": read_template(launcher.template).main_container_index,
        "restartPolicy": launcher.restart_policy,
        "slotsPerWorker": job.spec.slots_per_worker,
        "runLauncherAsWorker": job.spec.is_launcher_worker,
        "sshAuthMountPath": job.spec.ssh_auth_mount_path,
        "mpiImplementation": job.spec.mpi_implementation,
    }
    return hashlib.sha256(msgspec.json.encode(shape, order="deterministic")).hexdigest()[:_HASH_LENGTH]


def is_restart_policy_overridden(job: MPIJob) -> bool:
    """Whether the launcher's template names a restart policy, which the one of the replica spec replaces (B148)."""
    return bool(read_template(_launcher(job).template).spec.restart_policy)


def _launcher(job: MPIJob) -> ReplicaSpec:
    if job.spec.launcher is None:
        raise ValueError(f"cannot build the launcher of MPIJob {job.key}: it has no Launcher replica spec")
    return job.spec.launcher


def _build_config_volume(job_name: str) -> dict[str, Any]:
    """The files' modes are per item; no default mode (B098, B099)."""
    return {
        "name": names.CONFIG_VOLUME,
        "configMap": {
            "name": names.config_map_name(job_name),
            "items": [
                {"key": names.HOSTFILE, "path": names.HOSTFILE, "mode": _READABLE},
                {"key": names.DISCOVER_HOSTS, "path": names.DISCOVER_HOSTS, "mode": _EXECUTABLE},
            ],
        },
    }
