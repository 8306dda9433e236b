"""What is done about the job's Service."""

from __future__ import annotations

from typing import Any

from mpi_operator import names
from mpi_operator.actions import Action, Create
from mpi_operator.api.merge_patch import build_merge_patch
from mpi_operator.api.observed import Service
from mpi_operator.api.types import MPIJob
from mpi_operator.children.ownership import Holder, classify_holder, plan_patch
from mpi_operator.children.service.build import build_service


def plan_service(job: MPIJob, service: Service | None) -> tuple[Action, ...]:
    """Create the Service, or repair what it selects and when it publishes (B120); nothing while the name is taken."""
    holder = classify_holder(service.metadata if service is not None else None, job)
    wanted = build_service(job)
    if holder is Holder.NOBODY:
        name = names.service_name(job.metadata.name)
        return (Create(kind="Service", namespace=job.metadata.namespace, name=name, manifest=wanted),)
    if holder is not Holder.OURS or service is None:
        return ()
    found: dict[str, Any] = {
        "selector": service.spec.selector,
        "publishNotReadyAddresses": service.spec.publish_not_ready_addresses,
    }
    spec = build_merge_patch(found, {key: wanted["spec"][key] for key in found})
    return plan_patch("Service", service.metadata, job, {"spec": spec} if spec else {})
