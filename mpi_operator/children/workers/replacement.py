"""Which workers that ended are deleted so that they can be created again (lifecycle.md 5)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum

import msgspec

from mpi_operator.api.observed import FAILED, Pod
from mpi_operator.children.container_failure import finished_at
from mpi_operator.children.workers.classify import Worker, Workers
from mpi_operator.children.workers.restarts import Restart

FIRST_BACKOFF_SECONDS = 10.0
MAX_BACKOFF_SECONDS = 300.0

_EVICTION_CONDITIONS = ("DisruptionTarget", "TerminatedByKueue")
_EVICTION_REASONS = frozenset({"Evicted", "Preempted"})
_DISRUPTION_REASONS = frozenset(
    {"NodeLost", "NodeShutdown", "Shutdown", "Terminated", "UnexpectedAdmissionError", "NodeAffinity"}
)
_OUT_OF = "OutOf"


class Disruption(Enum):
    """Why a pod failed: through no fault of its own, in the two ways that users are told of, or by itself."""

    EVICTED = "removed from its node to make room, or by an administrator"
    LOST = "lost with its node, or refused by it"
    NONE = "it failed by itself"


class LauncherProgress(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker's replacement depends on, as far as the launcher goes.

    `is_held`: WaitForWorkersReady still holds it back. `is_followed`: another attempt will follow the last one.
    `is_down`: no attempt is running, and one will follow. `attempt_ended_at`: the end of the last attempt that failed.
    """

    is_held: bool = False
    is_followed: bool = False
    is_down: bool = False
    attempt_ended_at: datetime | None = None


class Replacements(msgspec.Struct, frozen=True, kw_only=True):
    """Workers to delete now; the counts to write before that; who failed too often; when the next one is due."""

    due: tuple[Worker, ...] = ()
    restarts: Mapping[int, Restart]
    exhausted: Worker | None = None
    look_again_seconds: float | None = None


def classify_disruption(pod: Pod) -> Disruption:
    """Return whether, and how, a failed pod was disrupted from outside."""
    for kind in _EVICTION_CONDITIONS:
        condition = pod.condition(kind)
        if condition is not None and condition.is_true:
            return Disruption.EVICTED
    reason = pod.status.reason
    if reason in _EVICTION_REASONS:
        return Disruption.EVICTED
    if reason in _DISRUPTION_REASONS or reason.startswith(_OUT_OF):
        return Disruption.LOST
    return Disruption.NONE


def plan_replacements(
    workers: Workers, restarts: Mapping[int, Restart], launcher: LauncherProgress, *, limit: int, now: datetime
) -> Replacements:
    """Decide on every worker that ended, by the table of lifecycle.md 5.

    `limit` is how often one ordinal may be replaced for its own failures before the launcher has started.
    """
    due: list[Worker] = []
    waits: list[float] = []
    counted = dict(restarts)
    exhausted: Worker | None = None
    for worker in workers.ended:
        pod = worker.pod
        is_failed = pod.status.phase == FAILED
        if is_failed and classify_disruption(pod) is not Disruption.NONE:
            due.append(worker)
        elif is_failed and launcher.is_held:
            restart = counted.get(worker.ordinal, Restart())
            wait = _backoff_left(pod, restart, now)
            if restart.pod == pod.metadata.uid:
                due.append(worker)
            elif restart.count >= limit:
                exhausted = exhausted or worker
            elif wait > 0:
                waits.append(wait)
            else:
                counted[worker.ordinal] = Restart(count=restart.count + 1, pod=pod.metadata.uid)
                due.append(worker)
        elif _is_between_attempts(pod, launcher):
            due.append(worker)
    return Replacements(
        due=tuple(due), restarts=counted, exhausted=exhausted, look_again_seconds=min(waits, default=None)
    )


def _backoff_left(pod: Pod, restart: Restart, now: datetime) -> float:
    """Return the seconds that are left of 10 s doubling per replacement, from the end of the pod's containers."""
    backoff = min(FIRST_BACKOFF_SECONDS * 2.0 ** min(restart.count, 10), MAX_BACKOFF_SECONDS)
    ended = finished_at(pod) or pod.metadata.creation_timestamp or now
    return backoff - (now - ended).total_seconds()


def _is_between_attempts(pod: Pod, launcher: LauncherProgress) -> bool:
    """Whether an attempt of the launcher ended after the worker did and another follows."""
    if not launcher.is_followed:
        return False
    if launcher.is_down:
        return True
    ended = finished_at(pod)
    return launcher.attempt_ended_at is not None and (ended is None or launcher.attempt_ended_at >= ended)
