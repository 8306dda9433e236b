"""Which gang scheduler a flag's value and the API server's versions stand for (G1, B180, B189)."""

from __future__ import annotations

from mpi_operator.children.pod_group import native
from mpi_operator.children.pod_group.coscheduling import Coscheduling
from mpi_operator.children.pod_group.scheduler import GangScheduler
from mpi_operator.children.pod_group.volcano import SCHEDULER_NAME as VOLCANO
from mpi_operator.children.pod_group.volcano import Volcano

KUBERNETES = "kubernetes"
RESERVED = (VOLCANO, KUBERNETES)


def find_candidates(gang_scheduling: str) -> tuple[GangScheduler, ...]:
    """Return the schedulers that a non-empty value of --gang-scheduling can mean, the preferred one first."""
    if gang_scheduling == VOLCANO:
        return (Volcano(),)
    if gang_scheduling == KUBERNETES:
        return native.SCHEDULERS
    return (Coscheduling(gang_scheduling),)


def find_scheduler(gang_scheduling: str, version: str) -> GangScheduler | None:
    """Return the scheduler to use where `version` of its API is served: empty for none of them.

    Volcano and scheduler-plugins are used all the same: their pods would not be scheduled without their PodGroup, so
    its creation is what should fail. Without Kubernetes' own API, pods are scheduled one by one: None.
    """
    candidates = find_candidates(gang_scheduling) if gang_scheduling else ()
    if len(candidates) == 1:
        return candidates[0]
    return next((each for each in candidates if each.resources[0].version == version), None)
