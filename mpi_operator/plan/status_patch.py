"""The merge patch of a status write."""

from __future__ import annotations

from typing import Any

import msgspec

from mpi_operator.api.merge_patch import build_merge_patch
from mpi_operator.api.types import MPIJobStatus


def build_status_patch(stored: MPIJobStatus, following: MPIJobStatus) -> dict[str, Any]:
    """Return the body's `status` that turns the stored status into the following one; empty if they are equal.

    Conditions are written whole and in order, counters and fields that go as null (lifecycle.md 6). The caller adds
    the resourceVersion that was read.
    """
    return build_merge_patch(msgspec.to_builtins(stored), msgspec.to_builtins(following))
