"""Putting a Plan together, so that every phase keeps the same promises."""

from __future__ import annotations

from collections.abc import Iterable

from mpi_operator import reasons
from mpi_operator.api.types import MPIJobStatus
from mpi_operator.api.violation import describe_violations
from mpi_operator.plan.facts import Facts
from mpi_operator.plan.outcome import Event, Plan, StatusWrite, Step
from mpi_operator.plan.transitions import build_counters, build_transitions, build_validation_event


def compose(
    facts: Facts,
    status: MPIJobStatus,
    *,
    write: StatusWrite = "last",
    steps: Iterable[Step] = (),
    events: Iterable[Event] = (),
    look_again: Iterable[float | None] = (),
) -> Plan:
    """Return the plan: no status write without a change, events and counters from the change, no empty step.

    Events that this process has emitted are left out. The earliest of the times to look again counts, and none is
    below zero.
    """
    stored = facts.job.status
    waits = [max(seconds, 0.0) for seconds in look_again if seconds is not None]
    return Plan(
        status=status,
        status_write="none" if status == stored else write,
        steps=tuple(step for step in steps if step),
        transitions=build_transitions(facts.job, stored, status),
        counters=build_counters(stored, status),
        events=tuple(event for event in events if event.once not in facts.snapshot.announced),
        look_again_seconds=min(waits, default=None),
    )


def build_violation_events(facts: Facts) -> tuple[Event, ...]:
    """Return the warning about an edit that was refused, once per generation (B047, A4.10)."""
    if not facts.reported:
        return ()
    message = reasons.VALIDATION_ERROR.message(errors=describe_violations(facts.reported))
    return (build_validation_event(facts.job, message),)
