"""Names of Event objects: `<object name>.<hex of wall-clock nanoseconds>` (informers.md 1.10.1)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_NAME = 253


class Naming:
    """Gives each event a name; belongs to one thread.

    Python's wall clock counts microseconds, so two events can carry the same instant: the later one then takes the
    next nanosecond, lest the server refuse it as existing.
    """

    def __init__(self) -> None:
        self._last_nanoseconds = 0

    def name(self, object_name: str, wall: datetime) -> str:
        """Return a name that this object has not returned before."""
        nanoseconds = (wall - _UNIX_EPOCH) // timedelta(microseconds=1) * 1000
        self._last_nanoseconds = max(nanoseconds, self._last_nanoseconds + 1)
        suffix = f".{self._last_nanoseconds:x}"
        return object_name[: _LONGEST_NAME - len(suffix)].rstrip(".-") + suffix
