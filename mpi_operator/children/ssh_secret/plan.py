"""What is done about the job's ssh Secret."""

from __future__ import annotations

from mpi_operator import names
from mpi_operator.actions import Action, EnsureSecret
from mpi_operator.api.observed import Secret
from mpi_operator.api.types import MPIJob
from mpi_operator.children.ownership import Holder, classify_holder, plan_patch


def plan_ssh_secret(job: MPIJob, secret: Secret | None) -> tuple[Action, ...]:
    """Ask for a key pair where there is none, or none that is usable; a usable pair is never replaced (A1.19)."""
    holder = classify_holder(secret.metadata if secret is not None else None, job)
    name = names.ssh_secret_name(job.metadata.name)
    if holder is Holder.NOBODY:
        return (EnsureSecret(namespace=job.metadata.namespace, name=name, job=job),)
    if holder is not Holder.OURS or secret is None:
        return ()
    if secret.is_usable:
        return plan_patch("Secret", secret.metadata, job, {})
    return (
        EnsureSecret(
            namespace=job.metadata.namespace,
            name=name,
            job=job,
            uid=secret.metadata.uid,
            resource_version=secret.metadata.resource_version,
        ),
    )
