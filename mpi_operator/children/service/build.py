"""The manifest of the job's headless Service."""

from __future__ import annotations

from typing import Any

from mpi_operator import names
from mpi_operator.api.types import MPIJob
from mpi_operator.children.metadata import build_metadata


def build_service(job: MPIJob) -> dict[str, Any]:
    """Return the headless Service that fronts launcher and workers (B117-B119).

    Names resolve before readiness: a launcher looks for its workers, and Hydra's proxies for the launcher, while pods
    are starting.
    """
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": build_metadata(job, names.service_name(job.metadata.name)),
        "spec": {
            "clusterIP": "None",
            "selector": names.child_labels(job.metadata.name),
            "publishNotReadyAddresses": True,
        },
    }
