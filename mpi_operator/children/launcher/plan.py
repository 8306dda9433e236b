"""What is done about the launcher's Job and, beside it, the launcher's pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from mpi_operator import names
from mpi_operator.actions import Action, Create, Delete, Patch
from mpi_operator.api.merge_patch import build_merge_patch
from mpi_operator.api.observed import Job
from mpi_operator.api.types import MPIJob
from mpi_operator.children.launcher.build import build_launcher_job, build_scheduling_directives, template_hash
from mpi_operator.children.launcher.classify import DEFAULT_BACKOFF_LIMIT, Launcher
from mpi_operator.children.ownership import Holder, missing_labels


def plan_job(job: MPIJob, launcher: Launcher, *, is_suspended: bool, is_held: bool) -> tuple[Action, ...]:
    """Decide on the launcher's Job of a valid, unfinished MPIJob.

    `is_held`: it may not start yet (lifecycle.md 3); then no Job is created, and a suspended one stays suspended. A
    Job that is terminating or has finished is left alone.
    """
    if launcher.job is None:
        may_create = launcher.holder is Holder.NOBODY and not launcher.has_pods and not is_held
        return _create(job, is_suspended=is_suspended) if may_create else ()
    if launcher.job.metadata.is_terminating or launcher.finished is not None:
        return ()
    if is_suspended:
        return _patch(launcher.job, _suspension(launcher.job, _upkeep(job, launcher.job)))
    if launcher.job.spec.suspend and not is_held and launcher.is_at_rest:
        return _resume(job, launcher.job)
    return _patch(launcher.job, _upkeep(job, launcher.job))


def plan_suspension(launcher: Launcher) -> tuple[Action, ...]:
    """Suspend a Job of an MPIJob whose spec is not valid: nothing else of it can be decided."""
    if launcher.job is None or launcher.job.metadata.is_terminating or launcher.finished is not None:
        return ()
    return _patch(launcher.job, _suspension(launcher.job, {}))


def plan_deletion(launcher: Launcher) -> tuple[Delete, ...]:
    """Delete the Job, and its pods with it."""
    if launcher.job is None or launcher.job.metadata.is_terminating:
        return ()
    return (_delete(launcher.job),)


def plan_pod_deletion(launcher: Launcher) -> tuple[Delete, ...]:
    """Delete the launcher's pods, as cleanPodPolicy All says (B212); the Job stays."""
    return tuple(
        Delete(kind="Pod", namespace=pod.metadata.namespace, name=pod.metadata.name, uid=pod.metadata.uid)
        for pod in launcher.owned
        if not pod.metadata.is_terminating
    )


def plan_hosts_version(launcher: Launcher, version: str, *, have_hosts_changed: bool) -> tuple[Patch, ...]:
    """Tell the kubelet of a running launcher that the mounted hosts have changed (lifecycle.md 9).

    A pod that was never told is only told of a change that happens now; one that was told is kept up to date, also
    after an interruption.
    """
    return tuple(
        Patch(
            kind="Pod",
            namespace=pod.metadata.namespace,
            name=pod.metadata.name,
            patch={"metadata": {"annotations": {names.ANNOTATION_HOSTS_VERSION: version}}},
            uid=pod.metadata.uid,
        )
        for pod in launcher.pods
        if pod.is_running
        and (told := pod.metadata.annotations.get(names.ANNOTATION_HOSTS_VERSION)) != version
        and (told is not None or have_hosts_changed)
    )


def _create(job: MPIJob, *, is_suspended: bool) -> tuple[Action, ...]:
    return (
        Create(
            kind="Job",
            namespace=job.metadata.namespace,
            name=names.launcher_name(job.metadata.name),
            manifest=build_launcher_job(job, is_suspended=is_suspended),
        ),
    )


def _delete(job: Job) -> Delete:
    return Delete(kind="Job", namespace=job.metadata.namespace, name=job.metadata.name, uid=job.metadata.uid)


