"""The manifest of a worker's pod."""

from __future__ import annotations

from typing import Any

from mpi_operator import names
from mpi_operator.api.pod_template import read_template
from mpi_operator.api.types import MPIJob
from mpi_operator.children.metadata import build_owner_reference
from mpi_operator.children.pod import build_pod, main_container

_SSHD = ("/usr/sbin/sshd", "-De")


def build_worker(job: MPIJob, ordinal: int, *, cluster_domain: str = "") -> dict[str, Any]:
    """Return the manifest of the worker with that ordinal (B075-B083, B123-B131).

    Made from the template as the job has it now, sharing nothing with it. `job` is defaulted, valid and has a Worker
    entry; `cluster_domain` is the setting, `cluster.local` when it is empty (A1.21).
    """
    worker = job.spec.worker
    if worker is None:
        raise ValueError(f"cannot build worker {ordinal} of MPIJob {job.key}: it has no Worker replica spec")
    name = job.metadata.name
    view = read_template(worker.template)
    hostname = names.worker_name(name, ordinal)
    index = names.replica_index(ordinal, is_launcher_worker=job.spec.is_launcher_worker)
    pod = build_pod(
        job,
        worker,
        hostname=hostname,
        labels={**names.pod_labels(name, names.ROLE_WORKER), names.LABEL_REPLICA_INDEX: index},
        environment=[(names.ENV_JOB_ROLE, names.ROLE_WORKER)],
    )
    _add_search_domain(pod, job, cluster_domain)
    container = main_container(pod, view.main_container_index)
    if not container.get("command") and not container.get("args"):
        container["command"] = list(_SSHD)
    identity = {
        "name": hostname,
        "namespace": job.metadata.namespace,
        "ownerReferences": [build_owner_reference(job)],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**identity, **pod["metadata"]},
        "spec": pod["spec"],
    }


def _add_search_domain(pod: dict[str, Any], job: MPIJob, cluster_domain: str) -> None:
    """Let proxies on the workers resolve the short names that Hydra gives them (B125, images.md)."""
    domain = cluster_domain or names.DEFAULT_CLUSTER_DOMAIN
    own = pod["spec"].get("dnsConfig") or {}
    search = f"{names.service_name(job.metadata.name)}.{job.metadata.namespace}.svc.{domain}"
    pod["spec"]["dnsConfig"] = {**own, "searches": [*(own.get("searches") or ()), search]}
