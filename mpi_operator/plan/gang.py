"""What the phases do about a job's gang, and what users are told of it."""

from __future__ import annotations

from collections.abc import Iterator

from mpi_operator import reasons
from mpi_operator.actions import Delete
from mpi_operator.api.observed import Pod
from mpi_operator.children.ownership import Holder, classify_holder
from mpi_operator.children.pod_group import plan as pod_group
from mpi_operator.children.pod_group.choice import KUBERNETES
from mpi_operator.children.pod_group.member import brings_own_group, find_replaced_scheduler_names
from mpi_operator.children.pod_group.native import named_group
from mpi_operator.children.pod_group.scheduler import GangScheduler, build_gang
from mpi_operator.plan.facts import Facts
from mpi_operator.plan.outcome import Event, Step


def plan_gang(facts: Facts) -> tuple[Step, ...]:
    """Keep what describes the gang as it should be: each step may need the one before it."""
    if facts.scheduler is None:
        return ()
    return pod_group.plan_groups(facts.job, facts.scheduler, _groups(facts))


def replaces_gang(steps: tuple[Step, ...]) -> bool:
    """Whether these steps delete an object of the gang, to be made anew: until then pods would lack it."""
    return any(isinstance(action, Delete) for step in steps for action in step)


def plan_gang_removal(facts: Facts) -> Step:
    """Delete what describes the gang."""
    return pod_group.plan_group_removal(facts.job, _groups(facts))


def _groups(facts: Facts) -> pod_group.Groups:
    return {"PodGroup": facts.snapshot.pod_group, "Workload": facts.snapshot.workload}


def build_gang_events(facts: Facts) -> tuple[Event, ...]:
    """Return warnings about gang scheduling that does not do what the job asks for, each once per process."""
    if facts.scheduler is None:
        return tuple(_unavailable(facts))
    return (*_replaced(facts), *_dropped(facts, facts.scheduler), *_unchanged(facts, facts.scheduler))


def _unavailable(facts: Facts) -> Iterator[Event]:
    wanted = facts.settings.gang_scheduling
    if wanted == KUBERNETES and not facts.snapshot.gang_version and not brings_own_group(facts.job, wanted):
        yield _warning(reasons.GANG_UNAVAILABLE, reasons.GANG_UNAVAILABLE.message(job=facts.job.key))


def _replaced(facts: Facts) -> Iterator[Event]:
    for found in find_replaced_scheduler_names(facts.snapshot.job, facts.job):
        reason = reasons.SCHEDULER_NAME_REPLACED
        message = reason.message(found=found, gang_scheduling=facts.settings.gang_scheduling)
        yield _warning(reason, message, key=found)


def _dropped(facts: Facts, scheduler: GangScheduler) -> Iterator[Event]:
    """An API server whose gate is off stores a pod without the field that names its group, and says nothing (G1)."""
    if facts.settings.gang_scheduling != KUBERNETES:
        return
    described = [
        group.metadata.creation_timestamp
        for resource in scheduler.resources
        if (group := facts.snapshot.group(resource.kind)) is not None and group.metadata.creation_timestamp is not None
    ]
    since = max(described, default=None)
    pods = (*(worker.pod for worker in facts.workers.alive), *facts.launcher.pods)
    for pod in pods:
        made = pod.metadata.creation_timestamp
        if since is not None and made is not None and made >= since and not _is_grouped(pod):
            reason = reasons.GANG_FIELD_DROPPED
            yield _warning(reason, reason.message(pod=pod.metadata.name, field=named_group(scheduler)))
            return


def _is_grouped(pod: Pod) -> bool:
    return pod.spec.scheduling_group is not None or pod.spec.workload_ref is not None


def _unchanged(facts: Facts, scheduler: GangScheduler) -> Iterator[Event]:
    """A group that may not change while its pods exist is as large as when the job was started (interop.md 4.3)."""
    resource = scheduler.resources[-1]
    group = facts.snapshot.group(resource.kind)
    if resource.on_change != "keep" or group is None:
        return
    is_ours = classify_holder(group.metadata, facts.job) is Holder.OURS
    if is_ours and pod_group.is_outdated(facts.job, scheduler, resource, group):
        reason = reasons.GANG_NOT_RESIZED
        wanted = build_gang(facts.job).min_member
        message = reason.message(kind=resource.kind, name=group.metadata.name, wanted=wanted)
        yield _warning(reason, message, key=str(wanted))


def _warning(reason: reasons.Reason, message: str, *, key: str = "") -> Event:
    once = f"{reason.name}/{key}" if key else reason.name
    return Event(type="Warning", reason=reason.name, message=message, once=once)