def _upkeep(job: MPIJob, launcher_job: Job) -> dict[str, Any]:
    """Return what a live Job lacks: the labels of adoption, no TTL of its own, and edited limits (A4.13)."""
    patch: dict[str, Any] = {}
    policy = job.spec.run_policy
    labels = missing_labels(launcher_job.metadata, job)
    if labels:
        patch["metadata"] = {"labels": labels}
    found = {
        "ttlSecondsAfterFinished": launcher_job.spec.ttl_seconds_after_finished,
        "activeDeadlineSeconds": launcher_job.spec.active_deadline_seconds,
        "backoffLimit": _or_default(launcher_job.spec.backoff_limit),
    }
    wanted = {
        "ttlSecondsAfterFinished": None,
        "activeDeadlineSeconds": policy.active_deadline_seconds,
        "backoffLimit": _or_default(policy.backoff_limit),
    }
    spec = build_merge_patch(found, wanted)
    if spec:
        patch["spec"] = spec
    return patch


def _or_default(backoff_limit: int | None) -> int:
    return DEFAULT_BACKOFF_LIMIT if backoff_limit is None else backoff_limit


def _suspension(launcher_job: Job, patch: dict[str, Any]) -> dict[str, Any]:
    if launcher_job.spec.suspend:
        return patch
    return {**patch, "spec": {**patch.get("spec", {}), "suspend": True}}


def _resume(job: MPIJob, launcher_job: Job) -> tuple[Action, ...]:
    """Bring a stopped Job up to date and start it (lifecycle.md 4).

    A Job of another template is deleted, to be created anew. The API server lets directives change only while
    `status.startTime` is absent, so that goes first, in a write of its own whose event brings the next decision.
    """
    if launcher_job.metadata.annotations.get(names.ANNOTATION_TEMPLATE_HASH) != template_hash(job):
        return (_delete(launcher_job),)
    version = launcher_job.metadata.resource_version
    if launcher_job.status.start_time is not None:
        return _patch(launcher_job, {"status": {"startTime": None}}, resource_version=version, subresource="status")
    patch = _upkeep(job, launcher_job)
    spec: dict[str, Any] = {**patch.get("spec", {}), "suspend": False}
    template = _directives_patch(job, launcher_job)
    if template:
        spec["template"] = template
    return _patch(launcher_job, {**patch, "spec": spec}, resource_version=version)


def _directives_patch(job: MPIJob, launcher_job: Job) -> dict[str, Any]:
    """Return the difference between the Job's scheduling directives and those that the template now says (A1.17)."""
    wanted = build_scheduling_directives(job)
    template = launcher_job.spec.template
    affinity = template.spec.affinity
    found = {
        "metadata": {
            "labels": _less_generated(template.metadata.labels),
            "annotations": template.metadata.annotations,
        },
        "spec": {
            "nodeSelector": template.spec.node_selector,
            "affinity": {"nodeAffinity": (affinity.node_affinity if affinity is not None else None) or {}},
            "tolerations": list(template.spec.tolerations),
            "schedulingGates": list(template.spec.scheduling_gates),
        },
    }
    wanted["metadata"]["labels"] = _less_generated(wanted["metadata"]["labels"])
    return build_merge_patch(found, wanted)


def _less_generated(labels: Mapping[str, str]) -> dict[str, str]:
    """Leave out the labels that the Job controller adds: they are neither removed nor changed."""
    return {key: value for key, value in labels.items() if key not in names.JOB_CONTROLLER_LABELS}


def _patch(
    launcher_job: Job, patch: dict[str, Any], *, resource_version: str = "", subresource: Literal["", "status"] = ""
) -> tuple[Action, ...]:
    if not patch:
        return ()
    return (
        Patch(
            kind="Job",
            namespace=launcher_job.metadata.namespace,
            name=launcher_job.metadata.name,
            patch=patch,
            uid=launcher_job.metadata.uid,
            resource_version=resource_version,
            subresource=subresource,
        ),
    )
