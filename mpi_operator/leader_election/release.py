"""Giving a Lease back, as pure decisions (informers.md 1.9.7)."""

from __future__ import annotations

from collections.abc import Generator
from enum import StrEnum
from typing import TypeAlias

from informers.errors import ApiError, Conflict, NotFound
from mpi_operator.events.timestamps import build_micro_time
from mpi_operator.leader_election.attempt import Moment, Read, Reply, Request, Update
from mpi_operator.leader_election.lease import Lease, build_update

_RELEASED_DURATION_SECONDS = 1


class Release(StrEnum):
    """What became of a release: done, not ours to give back, or FAILED and worth another try."""

    DONE = "done"
    NOT_OURS = "not ours"
    FAILED = "failed"


ReleaseSteps: TypeAlias = Generator[Request, Reply, Release]


def release(identity: str) -> ReleaseSteps:
    """Yield the requests that give the Lease back if `identity` still holds it; look again after a conflict."""
    while True:
        reply = yield Read()
        if isinstance(reply.result, NotFound):
            return Release.NOT_OURS
        if isinstance(reply.result, ApiError):
            return Release.FAILED
        if reply.result.spec.holder != identity:
            return Release.NOT_OURS
        reply = yield Update(_build_release(reply.result, reply.received))
        if isinstance(reply.result, Lease):
            return Release.DONE
        if not isinstance(reply.result, Conflict):
            return Release.FAILED


def _build_release(lease: Lease, moment: Moment) -> bytes:
    now = build_micro_time(moment.wall)
    changes = {
        "holderIdentity": "",
        "leaseDurationSeconds": _RELEASED_DURATION_SECONDS,
        "acquireTime": now,
        "renewTime": now,
    }
    return build_update(lease, changes)
