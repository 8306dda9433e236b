"""Snapshot, settings, now → Plan: the one decision of the operator (lifecycle.md).

Total and deterministic: every snapshot has a plan, an invalid job gives events and never an exception, and the order
in which pods come does not matter. Each phase has its planner; the phases are a table in `lifecycle`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from mpi_operator.plan.active import plan_active, plan_resuming
from mpi_operator.plan.facts import Facts, gather
from mpi_operator.plan.finish import plan_finished, plan_finishing
from mpi_operator.plan.invalid import plan_frozen, plan_refused
from mpi_operator.plan.lifecycle import Phase, phase_of
from mpi_operator.plan.outcome import Plan
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from mpi_operator.plan.suspended import plan_suspended


def plan(snapshot: Snapshot, settings: Settings, now: datetime) -> Plan:
    """Decide all that should follow from a snapshot at an (aware) time. Never raises for anything that decodes."""
    facts = gather(snapshot, settings, now)
    return _PLANNERS[phase_of(facts)](facts)


def _plan_nothing(facts: Facts) -> Plan:
    return Plan(status=facts.snapshot.job.status)


_PLANNERS: Mapping[Phase, Callable[[Facts], Plan]] = {
    Phase.ELSEWHERE: _plan_nothing,
    Phase.DELETING: _plan_nothing,
    Phase.FINISHED: plan_finished,
    Phase.FINISHING: plan_finishing,
    Phase.REFUSED: plan_refused,
    Phase.SUSPENDED: plan_suspended,
    Phase.FROZEN: plan_frozen,
    Phase.RESUMING: plan_resuming,
    Phase.ACTIVE: plan_active,
}
