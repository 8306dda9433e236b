"""Jobs whose spec is not valid (lifecycle.md 1.6)."""

from __future__ import annotations

from mpi_operator.plan.compose import build_violation_events, compose
from mpi_operator.plan.facts import Facts
from mpi_operator.plan.outcome import Plan
from mpi_operator.plan.status import status_of_frozen, status_of_refused


def plan_refused(facts: Facts) -> Plan:
    """Tell the user, in a condition and an event, and wait for an edit (B045).

    The event goes with the condition; only an edit that leaves the condition's text as it is needs one of its own.
    """
    status = status_of_refused(facts)
    is_old_news = status == facts.job.status and facts.job.metadata.generation > 1
    return compose(facts, status, events=build_violation_events(facts) if is_old_news else ())


def plan_frozen(facts: Facts) -> Plan:
    """Go on observing a job that was edited into an invalid one; create and delete nothing (B047, A1.11)."""
    return compose(facts, status_of_frozen(facts), events=build_violation_events(facts))
