"""One thing that happened, before it is counted, combined or written."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from mpi_operator.events.reference import ObjectReference

EventType = Literal["Normal", "Warning"]


class Source(msgspec.Struct, frozen=True):
    """Who reports: a component's name and, where it matters, its host (core/v1) or instance (events.k8s.io/v1)."""

    component: str
    host: str = ""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What was reported, and when: `wall` for the object written, `monotonic` seconds for all intervals.

    `action` and `related` are used by events.k8s.io/v1 only.
    """

    regarding: ObjectReference
    type: EventType
    reason: str
    message: str
    wall: datetime
    monotonic: float
    action: str = ""
    related: ObjectReference | None = None
