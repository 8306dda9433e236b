"""What a Snapshot says, worked out once for all rules."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from mpi_operator import conditions, names
from mpi_operator.api.defaults import apply_defaults
from mpi_operator.api.metadata import ObjectMeta
from mpi_operator.api.observed import ConfigMap, Group, Job, Secret, Service
from mpi_operator.api.types import WORKER, MPIJob
from mpi_operator.api.validation import validate
from mpi_operator.api.violation import Violation
from mpi_operator.children.config_map.plan import count_workers
from mpi_operator.children.launcher.classify import Launcher, classify_launcher
from mpi_operator.children.ownership import Holder, classify_holder
from mpi_operator.children.pod_group.member import choose_scheduler, decorate_job
from mpi_operator.children.pod_group.scheduler import GangScheduler, GroupResource
from mpi_operator.children.workers.classify import Workers, classify_workers
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot


class Taken(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A name that a child of the job should have and somebody else has."""

    kind: str
    name: str


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The input of every rule.

    `job` has its defaults; where only a scale was refused, it has the replicas that it goes on with; a valid one's
    templates put the pods into their gang, if `scheduler` schedules it. `violations` are
    those that keep the job from being reconciled; `reported` are all, to tell the user. `foreign` are the names that
    are taken for good, `is_waiting_for_names` says that one is held by something that is on its way out, and
    `may_create_pods` that what pods mount and are found by is ours, or free.
    """

    snapshot: Snapshot
    settings: Settings
    now: datetime
    job: MPIJob
    violations: tuple[Violation, ...]
    reported: tuple[Violation, ...]
    is_live: bool
    workers: Workers
    launcher: Launcher
    foreign: tuple[Taken, ...]
    is_waiting_for_names: bool
    may_create_pods: bool
    scheduler: GangScheduler | None

    @property
    def conditions(self) -> conditions.Conditions:
        """The stored conditions."""
        return self.job.status.conditions

    @property
    def is_held(self) -> bool:
        """Whether WaitForWorkersReady keeps the launcher from starting (lifecycle.md 3)."""
        return self.job.spec.waits_for_workers and not self.launcher.is_started and not self.workers.are_all_ready


def gather(snapshot: Snapshot, settings: Settings, now: datetime) -> Facts:
    """Work out the facts. Total: a job that cannot be valid gives facts too."""
    job = apply_defaults(snapshot.job)
    reported = validate(job)
    owned = sum(pod.metadata.is_controlled_by(job.metadata.uid) for pod in snapshot.pods)
    wanted = job.spec.worker_replicas if not reported else (_count_hosts(snapshot, job) or owned)
    violations = reported
    is_live = _is_live(snapshot, owned)
    if is_live and wanted and reported and all(violation.field == "metadata.name" for violation in reported):
        job = _with_replicas(job, wanted)
        violations = validate(job)
    scheduler = choose_scheduler(job, settings.gang_scheduling, snapshot.gang_version)
    if scheduler is not None and not violations:
        job = decorate_job(job, scheduler)
    fixed = _fixed_names(snapshot, () if scheduler is None else scheduler.resources)
    holders = {taken: classify_holder(metadata, job) for taken, metadata in fixed.items()}
    workers = classify_workers(job, snapshot.pods, wanted)
    launcher = classify_launcher(job, snapshot.launcher_job, snapshot.pods)
    foreign = [taken for taken, holder in holders.items() if holder is Holder.FOREIGN]
    foreign += [Taken(kind="Pod", name=pod.metadata.name) for pod in workers.foreign]
    mounted = [holder for taken, holder in holders.items() if taken.kind != "Job"]
    return Facts(
        snapshot=snapshot,
        settings=settings,
        now=now,
        job=job,
        violations=violations,
        reported=reported,
        is_live=is_live,
        workers=workers,
        launcher=launcher,
        foreign=tuple(sorted(foreign)),
        is_waiting_for_names=Holder.LEAVING in holders.values() or bool(workers.predecessors),
        may_create_pods=not foreign and Holder.LEAVING not in mounted,
        scheduler=scheduler,
    )


def _count_hosts(snapshot: Snapshot, job: MPIJob) -> int | None:
    """Return how many workers our own ConfigMap lists."""
    config_map = snapshot.config_map
    is_ours = config_map is not None and config_map.metadata.is_controlled_by(job.metadata.uid)
    return count_workers(job, config_map) if is_ours else None


def _fixed_names(snapshot: Snapshot, groups: Iterable[GroupResource]) -> dict[Taken, ObjectMeta | None]:
    name = snapshot.job.metadata.name
    objects: dict[tuple[str, str], Service | ConfigMap | Secret | Job | Group | None] = {
        ("Service", names.service_name(name)): snapshot.service,
        ("ConfigMap", names.config_map_name(name)): snapshot.config_map,
        ("Secret", names.ssh_secret_name(name)): snapshot.secret,
        ("Job", names.launcher_name(name)): snapshot.launcher_job,
        **{(each.kind, names.pod_group_name(name)): snapshot.group(each.kind) for each in groups},
    }
    return {
        Taken(kind=kind, name=target): (None if found is None else found.metadata)
        for (kind, target), found in objects.items()
    }


def _is_live(snapshot: Snapshot, owned_pods: int) -> bool:
    """Whether the job was accepted before: it says so, or it has children."""
    job = snapshot.job
    if conditions.is_condition_true(job.status.conditions, conditions.CREATED) or owned_pods:
        return True
    return any(
        metadata is not None and metadata.is_controlled_by(job.metadata.uid)
        for metadata in _fixed_names(snapshot, ()).values()
    )


def _with_replicas(job: MPIJob, replicas: int) -> MPIJob:
    specs = dict(job.spec.mpi_replica_specs or {})
    worker = specs.get(WORKER)
    if worker is None:
        return job
    specs[WORKER] = msgspec.structs.replace(worker, replicas=replicas)
    spec = msgspec.structs.replace(job.spec, mpi_replica_specs=specs)
    return msgspec.structs.replace(job, spec=spec)
