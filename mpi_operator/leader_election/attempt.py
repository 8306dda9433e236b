"""One attempt to take or keep a Lease, as pure decisions (informers.md 1.9.3, 1.9.4).

`attempt()` is a generator: it yields requests, is sent replies, and returns what became of it. Whoever drives it owns
the connection and the clocks, so an elector and a simulation run the very same decisions.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

import msgspec

from informers.errors import AlreadyExists, ApiError, Conflict, NotFound
from mpi_operator.events.timestamps import build_micro_time
from mpi_operator.leader_election.config import Options
from mpi_operator.leader_election.lease import Lease, build_lease, build_update
from mpi_operator.leader_election.term import Term, build_term, is_leading


class Moment(msgspec.Struct, frozen=True):
    """One instant on both clocks: `boottime` for every decision, `wall` only for what is written into the Lease."""

    boottime: float
    wall: datetime


class Read(msgspec.Struct, frozen=True):
    """GET the Lease."""


class Create(msgspec.Struct, frozen=True):
    """POST the Lease."""

    body: bytes


class Update(msgspec.Struct, frozen=True):
    """PUT the Lease, with the resourceVersion that the body carries."""

    body: bytes


Request: TypeAlias = Read | Create | Update


class Reply(msgspec.Struct, frozen=True):
    """What a request brought: `sent_at` is the boottime before it was sent, `received` when the answer was there."""

    sent_at: float
    received: Moment
    result: Lease | ApiError


class Memory(msgspec.Struct, frozen=True):
    """What an elector remembers between attempts.

    `observed_at` is when, by the local clock, `lease` was last seen to *change*; `term` is None unless it leads.
    """

    lease: Lease | None = None
    observed_at: float = -math.inf
    term: Term | None = None


class Verdict(StrEnum):
    """What became of an attempt."""

    HELD = "held"
    REFUSED = "refused"
    FAILED = "failed"
    LOST = "lost"


class Attempt(msgspec.Struct, frozen=True):
    """The end of one attempt.

    REFUSED: somebody else's lease is still good. FAILED: nothing is known to have changed, try again; `error` says
    what failed unless that is usual. LOST: a term that was held is certainly over. `is_slow_path` tells a renewal
    that needed a GET.
    """

    verdict: Verdict
    memory: Memory
    reason: str = ""
    error: ApiError | None = None
    is_slow_path: bool = False


Steps: TypeAlias = Generator[Request, Reply, Attempt]


def attempt(memory: Memory, options: Options, moment: Moment) -> Steps:
    """Yield the requests of one attempt that begins at `moment`, and return what became of it."""
    is_slow_path = False
    if _may_renew_unread(memory, moment.boottime):
        assert memory.lease is not None  # noqa: S101 - told to the type checker
        reply = yield Update(_build_renewal(memory.lease, options, moment))
        if isinstance(reply.result, Lease):
            return _conclude(memory, reply, options)
        # A refusal or a lost answer proves nothing: the write may have succeeded. Look.
        is_slow_path = True
    reply = yield Read()
    if isinstance(reply.result, NotFound):
        reply = yield Create(_build_first(memory.term, options, reply.received))
        return _conclude(memory, reply, options, is_slow_path=is_slow_path)
    if isinstance(reply.result, ApiError):
        return _failed(memory, reply.result)
    memory = _observe(memory, reply.result, reply.received.boottime)
    objection = _object_to_claim(memory, reply.result, options, reply.received.boottime)
    if objection is not None:
        return objection
    reply = yield Update(_build_claim(reply.result, options, reply.received))
    return _conclude(memory, reply, options, is_slow_path=is_slow_path)


def _may_renew_unread(memory: Memory, now: float) -> bool:
    return (
        memory.term is not None
        and memory.lease is not None
        and now < memory.term.valid_until
        and not memory.lease.spec.preferred_holder
    )


def _observe(memory: Memory, lease: Lease, now: float) -> Memory:
    is_changed = memory.lease is None or memory.lease.spec_body != lease.spec_body
    return Memory(lease=lease, observed_at=now if is_changed else memory.observed_at, term=memory.term)


def _object_to_claim(memory: Memory, lease: Lease, options: Options, now: float) -> Attempt | None:
    """Return why `lease`, just read, cannot be claimed, or None.

    renewTime is never looked at: it was written by another clock. Only the time that we saw the record stand still
    counts, against the duration that its holder promised in it.
    """
    spec = lease.spec
    if spec.holder == options.identity:
        if spec.preferred_holder:
            reason = f"the Lease is marked for {spec.preferred_holder}, it is not renewed"
            return Attempt(Verdict.FAILED, memory, reason)
        return None
    if memory.term is not None:
        reason = f"the Lease is held by {spec.holder}" if spec.holder else "the Lease was emptied by somebody else"
        return Attempt(Verdict.LOST, _without_term(memory), reason)
    promised_seconds = spec.lease_duration_seconds or options.lease_duration_seconds
    if spec.holder and memory.observed_at + promised_seconds > now:
        return Attempt(Verdict.REFUSED, memory, f"the Lease is held by {spec.holder}")
    return None


def _conclude(memory: Memory, reply: Reply, options: Options, *, is_slow_path: bool = False) -> Attempt:
    """Return what the reply to a write means."""
    if isinstance(reply.result, ApiError):
        return _failed(memory, reply.result)
    now = reply.received.boottime
    observed = _observe(memory, reply.result, now)
    if memory.term is not None and not is_leading(memory.term, now):
        # The write succeeded, but its answer came when this leader had already counted as stopped.
        return Attempt(Verdict.LOST, _without_term(observed), "the answer to a renewal came after the renew deadline")
    term = build_term(reply.result.spec.transitions, reply.sent_at, options)
    if not is_leading(term, now):
        return Attempt(Verdict.FAILED, observed, "the answer came too late to lead on it")
    held = Memory(lease=reply.result, observed_at=observed.observed_at, term=term)
    return Attempt(Verdict.HELD, held, is_slow_path=is_slow_path)


def _failed(memory: Memory, error: ApiError) -> Attempt:
    is_usual = isinstance(error, Conflict | AlreadyExists)
    return Attempt(Verdict.FAILED, memory, str(error), None if is_usual else error)


def _without_term(memory: Memory) -> Memory:
    return Memory(lease=memory.lease, observed_at=memory.observed_at)


def _build_renewal(lease: Lease, options: Options, moment: Moment) -> bytes:
    changes = {
        "holderIdentity": options.identity,
        "leaseDurationSeconds": int(options.lease_duration_seconds),
        "renewTime": build_micro_time(moment.wall),
    }
    return build_update(lease, changes)


def _build_claim(lease: Lease, options: Options, moment: Moment) -> bytes:
    if lease.spec.holder == options.identity:
        return _build_renewal(lease, options, moment)
    now = build_micro_time(moment.wall)
    changes = {
        "holderIdentity": options.identity,
        "leaseDurationSeconds": int(options.lease_duration_seconds),
        "acquireTime": now,
        "renewTime": now,
        "leaseTransitions": lease.spec.transitions + 1,
    }
    return build_update(lease, changes)


def _build_first(term: Term | None, options: Options, moment: Moment) -> bytes:
    now = build_micro_time(moment.wall)
    spec = {
        "holderIdentity": options.identity,
        "leaseDurationSeconds": int(options.lease_duration_seconds),
        "acquireTime": now,
        "renewTime": now,
        # A leader whose Lease was deleted goes on in the same term, so its epoch must not fall back.
        "leaseTransitions": 0 if term is None else term.epoch,
    }
    return build_lease(namespace=options.namespace, name=options.name, spec=spec)
