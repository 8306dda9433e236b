"""What is done about the workers."""

from __future__ import annotations

from collections.abc import Iterable

from mpi_operator import names
from mpi_operator.actions import Create, CreateWorkers, Delete, Patch
from mpi_operator.api.observed import TERMINAL_PHASES, Pod
from mpi_operator.api.types import MPIJob
from mpi_operator.children.ownership import plan_patch
from mpi_operator.children.workers.build import build_worker
from mpi_operator.children.workers.classify import Workers


def plan_creation(job: MPIJob, workers: Workers, *, cluster_domain: str) -> tuple[CreateWorkers, ...]:
    """Create every missing worker, in one batch by ordinal, from the template as it is now (K5); nothing if none is."""
    if not workers.missing:
        return ()
    name, namespace = job.metadata.name, job.metadata.namespace
    pods = tuple(
        Create(
            kind="Pod",
            namespace=namespace,
            name=names.worker_name(name, ordinal),
            manifest=build_worker(job, ordinal, cluster_domain=cluster_domain),
        )
        for ordinal in workers.missing
    )
    return (CreateWorkers(pods=pods),)


def plan_scale_down(workers: Workers) -> tuple[Delete, ...]:
    """Delete the workers above the wanted number (A1.1, B134)."""
    return plan_deletion(worker.pod for worker in workers.surplus)


def plan_removal(workers: Workers) -> tuple[Delete, ...]:
    """Delete every owned worker, whatever its phase or ordinal, as a suspension does (A1.8, A1.9)."""
    return plan_deletion(workers.owned)


def plan_removal_of_unfinished(workers: Workers) -> tuple[Delete, ...]:
    """Delete the workers that are Pending or Running, as cleanPodPolicy Running says (B213)."""
    return plan_deletion(pod for pod in workers.owned if pod.status.phase not in TERMINAL_PHASES)


def plan_adoption(job: MPIJob, workers: Workers) -> tuple[Patch, ...]:
    """Give our workers the labels that they lack (lifecycle.md 2)."""
    return tuple(
        patch
        for pod in workers.owned
        if not pod.metadata.is_terminating
        for patch in plan_patch("Pod", pod.metadata, job, {})
    )


def plan_deletion(pods: Iterable[Pod]) -> tuple[Delete, ...]:
    """Delete these pods, less those that have been told to go already."""
    return tuple(
        Delete(kind="Pod", namespace=pod.metadata.namespace, name=pod.metadata.name, uid=pod.metadata.uid)
        for pod in pods
        if not pod.metadata.is_terminating
    )
