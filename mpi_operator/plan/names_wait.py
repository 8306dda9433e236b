"""Names that others hold: when to look again, and what to say (lifecycle.md 2)."""

from __future__ import annotations

from mpi_operator import conditions, reasons
from mpi_operator.api.types import MPIJobStatus
from mpi_operator.plan.facts import Facts
from mpi_operator.plan.outcome import Event

LEAVING_SECONDS = 1.0
MAX_FOREIGN_SECONDS = 30.0


def look_again_for_names(facts: Facts, status: MPIJobStatus) -> tuple[float | None, ...]:
    """Return when to look again: soon for a name that is on its way out, with back-off for one that is taken.

    Who holds a name may be in no cache, so that no event tells when it goes. The back-off doubles without being
    remembered anywhere: it is as long as the status has been saying so. A job that needs the name for nothing now,
    because it runs or is suspended, is in no hurry.
    """
    leaving = LEAVING_SECONDS if facts.is_waiting_for_names else None
    former = LEAVING_SECONDS if facts.launcher.job is None and facts.launcher.former else None
    return leaving, former, _foreign_backoff(facts, status) if facts.foreign else None


def build_foreign_events(facts: Facts, status: MPIJobStatus) -> tuple[Event, ...]:
    """Return a warning for each name that is taken, where the status has no room to say so."""
    if not facts.foreign or _is_said(status):
        return ()
    reason = reasons.RESOURCE_EXISTS
    return tuple(
        Event(
            type="Warning",
            reason=reason.name,
            message=reason.message(kind=taken.kind, name=taken.name),
            once=f"{reason.name}/{taken.kind}/{taken.name}",
        )
        for taken in facts.foreign
    )


def _is_said(status: MPIJobStatus) -> bool:
    running = conditions.find_condition(status.conditions, conditions.RUNNING)
    return running is not None and running.reason == reasons.RESOURCE_EXISTS.name


def _foreign_backoff(facts: Facts, status: MPIJobStatus) -> float:
    if not _is_said(status):
        return MAX_FOREIGN_SECONDS
    running = conditions.find_condition(facts.conditions, conditions.RUNNING)
    if running is None or running.reason != reasons.RESOURCE_EXISTS.name or running.last_update_time is None:
        return LEAVING_SECONDS
    elapsed = (facts.now - running.last_update_time).total_seconds()
    return min(max(elapsed, LEAVING_SECONDS), MAX_FOREIGN_SECONDS)
