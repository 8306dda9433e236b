"""Pods of a job for tests: made by the operator's own builders, then given the state that a row is about."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from mpi_operator import names
from mpi_operator.api.defaults import apply_defaults
from mpi_operator.api.observed import Pod
from mpi_operator.api.types import MPIJob
from mpi_operator.children.launcher.build import build_pod_template
from mpi_operator.children.workers.build import build_worker
from test.builders.jobs import JSONObject, a_job, a_time

NOW = a_time("2026-12-01T12:00:00Z")
"""The time of every row: ages are counted back from it."""

LAUNCHER_JOB_UID = "launcher-job-uid"


def ago(seconds: float) -> datetime:
    """The time so many seconds before NOW."""
    return NOW - timedelta(seconds=seconds)


def defaulted(job: MPIJob | None) -> MPIJob:
    """The job as decisions see it; that of `a_job()` if there is none."""
    return a_job() if job is None else apply_defaults(job)


def a_worker(ordinal: int = 0, job: MPIJob | None = None, *, uid: str = "", **state: Any) -> Pod:
    """A worker of the job (by default of `a_job()`, with ordinals to spare); `state` is that of `a_pod`."""
    manifest = build_worker(defaulted(job or a_job(workers=20)), ordinal)
    return a_pod(manifest, uid=uid or f"worker-{ordinal}-uid", **state)


def a_launcher_pod(name: str = "a", job: MPIJob | None = None, *, job_uid: str = LAUNCHER_JOB_UID, **state: Any) -> Pod:
    """A pod of the launcher's Job; `state` is that of `a_pod`."""
    owner = defaulted(job)
    template = build_pod_template(owner)
    launcher = names.launcher_name(owner.metadata.name)
    controller = {"apiVersion": "batch/v1", "kind": "Job", "name": launcher, "uid": job_uid, "controller": True}
    metadata = {
        **template["metadata"],
        "name": f"{launcher}-{name}",
        "namespace": owner.metadata.namespace,
        "ownerReferences": [controller],
    }
    return a_pod({"metadata": metadata, "spec": template["spec"]}, uid=f"launcher-pod-{name}-uid", **state)


def a_pod(
    manifest: Mapping[str, Any],
    /,
    *,
    uid: str,
    phase: str = "Running",
    ready: bool | None = None,
    terminating: bool = False,
    reason: str = "",
    message: str = "",
    conditions: Mapping[str, Any] | None = None,
    container: Mapping[str, Any] | None = None,
    exit_code: int | None = None,
    finished_ago: float = 5,
    created_ago: float = 100,
    owner_uid: str | None = None,
    owned: bool = True,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Pod:
    """A pod with that state, of another job of the name with `owner_uid`, of nobody with `owned` False.

    `ready` defaults to running; `conditions` are by type, a status or a whole condition. `container` is the raw status
    of its main container; `exit_code` is short for one that ended `finished_ago` seconds before NOW.
    """
    metadata = {**manifest["metadata"], "uid": uid, "resourceVersion": "10", "creationTimestamp": ago(created_ago)}
    metadata |= {} if labels is None else {"labels": labels}
    metadata |= {"annotations": {**metadata.get("annotations", {}), **(annotations or {})}}
    if terminating:
        metadata["deletionTimestamp"] = NOW
    if owner_uid is not None:
        metadata["ownerReferences"] = [{**metadata["ownerReferences"][0], "uid": owner_uid}]
    is_ready = phase == "Running" if ready is None else ready
    if not owned:
        metadata["ownerReferences"] = []
    listed = {"Ready": "True" if is_ready else "False", **(conditions or {})}
    if exit_code is not None:
        ended = {
            "exitCode": exit_code,
            "finishedAt": ago(finished_ago),
            "reason": "Error" if exit_code else "Completed",
        }
        container = {"state": {"terminated": ended}}
    main = manifest["spec"]["containers"][0]["name"]
    status: JSONObject = {
        "phase": phase,
        "reason": reason,
        "message": message,
        "conditions": [_condition(kind, value) for kind, value in listed.items()],
        "containerStatuses": [{"name": main, **container}] if container is not None else [],
    }
    return msgspec.convert({"metadata": metadata, "spec": manifest["spec"], "status": status}, Pod)


def _condition(kind: str, value: str | Mapping[str, Any]) -> JSONObject:
    return {"type": kind, **({"status": value} if isinstance(value, str) else {"status": "True", **value})}
