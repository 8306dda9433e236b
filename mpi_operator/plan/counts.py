"""How many pods of each role there are, as `status.replicaStatuses` says."""

from __future__ import annotations

from collections.abc import Iterable

from mpi_operator.api.observed import FAILED, RUNNING, SUCCEEDED, Pod
from mpi_operator.api.types import ReplicaStatus, ReplicaStatuses
from mpi_operator.plan.facts import Facts


def count_replicas(facts: Facts, *, is_suspended: bool) -> ReplicaStatuses:
    """Return the counts, always of what the pods are (B223-B228, lifecycle.md 4 and 7).

    While the job is suspended every pod that still exists and is not terminal counts as active, because others free
    its resources when they read 0; else those in phase Running do. The Launcher entry appears with its Job, and stays.
    """
    return ReplicaStatuses(
        launcher=_count_launcher(facts, is_suspended=is_suspended),
        worker=_count_workers(facts, is_suspended=is_suspended),
    )


def _count_launcher(facts: Facts, *, is_suspended: bool) -> ReplicaStatus | None:
    launcher, recorded = facts.launcher, facts.job.status.replica_statuses.launcher
    if launcher.job is None and recorded is None:
        return None
    recorded = recorded or ReplicaStatus()
    job = launcher.job
    is_complete = launcher.succeeded_without_job is not None or (
        job is not None and job.condition("Complete") is not None
    )
    return ReplicaStatus(
        active=_count_active(launcher.owned, is_suspended=is_suspended),
        succeeded=1 if is_complete else (recorded.succeeded if job is None else 0),
        failed=recorded.failed if job is None else job.status.failed,
    )


def _count_workers(facts: Facts, *, is_suspended: bool) -> ReplicaStatus:
    ended = [worker.pod.status.phase for worker in facts.workers.ended]
    return ReplicaStatus(
        active=_count_active(facts.workers.owned, is_suspended=is_suspended),
        succeeded=ended.count(SUCCEEDED),
        failed=ended.count(FAILED),
    )


def _count_active(pods: Iterable[Pod], *, is_suspended: bool) -> int:
    return sum(not pod.is_terminal if is_suspended else pod.status.phase == RUNNING for pod in pods)
