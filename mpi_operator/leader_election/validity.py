"""The term that is held now, shared between the thread that renews it and all those that ask about it."""

from __future__ import annotations

import threading

from clockwork import Clock
from mpi_operator.leader_election.term import Term, is_leading

NEVER_LED = -1


class Validity:
    """Holds at most one term. Safe from any thread; its lock is held for comparisons only, never over a request.

    Within a term `is_leader()`, once False, never becomes True again: a term is extended only while it is still good
    by the clock, under the lock under which that is asked.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._term: Term | None = None
        self._is_revoked = False
        self._epoch = NEVER_LED

    def begin(self, term: Term) -> None:
        """Hold `term`."""
        with self._lock:
            self._term = term
            self._is_revoked = False
            self._epoch = term.epoch

    def extend(self, term: Term) -> bool:
        """Hold `term` in place of the present one if that is still good; return whether it was."""
        with self._lock:
            if not self._may_act():
                return False
            self._term = term
            return True

    def revoke(self) -> None:
        """End acting at once, because the Lease is known to be lost; the term's times stay, for those who clean up."""
        with self._lock:
            self._is_revoked = True

    def end(self) -> None:
        """Hold nothing."""
        with self._lock:
            self._term = None

    def is_leader(self) -> bool:
        """Return whether acting is allowed at this moment."""
        with self._lock:
            return self._may_act()

    def _may_act(self) -> bool:
        return not self._is_revoked and is_leading(self._term, self._clock.boottime())

    @property
    def epoch(self) -> int:
        """The epoch of the present or last term, NEVER_LED before the first."""
        with self._lock:
            return self._epoch

    @property
    def term(self) -> Term | None:
        """The term held, be it still good or not."""
        with self._lock:
            return self._term

    def seconds_to_act(self) -> float:
        """Return the seconds until acting must have stopped, 0 without a term or past it."""
        with self._lock:
            return 0.0 if self._term is None else max(0.0, self._term.must_stop_by - self._clock.boottime())

    def seconds_valid(self) -> float:
        """Return the seconds until somebody else may take over, 0 without a term or past it."""
        with self._lock:
            return 0.0 if self._term is None else max(0.0, self._term.valid_until - self._clock.boottime())

    def last_renew_age_seconds(self) -> float | None:
        """Return the seconds since the last successful renewal was sent, None without a term."""
        with self._lock:
            return None if self._term is None else self._clock.boottime() - self._term.renew_sent_at
