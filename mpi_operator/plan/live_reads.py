"""Which objects must be read from the server before a job is decided on (lifecycle.md 2)."""

from __future__ import annotations

from typing import Literal

import msgspec

from mpi_operator import names
from mpi_operator.plan.snapshot import Snapshot

ReadKind = Literal["Service", "ConfigMap", "Secret", "Job", "Workload", "PodGroup"]


class LiveRead(msgspec.Struct, frozen=True, kw_only=True):
    """One object to GET, in the job's namespace."""

    kind: ReadKind
    name: str


def live_reads(snapshot: Snapshot) -> tuple[LiveRead, ...]:
    """Return what a snapshot made from the caches alone still lacks.

    Once the status says Created, a fixed-name child that ought to exist but is not in the cache may have lost its
    labels, or may have been made by an operator that sets none: it is read by name. The Secret is in no cache and is
    always asked for then; the answer may be remembered for a short time. Nothing is asked for a job that will not be
    touched: managed elsewhere, being deleted, or finished. A gang's objects are not missed while the job is stopped.
    """
    job = snapshot.job
    conditions = {condition.type for condition in job.status.conditions if condition.is_true}
    is_untouched = job.spec.is_managed_elsewhere or job.metadata.is_terminating
    if is_untouched or "Created" not in conditions or conditions & {"Succeeded", "Failed"}:
        return ()
    name = job.metadata.name
    is_stopped = job.spec.is_suspended and "Suspended" in conditions
    groups = () if is_stopped else tuple(kind for kind in snapshot.group_kinds if snapshot.group(kind) is None)
    had_launcher = job.status.replica_statuses.launcher is not None or not job.spec.waits_for_workers
    candidates: tuple[tuple[bool, ReadKind, str], ...] = (
        (snapshot.service is None, "Service", names.service_name(name)),
        (snapshot.config_map is None, "ConfigMap", names.config_map_name(name)),
        (snapshot.secret is None, "Secret", names.ssh_secret_name(name)),
        (snapshot.launcher_job is None and had_launcher, "Job", names.launcher_name(name)),
    )
    fixed = tuple(LiveRead(kind=kind, name=target) for is_needed, kind, target in candidates if is_needed)
    return fixed + tuple(LiveRead(kind=kind, name=names.pod_group_name(name)) for kind in groups)


def asks_for_launcher_pods(snapshot: Snapshot) -> bool:
    """Whether the launcher's pods must be listed on the server, after the live reads of a job.

    Its Job ought to exist and does not: before another is created it must be certain that no pod of the old one
    remains (lifecycle.md 3), and the cache of pods may be older than that of Jobs.
    """
    is_expected = any(read.kind == "Job" for read in live_reads(snapshot))
    name = names.launcher_name(snapshot.job.metadata.name)
    controllers = (pod.metadata.controller for pod in snapshot.pods)
    is_any_known = any(each is not None and (each.kind, each.name) == ("Job", name) for each in controllers)
    return is_expected and not is_any_known
