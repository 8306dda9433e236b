"""Events and counters that are due because a status changed, told from the two statuses alone (lifecycle.md 10)."""

from __future__ import annotations

from collections.abc import Iterator

from mpi_operator import reasons
from mpi_operator.api.types import Condition, MPIJob, MPIJobStatus
from mpi_operator.children.launcher.build import is_restart_policy_overridden
from mpi_operator.conditions import CREATED, FAILED, RESTARTING, RUNNING, SUCCEEDED, SUSPENDED, find_condition
from mpi_operator.plan.outcome import Counter, Event, EventType

_COUNTERS: dict[str, Counter] = {CREATED: "created", SUCCEEDED: "successful", FAILED: "failed"}


def build_counters(before: MPIJobStatus, after: MPIJobStatus) -> tuple[Counter, ...]:
    """Return which of the job counters go up by one (B262-B264)."""
    return tuple(counter for kind, counter in _COUNTERS.items() if _has_become(before, after, kind, "True"))


def build_transitions(job: MPIJob, before: MPIJobStatus, after: MPIJobStatus) -> tuple[Event, ...]:
    """Return the events of a change of status, in the order in which a job goes through them (B247-B257)."""
    return tuple(_events(job, before, after))


def _events(job: MPIJob, before: MPIJobStatus, after: MPIJobStatus) -> Iterator[Event]:
    if _has_become(before, after, CREATED, "True"):
        yield _event("Normal", _condition(after, CREATED))
        if job.spec.launcher is not None and is_restart_policy_overridden(job):
            overridden = reasons.RESTART_POLICY_OVERRIDDEN
            yield Event(type="Warning", reason=overridden.name, message=overridden.message())
    yield from _validation(job, before, after)
    if _has_become(before, after, SUSPENDED, "True"):
        yield _event("Normal", _condition(after, SUSPENDED))
    resumed = _condition(after, SUSPENDED)
    if _has_become(before, after, SUSPENDED, "False") and resumed.reason == reasons.RESUMED.name:
        yield _event("Normal", resumed)
    if _has_become(before, after, RUNNING, "True"):
        running = reasons.RUNNING_EVENT
        yield Event(type="Normal", reason=running.name, message=running.message(job=job.key))
    yield from _obstacles(before, after)
    if _has_become(before, after, RESTARTING, "True"):
        yield _event("Warning", _condition(after, RESTARTING))
    if _has_become(before, after, SUCCEEDED, "True"):
        yield _event("Normal", _condition(after, SUCCEEDED))
    if _has_become(before, after, FAILED, "True"):
        yield _event("Warning", _condition(after, FAILED))


def build_validation_event(job: MPIJob, message: str) -> Event:
    """Return the warning about a spec that is refused; it is due once per generation (B045, B047, A4.10)."""
    name = reasons.VALIDATION_ERROR.name
    return Event(type="Warning", reason=name, message=message, once=f"{name}/{job.metadata.generation}")


def _validation(job: MPIJob, before: MPIJobStatus, after: MPIJobStatus) -> Iterator[Event]:
    created = _condition(after, CREATED)
    if created.reason == reasons.VALIDATION_ERROR.name and created != _condition(before, CREATED):
        yield build_validation_event(job, created.message)


def _obstacles(before: MPIJobStatus, after: MPIJobStatus) -> Iterator[Event]:
    """Yield what keeps the job from its children: a refused create once, a taken name once for each."""
    old, new = _condition(before, RUNNING), _condition(after, RUNNING)
    if new.reason == reasons.FAILED_CREATE.name and old.reason != new.reason:
        yield _event("Warning", new)
    is_taken = new.reason == reasons.RESOURCE_EXISTS.name
    if is_taken and (old.reason, old.message) != (new.reason, new.message):
        yield _event("Warning", new)


def _event(kind: EventType, condition: Condition) -> Event:
    return Event(type=kind, reason=condition.reason, message=condition.message)


def _has_become(before: MPIJobStatus, after: MPIJobStatus, kind: str, status: str) -> bool:
    return _condition(after, kind).status == status != _condition(before, kind).status


def _condition(status: MPIJobStatus, kind: str) -> Condition:
    return find_condition(status.conditions, kind) or Condition(type=kind, status="")
