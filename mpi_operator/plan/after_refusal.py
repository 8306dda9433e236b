"""What follows when the server refuses, for good, what a plan asked for (lifecycle.md 2 and 8)."""

from __future__ import annotations

from datetime import datetime

from mpi_operator import reasons
from mpi_operator.actions import Create, Delete, EnsureSecret
from mpi_operator.plan.facts import gather
from mpi_operator.plan.finish import plan_expiry
from mpi_operator.plan.outcome import Event, Plan, Refusal
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from mpi_operator.plan.status import with_obstacle
from mpi_operator.plan.transitions import build_counters, build_transitions


def plan_after_refusal(
    snapshot: Snapshot, decided: Plan, refusals: tuple[Refusal, ...], settings: Settings, now: datetime
) -> Plan:
    """Return the plan that takes the place of what is left of `decided` once its actions have been tried.

    A refused create: the status as decided, with Running=False and the server's message, and one warning; the caller
    retries with back-off of at most 5 minutes. A refused deletion of the MPIJob: a warning, and the launcher rule of
    the TTL instead, whose actions are still to be carried out. Refusals of other actions say nothing to users, and
    are for the caller to retry. Events of `decided` that need no status write are still due.
    """
    creates = sorted(_creates(refusals))
    status = decided.status
    if creates:
        kind, name, message = creates[0]
        failed = reasons.FAILED_CREATE
        text = failed.message(kind=kind, name=name, message=message)
        status = with_obstacle(status, failed, text, now)
    is_delete_refused = any(
        isinstance(refusal.action, Delete) and refusal.action.kind == "MPIJob" for refusal in refusals
    )
    facts = gather(snapshot, settings, now)
    forbidden = reasons.TTL_DELETE_FORBIDDEN
    warning = Event(
        type="Warning",
        reason=forbidden.name,
        message=forbidden.message(job=snapshot.job.key),
        once=forbidden.name,
    )
    is_told = not is_delete_refused or warning.once in snapshot.announced
    written = decided.status if decided.status_write == "first" else snapshot.job.status
    return Plan(
        status=status,
        status_write="none" if status == written else "last",
        steps=(plan_expiry(facts, "launcher"),) if is_delete_refused else (),
        transitions=build_transitions(facts.job, written, status),
        counters=build_counters(written, status),
        events=(*decided.events, *(() if is_told else (warning,))),
    )


def _creates(refusals: tuple[Refusal, ...]) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for refusal in refusals:
        action = refusal.action
        if isinstance(action, Create):
            found.append((action.kind, action.name, refusal.message))
        elif isinstance(action, EnsureSecret):
            found.append(("Secret", action.name, refusal.message))
    return found
