"""Pods that no node takes (lifecycle.md 6)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from mpi_operator import conditions, reasons
from mpi_operator.api.observed import PENDING, Group, Pod
from mpi_operator.plan.facts import Facts

PATIENCE_SECONDS = 30.0
REFRESH_SECONDS = 60.0


class Unschedulable(msgspec.Struct, frozen=True, kw_only=True):
    """The scheduler's message, and for how many seconds the longest-waiting pod has been without a node."""

    message: str
    age_seconds: float

    @property
    def is_reported(self) -> bool:
        """Whether it lasts long enough for the job's status to say so."""
        return self.age_seconds >= PATIENCE_SECONDS


def find_unschedulable(facts: Facts) -> Unschedulable | None:
    """Return the pod that has waited longest for a node, if there is one; pods held by a scheduling gate are not.

    A gang scheduler may say of the gang what it says of no pod: that counts from when its first waiting pod was made.
    """
    pods = (*(worker.pod for worker in facts.workers.alive), *facts.launcher.pods)
    waiting = [(since, pod) for pod in pods if (since := _unschedulable_since(pod, facts.now)) is not None]
    if not waiting:
        return _find_unschedulable_gang(facts, pods)
    since, pod = min(waiting, key=lambda entry: entry[0])
    condition = pod.condition("PodScheduled")
    message = condition.message if condition is not None else ""
    return Unschedulable(
        message=message or f"pod {pod.metadata.name} cannot be scheduled",
        age_seconds=(facts.now - since).total_seconds(),
    )


def _find_unschedulable_gang(facts: Facts, pods: Iterable[Pod]) -> Unschedulable | None:
    messages = [message for group in (facts.snapshot.pod_group, facts.snapshot.workload) if (message := _fault(group))]
    unplaced = [pod.metadata.creation_timestamp or facts.now for pod in pods if _is_unplaced(pod)]
    if not messages or not unplaced:
        return None
    return Unschedulable(message=messages[0], age_seconds=(facts.now - min(unplaced)).total_seconds())


def _fault(group: Group | None) -> str:
    """Return why a gang is not scheduled, as Volcano and Kubernetes' own scheduler report it; empty if it may be."""
    for condition in () if group is None else group.status.conditions:
        is_volcano = condition.type == "Unschedulable" and condition.is_true
        is_native = condition.type.endswith("Scheduled") and condition.status == "False"
        if is_volcano or is_native:
            return condition.message or condition.reason
    return ""


def _is_unplaced(pod: Pod) -> bool:
    scheduled = pod.condition("PodScheduled")
    is_gated = scheduled is not None and scheduled.reason == "SchedulingGated"
    is_placed = scheduled is not None and scheduled.is_true
    return pod.status.phase == PENDING and not (pod.metadata.is_terminating or is_gated or is_placed)


def _unschedulable_since(pod: Pod, now: datetime) -> datetime | None:
    scheduled = pod.condition("PodScheduled")
    if pod.status.phase != PENDING or pod.metadata.is_terminating or scheduled is None:
        return None
    if scheduled.status != "False" or scheduled.reason != "Unschedulable":
        return None
    return scheduled.last_transition_time or pod.metadata.creation_timestamp or now


def look_again_for_scheduling(facts: Facts) -> tuple[float | None, ...]:
    """Return when a pod's wait becomes reportable, or when its changed message may be written (lifecycle.md 6)."""
    unschedulable = find_unschedulable(facts)
    if unschedulable is None:
        return ()
    if not unschedulable.is_reported:
        return (PATIENCE_SECONDS - unschedulable.age_seconds,)
    running = conditions.find_condition(facts.conditions, conditions.RUNNING)
    is_told = running is not None and running.reason == reasons.UNSCHEDULABLE.name
    if running is None or not is_told or running.last_update_time is None or running.message == unschedulable.message:
        return ()
    left = REFRESH_SECONDS - (facts.now - running.last_update_time).total_seconds()
    return (left,) if left > 0 else ()
