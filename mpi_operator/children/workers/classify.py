"""A job's worker pods, sorted once into the groups that decisions are about."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from mpi_operator import names
from mpi_operator.api.observed import RUNNING, Pod
from mpi_operator.api.types import MPIJob
from mpi_operator.children.ownership import Holder, classify_holder


class Worker(msgspec.Struct, frozen=True):
    """A pod of ours and its ordinal."""

    ordinal: int
    pod: Pod


class Workers(msgspec.Struct, frozen=True, kw_only=True):
    """All pods that bear on the workers, in order of ordinals; groups do not overlap unless said.

    `wanted` is how many workers there should be. `owned` holds every pod whose controller is the job, in any state and
    under any name. Of these, `alive` (Pending or Running) and `ended` (Succeeded or Failed) are wanted and stay;
    `surplus` is above the wanted ordinals and not yet terminating. `missing` are the ordinals whose name is free; the
    names of the others are held by workers that are terminating, by pods that `predecessors` left, or by `foreign`
    ones, which are somebody else's.
    """

    wanted: int
    owned: tuple[Pod, ...] = ()
    alive: tuple[Worker, ...] = ()
    ended: tuple[Worker, ...] = ()
    surplus: tuple[Worker, ...] = ()
    missing: tuple[int, ...] = ()
    predecessors: tuple[Pod, ...] = ()
    foreign: tuple[Pod, ...] = ()

    @property
    def running(self) -> tuple[Worker, ...]:
        """The wanted workers in phase Running that are not terminating."""
        return tuple(worker for worker in self.alive if worker.pod.status.phase == RUNNING)

    @property
    def are_all_running(self) -> bool:
        """Whether every wanted worker runs; true of a job without workers."""
        return len(self.running) == self.wanted

    @property
    def are_all_ready(self) -> bool:
        """Whether every wanted worker is ours, stays, and is Ready (lifecycle.md 3)."""
        return sum(worker.pod.is_ready for worker in self.alive) == self.wanted


def classify_workers(job: MPIJob, pods: Iterable[Pod], wanted: int) -> Workers:
    """Sort pods by what they are to the job, from their controller and their name alone: labels are never asked.

    The order in which pods come does not matter.
    """
    by_name = sorted(pods, key=lambda pod: (pod.metadata.name, pod.metadata.uid))
    owned = [pod for pod in by_name if pod.metadata.is_controlled_by(job.metadata.uid)]
    numbered = [
        Worker(ordinal, pod)
        for pod in owned
        if (ordinal := names.worker_ordinal(job.metadata.name, pod.metadata.name)) is not None
    ]
    numbered.sort(key=lambda worker: worker.ordinal)
    staying = [worker for worker in numbered if not worker.pod.metadata.is_terminating]
    members = [worker for worker in staying if worker.ordinal < wanted]
    holders = {
        ordinal: pod
        for pod in by_name
        if (ordinal := names.worker_ordinal(job.metadata.name, pod.metadata.name)) is not None and ordinal < wanted
    }
    others = [pod for _, pod in sorted(holders.items()) if not pod.metadata.is_controlled_by(job.metadata.uid)]
    foreign = [pod for pod in others if classify_holder(pod.metadata, job) is Holder.FOREIGN]
    return Workers(
        wanted=wanted,
        owned=tuple(owned),
        alive=tuple(worker for worker in members if not worker.pod.is_terminal),
        ended=tuple(worker for worker in members if worker.pod.is_terminal),
        surplus=tuple(worker for worker in staying if worker.ordinal >= wanted),
        missing=tuple(ordinal for ordinal in range(wanted) if ordinal not in holders),
        predecessors=tuple(pod for pod in others if pod not in foreign),
        foreign=tuple(foreign),
    )
