"""The manifest of the job's ConfigMap: which hosts there are, and which of them run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from mpi_operator import names
from mpi_operator.api import types
from mpi_operator.api.types import MPIJob
from mpi_operator.children.metadata import build_metadata

_HASH_LENGTH = 16


def build_config_map(job: MPIJob, *, running: Iterable[int], cluster_domain: str = "") -> dict[str, Any]:
    """Return the ConfigMap with the hostfile and discover_hosts.sh (B088-B108).

    `running` are the ordinals of our workers that run and are not terminating, in any order; those that are surplus
    are left out (A1.18). `cluster_domain` is the setting, appended only if there is one. Names reach a shell script:
    the job must be valid, which makes them DNS labels.
    """
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": build_metadata(job, names.config_map_name(job.metadata.name)),
        "data": {
            names.HOSTFILE: _build_hostfile(job, cluster_domain),
            names.DISCOVER_HOSTS: _build_discover_hosts(job, running, cluster_domain),
        },
    }


def hosts_version(data: Mapping[str, str]) -> str:
    """Return a short hash of the hosts in a ConfigMap's data, for the launcher pod's annotation (lifecycle.md 9)."""
    text = "\0".join((data.get(names.HOSTFILE, ""), data.get(names.DISCOVER_HOSTS, "")))
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]


def _build_hostfile(job: MPIJob, cluster_domain: str) -> str:
    """Every wanted host, whatever the state of its pod (B088-B095).

    Hydra starts a host's ranks without ssh only if the hostfile calls it by its own hostname: a launcher that runs
    ranks has no sshd, so for Intel MPI and MPICH it stands there by that name (tried with both; images.md).
    """
    slots = 1 if job.spec.slots_per_worker is None else job.spec.slots_per_worker
    workers = _worker_hosts(job, range(job.spec.worker_replicas), cluster_domain)
    if job.spec.mpi_implementation == types.OPEN_MPI:
        hosts, separator = [*_launcher_hosts(job, cluster_domain), *workers], " slots="
    else:
        own_name = [names.launcher_name(job.metadata.name)] if job.spec.is_launcher_worker else []
        hosts, separator = [*own_name, *workers], ":"
    return "".join(f"{host}{separator}{slots}\n" for host in hosts)


def _build_discover_hosts(job: MPIJob, running: Iterable[int], cluster_domain: str) -> str:
    """The hosts that elastic Horovod may use now, in numeric order, without slots (B100-B107)."""
    ordinals = sorted(ordinal for ordinal in set(running) if ordinal < job.spec.worker_replicas)
    hosts = [*_launcher_hosts(job, cluster_domain), *_worker_hosts(job, ordinals, cluster_domain)]
    return "#!/bin/sh\n" + "".join(f"echo {host}\n" for host in hosts)


def _launcher_hosts(job: MPIJob, cluster_domain: str) -> list[str]:
    """The launcher, where it runs ranks too (B093, B103)."""
    return [_host(job, names.launcher_name(job.metadata.name), cluster_domain)] if job.spec.is_launcher_worker else []


def _worker_hosts(job: MPIJob, ordinals: Iterable[int], cluster_domain: str) -> list[str]:
    return [_host(job, names.worker_name(job.metadata.name, ordinal), cluster_domain) for ordinal in ordinals]


def _host(job: MPIJob, pod: str, cluster_domain: str) -> str:
    return names.host_name(
        pod, job_name=job.metadata.name, namespace=job.metadata.namespace, cluster_domain=cluster_domain
    )
