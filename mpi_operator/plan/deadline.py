"""The deadline of a job while no launcher Job can keep it (lifecycle.md 8, A1.15)."""

from __future__ import annotations

from mpi_operator import reasons
from mpi_operator.plan.facts import Facts
from mpi_operator.plan.failure import Failure


def deadline_seconds_left(facts: Facts) -> float | None:
    """Return the seconds that an unsuspended job still has; None if there is no deadline, or the Job keeps it."""
    seconds = facts.job.spec.run_policy.active_deadline_seconds
    if seconds is None or facts.launcher.is_started:
        return None
    start = facts.job.status.start_time or facts.now
    return seconds - (facts.now - start).total_seconds()


def explain_deadline(facts: Facts) -> Failure:
    """Return the failure of a job that was active for too long."""
    reason = reasons.DEADLINE_EXCEEDED
    seconds = facts.job.spec.run_policy.active_deadline_seconds
    return Failure(reason=reason.name, message=reason.message(job=facts.job.key, seconds=seconds))
