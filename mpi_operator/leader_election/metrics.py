"""What an elector reports about itself (informers.md 1.9.9)."""

from __future__ import annotations

from typing import Protocol


class Metrics(Protocol):
    """Takes an elector's gauges and counts, by the name of its Lease. Implementations must not block.

    The age of the last renewal is asked for instead, by `Elector.last_renew_age_seconds()`, because it grows by itself.
    """

    def set_leader(self, name: str, *, is_leader: bool) -> None:
        """Set the gauge that is 1 from the start of leading to its end."""
        ...

    def set_transitions(self, name: str, transitions: int) -> None:
        """Set the gauge of the Lease's transitions, as last seen."""
        ...

    def count_slow_renewal(self, name: str) -> None:
        """Count a renewal that had to read the Lease first."""
        ...


class NoMetrics:
    """Metrics that nobody reads."""

    def set_leader(self, name: str, *, is_leader: bool) -> None:
        """Forget it."""

    def set_transitions(self, name: str, transitions: int) -> None:
        """Forget it."""

    def count_slow_renewal(self, name: str) -> None:
        """Forget it."""
