"""The manifest of the Secret with the job's ssh keys; the keys themselves are made elsewhere."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import msgspec

from mpi_operator import names
from mpi_operator.api.types import MPIJob
from mpi_operator.children.metadata import build_metadata


class SSHKeyPair(msgspec.Struct, frozen=True):
    """A private key (PEM) and its authorized_keys line. Its repr shows neither, so that no log or traceback does."""

    private_key: bytes
    public_key: bytes

    def __repr__(self) -> str:
        return "SSHKeyPair(...)"

    __str__ = __repr__


def build_ssh_secret(job: MPIJob, pair: SSHKeyPair) -> dict[str, Any]:
    """Return the Secret that launcher and workers mount (B109, B110). It holds a private key: never log it."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": build_metadata(job, names.ssh_secret_name(job.metadata.name)),
        "type": names.SSH_SECRET_TYPE,
        "data": build_ssh_secret_data(pair),
    }


def build_ssh_secret_data(pair: SSHKeyPair) -> dict[str, str]:
    """Return the Secret's data, also to repair one whose pair is unusable (B115)."""
    return {
        names.SSH_PRIVATE_KEY: b64encode(pair.private_key).decode(),
        names.SSH_PUBLIC_KEY: b64encode(pair.public_key).decode(),
    }
