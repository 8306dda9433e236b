"""The metadata that every child of an MPIJob carries."""

from __future__ import annotations

from typing import Any

from mpi_operator import names
from mpi_operator.api.types import API_VERSION, KIND, MPIJob


def build_owner_reference(job: MPIJob) -> dict[str, Any]:
    """Return the reference that makes the job the managing owner of a child (B085, K8)."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def build_metadata(job: MPIJob, name: str) -> dict[str, Any]:
    """Return the metadata of a Service, ConfigMap, Secret or Job of the job (B084); pods have their own labels."""
    return {
        "name": name,
        "namespace": job.metadata.namespace,
        "labels": {names.LABEL_APP: job.metadata.name, **names.child_labels(job.metadata.name)},
        "ownerReferences": [build_owner_reference(job)],
    }
