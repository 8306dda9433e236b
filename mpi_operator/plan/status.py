"""The next status of a job: old status, facts → new status, from what was observed, never from what actions hope."""

from __future__ import annotations

from datetime import datetime

import msgspec

from mpi_operator import reasons
from mpi_operator.api.metadata import whole_seconds
from mpi_operator.api.types import Condition, MPIJobStatus
from mpi_operator.api.violation import describe_violations
from mpi_operator.children.container_failure import describe_failure
from mpi_operator.conditions import (
    CREATED,
    FAILED,
    RESTARTING,
    RUNNING,
    SUCCEEDED,
    SUSPENDED,
    Conditions,
    find_condition,
    finish,
    is_condition_true,
    set_condition,
)
from mpi_operator.plan.counts import count_replicas
from mpi_operator.plan.facts import Facts
from mpi_operator.plan.failure import Failure
from mpi_operator.plan.scheduling import REFRESH_SECONDS, find_unschedulable

_CREATED = reasons.CREATED.name
_OBSTACLES = frozenset({reasons.RESOURCE_EXISTS.name, reasons.FAILED_CREATE.name, reasons.UNSCHEDULABLE.name})


def status_of_refused(facts: Facts) -> MPIJobStatus:
    """Created=False with what is wrong (B045)."""
    message = reasons.VALIDATION_ERROR.message(errors=describe_violations(facts.reported))
    listed = set_condition(
        facts.conditions,
        CREATED,
        status=False,
        reason=reasons.VALIDATION_ERROR.name,
        message=message,
        now=facts.now,
    )
    return _replace(facts, conditions=listed)


def status_of_active(facts: Facts) -> MPIJobStatus:
    """Created, startTime, counts, and whether it runs (B221-B230)."""
    return _replace(
        facts,
        conditions=_with_running(facts, _with_created(facts)),
        replica_statuses=count_replicas(facts, is_suspended=False),
        start_time=facts.job.status.start_time or whole_seconds(facts.now),
    )


def status_of_frozen(facts: Facts) -> MPIJobStatus:
    """Counts and whether it runs; Created stays as it is (B047)."""
    return _replace(
        facts,
        conditions=_with_running(facts, facts.conditions),
        replica_statuses=count_replicas(facts, is_suspended=False),
    )


def status_of_suspended(facts: Facts) -> MPIJobStatus:
    """Suspended, not running, startTime kept, and every pod counted that is left (B195-B199)."""
    listed = facts.conditions if facts.violations else _with_created(facts)
    suspended, not_running = reasons.SUSPENDED, reasons.NOT_RUNNING_WHILE_SUSPENDED
    listed = set_condition(
        listed, SUSPENDED, status=True, reason=suspended.name, message=suspended.message(), now=facts.now
    )
    listed = set_condition(
        listed,
        RUNNING,
        status=False,
        reason=not_running.name,
        message=not_running.message(job=facts.job.key),
        now=facts.now,
    )
    return _replace(facts, conditions=listed, replica_statuses=count_replicas(facts, is_suspended=True))


def status_of_resuming(facts: Facts) -> MPIJobStatus:
    """Suspended=False and a new startTime, and nothing else (lifecycle.md 4)."""
    resumed = reasons.RESUMED
    listed = set_condition(
        facts.conditions, SUSPENDED, status=False, reason=resumed.name, message=resumed.message(), now=facts.now
    )
    return _replace(facts, conditions=listed, start_time=whole_seconds(facts.now))


def status_of_succeeded(facts: Facts, completed_at: datetime | None) -> MPIJobStatus:
    """Succeeded, exactly once (B232-B235)."""
    succeeded = Failure(
        reason=reasons.SUCCEEDED.name,
        message=reasons.SUCCEEDED.message(job=facts.job.key),
        failed_at=completed_at,
    )
    return _finished(facts, SUCCEEDED, succeeded)


def status_of_failed(facts: Facts, failure: Failure) -> MPIJobStatus:
    """Failed, exactly once (B236-B239)."""
    return _finished(facts, FAILED, failure)


def status_of_finished(facts: Facts) -> MPIJobStatus:
    """A finished job's conditions stay; only its pods are still counted (lifecycle.md 7)."""
    return _replace(facts, replica_statuses=count_replicas(facts, is_suspended=False))


def with_obstacle(status: MPIJobStatus, reason: reasons.Reason, message: str, now: datetime) -> MPIJobStatus:
    """Return the status with what keeps the job from running, unless it runs all the same or has finished."""
    if is_condition_true(status.conditions, RUNNING):
        return status
    listed = set_condition(status.conditions, RUNNING, status=False, reason=reason.name, message=message, now=now)
    return msgspec.structs.replace(status, conditions=listed)


def _replace(facts: Facts, **changes: object) -> MPIJobStatus:
    return msgspec.structs.replace(facts.job.status, **changes)


def _with_created(facts: Facts) -> Conditions:
    if is_condition_true(facts.conditions, CREATED):
        return facts.conditions
    message = reasons.CREATED.message(job=facts.job.key)
    return set_condition(facts.conditions, CREATED, status=True, reason=_CREATED, message=message, now=facts.now)


