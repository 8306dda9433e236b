"""How long a leader may act: the safety time line (informers.md 1.9.6)."""

from __future__ import annotations

import msgspec

from mpi_operator.leader_election.config import Options


class Term(msgspec.Struct, frozen=True):
    """A stretch of leadership, in seconds of the local clock that also counts suspension.

    Everything counts from `renew_sent_at`, taken *before* the last successful write was sent: the server recorded it
    later, and other candidates began to wait later still. `must_stop_by` ends acting; until `valid_until` nobody else
    can have taken over, as long as no clock runs more than lease_duration / renew_deadline times as fast as another.
    """

    epoch: int
    renew_sent_at: float
    must_stop_by: float
    valid_until: float


def build_term(epoch: int, sent_at: float, options: Options) -> Term:
    """Return the term that a write sent at `sent_at` gives."""
    return Term(
        epoch=epoch,
        renew_sent_at=sent_at,
        must_stop_by=sent_at + options.renew_deadline_seconds,
        valid_until=sent_at + options.lease_duration_seconds,
    )


def is_leading(term: Term | None, now: float) -> bool:
    """Return whether the holder of `term` may act at `now`: a comparison, which no stuck thread can falsify."""
    return term is not None and now < term.must_stop_by
