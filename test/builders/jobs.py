"""MPIJobs for tests: a row shows only what matters, and the rest is what the operator's own defaulting gives."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import msgspec

from mpi_operator.api.defaults import apply_defaults
from mpi_operator.api.metadata import Timestamp
from mpi_operator.api.types import MPIJob

UID = "11111111-2222-3333-4444-555555555555"

JSONObject = dict[str, Any]


def a_template(container: Mapping[str, Any] | None = None, /, **spec: Any) -> JSONObject:
    """A pod template with one container; further arguments are fields of the pod's spec."""
    return {"spec": {"containers": [{"name": "mpi", "image": "mpi-pi", **(container or {})}], **spec}}


def a_raw_job(
    *,
    name: str = "pi",
    namespace: str = "default",
    workers: int | None = 2,
    launcher: Mapping[str, Any] | None = None,
    worker: Mapping[str, Any] | None = None,
    run_policy: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> JSONObject:
    """An MPIJob as a user writes it, as JSON data.

    `workers` None leaves the Worker entry out. `launcher` and `worker` add to, or replace, fields of their replica
    specs; further arguments are fields of the job's spec, named as in JSON.
    """
    replica_specs: JSONObject = {"Launcher": {"replicas": 1, "template": a_template(), **(launcher or {})}}
    if workers is not None:
        replica_specs["Worker"] = {"replicas": workers, "template": a_template(), **(worker or {})}
    job: JSONObject = {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": name, "namespace": namespace, "uid": UID, "generation": 1, **(metadata or {})},
        "spec": {"mpiReplicaSpecs": replica_specs, "runPolicy": dict(run_policy or {}), **spec},
    }
    if status is not None:
        job["status"] = dict(status)
    return deepcopy(job)


def decode_job(raw: Mapping[str, Any]) -> MPIJob:
    """The job as it comes from the API server, without defaults."""
    return msgspec.json.decode(msgspec.json.encode(raw), type=MPIJob)


def a_stored_job(**fields: Any) -> MPIJob:
    """A job as stored: like `a_job`, but without defaults."""
    return decode_job(a_raw_job(**fields))


def a_job(**fields: Any) -> MPIJob:
    """A job as decisions see it: decoded, then defaulted. The arguments are those of `a_raw_job`."""
    return apply_defaults(a_stored_job(**fields))


def a_suspended_job(**fields: Any) -> MPIJob:
    """A job with `suspend: true`."""
    return a_job(**{**fields, "run_policy": {"suspend": True, **fields.get("run_policy", {})}})


def a_time(text: str) -> Timestamp:
    """The time that an RFC 3339 text says."""
    return msgspec.convert(text, Timestamp)
