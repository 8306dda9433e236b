"""What the pods of the launcher and of the workers have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from mpi_operator import names
from mpi_operator.api.pod_template import Container, PodSpec, read_template
from mpi_operator.api.template_validation import normal_path
from mpi_operator.api.types import MPIJob, ReplicaSpec

_OWNER_ONLY = 0o600
_ROOT_HOME = "/root"


def build_pod(
    job: MPIJob,
    replica_spec: ReplicaSpec,
    *,
    hostname: str,
    labels: Mapping[str, str],
    environment: Iterable[tuple[str, str]],
) -> dict[str, Any]:
    """Return `metadata` (labels and annotations) and `spec` of a pod made from a replica's template.

    The answer shares nothing with the template. Only labels and annotations of the template's metadata are taken
    (B083), the operator's labels win (B082); the main container gets the environment, less what the user set (A1.22),
    and the ssh keys (B112-B114). Asks for a job that passed validation.
    """
    view = read_template(replica_spec.template)
    main = view.main_container_index
    spec: dict[str, Any] = deepcopy(dict(replica_spec.template["spec"]))
    spec["hostname"] = hostname
    spec["subdomain"] = names.service_name(job.metadata.name)
    spec["restartPolicy"] = replica_spec.restart_policy
    if view.spec.host_network:
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    pod: dict[str, Any] = {
        "metadata": {
            "labels": {**(view.metadata.labels or {}), **labels},
            "annotations": dict(view.metadata.annotations or {}),
        },
        "spec": spec,
    }
    _append_environment(main_container(pod, main), environment)
    add_volume(
        pod,
        _build_ssh_volume(job, view.spec, (view.spec.containers or ())[main]),
        mount_path=job.spec.ssh_auth_mount_path,
        container_index=main,
    )
    return pod


def main_container(pod: dict[str, Any], index: int) -> dict[str, Any]:
    """Return the container at that index of a pod made by `build_pod`."""
    container: dict[str, Any] = pod["spec"]["containers"][index]
    return container


def add_volume(pod: dict[str, Any], volume: dict[str, Any], *, mount_path: str, container_index: int) -> None:
    """Append a volume to the pod, and its mount to one container, after the user's own (B155)."""
    spec = pod["spec"]
    spec["volumes"] = [*(spec.get("volumes") or ()), volume]
    container = main_container(pod, container_index)
    mount = {"name": volume["name"], "mountPath": mount_path}
    container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]


def _append_environment(container: dict[str, Any], environment: Iterable[tuple[str, str]]) -> None:
    own = container.get("env") or []
    taken = {variable.get("name") for variable in own}
    added = [{"name": name, "value": value} for name, value in environment if name not in taken]
    container["env"] = [*own, *added]


def _build_ssh_volume(job: MPIJob, spec: PodSpec, main: Container) -> dict[str, Any]:
    secret: dict[str, Any] = {
        "secretName": names.ssh_secret_name(job.metadata.name),
        "items": [
            {"key": names.SSH_PRIVATE_KEY, "path": names.SSH_PRIVATE_KEY_FILE},
            {"key": names.SSH_PUBLIC_KEY, "path": names.SSH_PUBLIC_KEY_FILE},
            {"key": names.SSH_PUBLIC_KEY, "path": names.SSH_AUTHORIZED_KEYS_FILE},
        ],
    }
    if _runs_as_root(spec, main, job.spec.ssh_auth_mount_path):
        secret["defaultMode"] = _OWNER_ONLY
    return {"name": names.SSH_AUTH_VOLUME, "secret": secret}


def _runs_as_root(spec: PodSpec, main: Container, ssh_auth_mount_path: str) -> bool:
    """Whether the keys will be read by root, whose ssh refuses files that others may read (B113, A1.24, images.md).

    Another user could not read them at all with that mode. Where the template does not name the user, keys that are
    mounted in root's home are root's.
    """
    contexts = [context for context in (main.security_context, spec.security_context) if context is not None]
    user = next((context.run_as_user for context in contexts if context.run_as_user is not None), None)
    if user is not None:
        return user == 0
    if next((context.run_as_non_root for context in contexts if context.run_as_non_root is not None), False):
        return False
    return f"{normal_path(ssh_auth_mount_path)}/".startswith(f"{_ROOT_HOME}/")
