"""Children of a job for tests, beside its pods: made by the operator's own builders, and as the server has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mpi_operator import names
from mpi_operator.api.observed import ConfigMap, Job, Secret, Service
from mpi_operator.api.types import MPIJob
from mpi_operator.children.config_map.build import build_config_map
from mpi_operator.children.launcher.build import build_launcher_job
from mpi_operator.children.metadata import build_metadata
from mpi_operator.children.service.build import build_service
from test.builders.jobs import JSONObject
from test.builders.pods import LAUNCHER_JOB_UID, NOW, ago, defaulted

COMPLETE = {"type": "Complete", "status": "True", "lastTransitionTime": ago(10)}
FAILED = {"type": "Failed", "status": "True", "lastTransitionTime": ago(10)}
SUSPENDED = {"type": "Suspended", "status": "True", "lastTransitionTime": ago(10)}

JOB_CONTROLLER_LABELS = dict.fromkeys(names.JOB_CONTROLLER_LABELS, "generated")


def a_launcher_job(
    job: MPIJob | None = None,
    *,
    suspended: bool = False,
    conditions: Iterable[Mapping[str, Any]] = (),
    status: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    **metadata: Any,
) -> Job:
    """The Job that runs the launcher, with the labels that the Job controller adds to its template.

    `status` and `spec` add fields as JSON names them; further arguments are those of `observed_metadata`.
    """
    manifest = build_launcher_job(defaulted(job), is_suspended=suspended)
    manifest["spec"]["template"]["metadata"]["labels"] |= JOB_CONTROLLER_LABELS
    manifest["spec"] |= {"backoffLimit": 6, **manifest["spec"], **(spec or {})}
    manifest["status"] = {"conditions": list(conditions), **(status or {})}
    manifest["metadata"] = observed_metadata(manifest["metadata"], **{"uid": LAUNCHER_JOB_UID, **metadata})
    return msgspec.convert(manifest, Job)


def a_service(job: MPIJob | None = None, *, spec: Mapping[str, Any] | None = None, **metadata: Any) -> Service:
    """The job's Service; `spec` replaces fields of it."""
    manifest = build_service(defaulted(job))
    manifest["spec"] |= dict(spec or {})
    manifest["metadata"] = observed_metadata(manifest["metadata"], **{"uid": "service-uid", **metadata})
    return msgspec.convert(manifest, Service)


def a_config_map(
    job: MPIJob | None = None, *, running: Iterable[int] = (), data: Mapping[str, str] | None = None, **metadata: Any
) -> ConfigMap:
    """The job's ConfigMap, with those workers running; `data` adds keys."""
    manifest = build_config_map(defaulted(job), running=running)
    manifest["data"] |= dict(data or {})
    manifest["metadata"] = observed_metadata(manifest["metadata"], **{"uid": "config-map-uid", **metadata})
    return msgspec.convert(manifest, ConfigMap)


def a_secret(job: MPIJob | None = None, *, usable: bool = True, **metadata: Any) -> Secret:
    """The job's ssh Secret, as much as is ever known of it."""
    owner = defaulted(job)
    built = build_metadata(owner, names.ssh_secret_name(owner.metadata.name))
    found = observed_metadata(built, **{"uid": "secret-uid", **metadata})
    return msgspec.convert({"metadata": found, "isUsable": usable}, Secret)


def observed_metadata(
    built: Mapping[str, Any],
    *,
    uid: str,
    owner: Mapping[str, Any] | None = None,
    owned: bool = True,
    terminating: bool = False,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> JSONObject:
    """Metadata as the server has it. `owner` changes the controller; `owned` False leaves it out."""
    found = {**built, "uid": uid, "resourceVersion": "10", "creationTimestamp": ago(100)}
    found["annotations"] = {**built.get("annotations", {}), **(annotations or {})}
    if labels is not None:
        found["labels"] = labels
    if terminating:
        found["deletionTimestamp"] = NOW
    if owner is not None:
        found["ownerReferences"] = [{**built["ownerReferences"][0], **owner}]
    if not owned:
        found["ownerReferences"] = []
    return found
