"""Whether an elector is stuck (informers.md 1.9.9, B297)."""

from __future__ import annotations

from typing import Protocol

TOLERANCE_SECONDS = 20.0


class Renewer(Protocol):
    """What is asked about its last renewal."""

    def last_renew_age_seconds(self) -> float | None:
        """Return the seconds since the last successful renewal was sent, None when it does not lead."""
        ...


class Health:
    """The `leaderElection` check: a leader must have renewed; whoever does not lead is healthy. Safe from any thread.

    It catches what the elector itself cannot: a thread that hangs, so that the process neither renews nor exits.
    """

    def __init__(
        self, renewer: Renewer, *, lease_duration_seconds: float, tolerance_seconds: float = TOLERANCE_SECONDS
    ) -> None:
        self._renewer = renewer
        self._limit_seconds = lease_duration_seconds + tolerance_seconds

    def check(self) -> str | None:
        """Return None when healthy, else what is wrong."""
        age = self._renewer.last_renew_age_seconds()
        if age is None or age <= self._limit_seconds:
            return None
        return (
            f"the leader's Lease was last renewed {age:.0f} s ago, expected at most {self._limit_seconds:.0f} s; "
            "the process is stuck and should be restarted"
        )