def _finished(facts: Facts, kind: str, outcome: Failure) -> MPIJobStatus:
    completion_time = whole_seconds(outcome.failed_at or facts.now)
    never_running = reasons.NEVER_RUNNING
    listed = finish(
        _with_created(facts),
        kind,
        reason=outcome.reason,
        message=outcome.message,
        never_running=Condition(
            type=RUNNING,
            status="False",
            reason=never_running.name,
            message=never_running.message(job=facts.job.key),
        ),
        completion_time=completion_time,
        now=facts.now,
    )
    return _replace(
        facts,
        conditions=listed,
        completion_time=completion_time,
        replica_statuses=count_replicas(facts, is_suspended=False),
    )


def _with_running(facts: Facts, listed: Conditions) -> Conditions:
    """Return the conditions with Running and Restarting as the pods say (lifecycle.md 6)."""
    if facts.launcher.is_finishing:
        return listed
    if facts.launcher.is_running and facts.workers.are_all_running and not _has_new_attempt_failed(facts):
        return _with_running_again(facts, listed)
    if facts.foreign:
        return _with_name_taken(facts, listed)
    return _with_not_running(facts, listed)


def _with_name_taken(facts: Facts, listed: Conditions) -> Conditions:
    taken, exists = facts.foreign[0], reasons.RESOURCE_EXISTS
    message = exists.message(kind=taken.kind, name=taken.name)
    return set_condition(listed, RUNNING, status=False, reason=exists.name, message=message, now=facts.now)


def _with_not_running(facts: Facts, listed: Conditions) -> Conditions:
    """Say why a job does not run: the launcher restarts, no node takes a pod, or pods are not all there."""
    restarted = _with_restarting(facts, listed)
    unschedulable = find_unschedulable(facts)
    if unschedulable is not None and unschedulable.is_reported:
        return _with_unschedulable(restarted, unschedulable.message, facts.now)
    running = find_condition(restarted, RUNNING)
    if running is None:
        return restarted
    is_overcome = running.reason in _OBSTACLES and not _lacks_children(facts, running)
    if running.is_true or is_overcome or running.reason == reasons.WORKERS_NOT_RUNNING.name:
        return _with_workers_not_running(facts, restarted)
    return restarted


def _lacks_children(facts: Facts, running: Condition) -> bool:
    """Whether a refused create is still to be repeated."""
    is_launcher_missing = facts.launcher.job is None and not facts.is_held
    return running.reason == reasons.FAILED_CREATE.name and (bool(facts.workers.missing) or is_launcher_missing)


def _with_running_again(facts: Facts, listed: Conditions) -> Conditions:
    """Set Running; what Restarting said of the last attempt is kept, for it may explain a later failure."""
    running = reasons.RUNNING
    before = find_condition(listed, RESTARTING)
    listed = set_condition(
        listed, RUNNING, status=True, reason=running.name, message=running.message(job=facts.job.key), now=facts.now
    )
    if before is None:
        return listed
    return tuple(
        msgspec.structs.replace(condition, reason=before.reason, message=before.message)
        if condition.type == RESTARTING
        else condition
        for condition in listed
    )


def _restarting_message(facts: Facts) -> str | None:
    """Return what there is to say of the launcher's last failed attempt, if another follows."""
    attempt = facts.launcher.last_attempt
    if attempt is None or not facts.launcher.will_be_retried:
        return None
    failure = describe_failure(attempt.pod)
    return reasons.RESTARTING.message(attempt=attempt.number, job=facts.job.key, failure=failure)


def _has_new_attempt_failed(facts: Facts) -> bool:
    """Whether a Running job's launcher failed since, although it may run again already; each attempt is told once.

    Clocks of nodes may be off, so an attempt that was told of is known by its text; the same text may come again in
    another life of the launcher's Job, so what ended after the job was Running is news unless the launcher runs again.
    """
    running, restarting = find_condition(facts.conditions, RUNNING), find_condition(facts.conditions, RESTARTING)
    message = _restarting_message(facts)
    attempt = facts.launcher.last_attempt
    if running is None or not running.is_true or message is None or attempt is None:
        return False
    since = running.last_transition_time
    is_recent = attempt.ended_at is None or since is None or attempt.ended_at >= since
    is_told = restarting is not None and restarting.message == message
    return (is_recent and not is_told) if facts.launcher.is_running else (is_recent or not is_told)


def _with_restarting(facts: Facts, listed: Conditions) -> Conditions:
    message = _restarting_message(facts)
    is_restarting = is_condition_true(listed, RESTARTING)
    if message is None or not (is_restarting or _has_new_attempt_failed(facts)):
        return listed
    return set_condition(
        listed, RESTARTING, status=True, reason=reasons.RESTARTING.name, message=message, now=facts.now
    )


def _with_unschedulable(listed: Conditions, message: str, now: datetime) -> Conditions:
    current = find_condition(listed, RUNNING)
    reason = reasons.UNSCHEDULABLE
    if current is not None and current.reason == reason.name and current.last_update_time is not None:
        is_fresh = (now - current.last_update_time).total_seconds() < REFRESH_SECONDS
        message = current.message if is_fresh else message
    return set_condition(
        listed, RUNNING, status=False, reason=reason.name, message=reason.message(message=message), now=now
    )


def _with_workers_not_running(facts: Facts, listed: Conditions) -> Conditions:
    reason, workers = reasons.WORKERS_NOT_RUNNING, facts.workers
    message = reason.message(running=len(workers.running), wanted=workers.wanted, job=facts.job.key)
    return set_condition(listed, RUNNING, status=False, reason=reason.name, message=message, now=facts.now)
