"""When to look again at names that others hold (lifecycle.md 2)."""

from __future__ import annotations

from mpi_operator import conditions, reasons
from mpi_operator.plan.facts import Facts

LEAVING_SECONDS = 1.0
MAX_FOREIGN_SECONDS = 30.0


def look_again_for_names(facts: Facts) -> tuple[float | None, ...]:
    """Return when to look again: soon for a name that is on its way out, with back-off for one that is taken.

    Who holds a name may be in no cache, so that no event tells when it goes. The back-off doubles without being
    remembered anywhere: it is as long as the status has been saying so.
    """
    leaving = LEAVING_SECONDS if facts.is_waiting_for_names else None
    former = LEAVING_SECONDS if facts.launcher.job is None and facts.launcher.former else None
    return leaving, former, _foreign_backoff(facts) if facts.foreign else None


def _foreign_backoff(facts: Facts) -> float:
    running = conditions.find_condition(facts.conditions, conditions.RUNNING)
    if running is None or running.reason != reasons.RESOURCE_EXISTS.name or running.last_update_time is None:
        return LEAVING_SECONDS
    elapsed = (facts.now - running.last_update_time).total_seconds()
    return min(max(elapsed, LEAVING_SECONDS), MAX_FOREIGN_SECONDS)
