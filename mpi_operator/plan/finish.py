"""Recording a result, and what follows it: clean-up and TTL (lifecycle.md 7, 8)."""

from __future__ import annotations

from datetime import datetime

from mpi_operator import names
from mpi_operator.actions import Delete
from mpi_operator.api import types
from mpi_operator.api.types import MPIJobStatus
from mpi_operator.children.container_failure import finished_at
from mpi_operator.children.launcher import plan as launcher
from mpi_operator.children.workers import plan as workers
from mpi_operator.conditions import terminal_condition
from mpi_operator.plan.compose import compose
from mpi_operator.plan.facts import Facts
from mpi_operator.plan.failure import Failure, explain_job_failure
from mpi_operator.plan.gang import plan_gang_removal
from mpi_operator.plan.outcome import Plan, Step
from mpi_operator.plan.settings import TtlTarget
from mpi_operator.plan.status import status_of_failed, status_of_finished, status_of_succeeded


def plan_finishing(facts: Facts) -> Plan:
    """Record what the launcher's Job, or its pod that outlived it, says; the status comes before any deletion."""
    return _plan_end(facts, _final_status(facts))


def plan_failure(facts: Facts, failure: Failure) -> Plan:
    """Record a failure that the launcher's Job cannot report: a deadline, or workers that never start."""
    return _plan_end(facts, status_of_failed(facts, failure))


def plan_finished(facts: Facts) -> Plan:
    """Clean up, and when the TTL has passed delete what it names. Conditions never change again."""
    remaining = _ttl_seconds_left(facts)
    if remaining is not None and remaining <= 0:
        steps, remaining = (plan_expiry(facts, ttl_target(facts)),), None
    else:
        steps = (_clean_up(facts),)
    return compose(facts, status_of_finished(facts), steps=steps, look_again=(remaining,))


def ttl_target(facts: Facts) -> TtlTarget:
    """Return what an expired TTL deletes: as the job's annotation says, else the setting."""
    wanted = facts.job.metadata.annotations.get(names.ANNOTATION_TTL_TARGET, "")
    if wanted == "mpijob":
        return "mpijob"
    return "launcher" if wanted == "launcher" else facts.settings.ttl_target


def plan_expiry(facts: Facts, target: TtlTarget) -> Step:
    """Delete the MPIJob, or the launcher's Job with its pods and every worker that is left."""
    if target == "mpijob":
        metadata = facts.job.metadata
        return (Delete(kind="MPIJob", namespace=metadata.namespace, name=metadata.name, uid=metadata.uid),)
    return (*launcher.plan_deletion(facts.launcher), *workers.plan_removal(facts.workers))


def _plan_end(facts: Facts, status: MPIJobStatus) -> Plan:
    return compose(facts, status, write="first", steps=(_clean_up(facts),), look_again=(_ttl(facts),))


def _final_status(facts: Facts) -> MPIJobStatus:
    job = facts.launcher.job
    pod = facts.launcher.succeeded_without_job
    if job is None or pod is not None:
        return status_of_succeeded(facts, finished_at(pod) if pod is not None else None)
    complete, failed = job.condition("Complete"), job.condition("Failed")
    if complete is not None or failed is None:
        transition = complete.last_transition_time if complete is not None else None
        return status_of_succeeded(facts, job.status.completion_time or transition)
    return status_of_failed(facts, explain_job_failure(failed, facts.launcher, facts.conditions, facts.job.key))


def _clean_up(facts: Facts) -> Step:
    """Delete what cleanPodPolicy says, where all but All and Running keeps every pod (B211-B219); and the gang."""
    gang = plan_gang_removal(facts)
    policy = facts.job.spec.run_policy.clean_pod_policy
    if policy == types.CLEAN_ALL:
        return (*workers.plan_removal(facts.workers), *launcher.plan_pod_deletion(facts.launcher), *gang)
    if policy == types.CLEAN_RUNNING:
        return (*workers.plan_removal_of_unfinished(facts.workers), *gang)
    return gang


def _ttl(facts: Facts) -> float | None:
    seconds = facts.job.spec.run_policy.ttl_seconds_after_finished
    return float(seconds) if seconds is not None and seconds >= 0 else None


def _ttl_seconds_left(facts: Facts) -> float | None:
    """Return the seconds until the TTL ends, below zero once it has; None without one."""
    ttl = _ttl(facts)
    base = _finished_at(facts)
    if ttl is None or base is None:
        return None
    return ttl - (facts.now - base).total_seconds()


def _finished_at(facts: Facts) -> datetime | None:
    terminal = terminal_condition(facts.conditions)
    return facts.job.status.completion_time or (terminal.last_transition_time if terminal is not None else None)
