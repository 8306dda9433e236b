"""Times as Kubernetes writes them into objects: always UTC, whatever the machine's zone."""

from __future__ import annotations

from datetime import UTC, datetime


def build_micro_time(moment: datetime) -> str:
    """Return `moment` as a MicroTime: RFC 3339 in UTC, six decimals, Z. A time without a zone raises ValueError."""
    return _in_utc(moment).isoformat(timespec="microseconds") + "Z"


def build_time(moment: datetime) -> str:
    """Return `moment` as a Time: RFC 3339 in UTC, whole seconds, Z. A time without a zone raises ValueError."""
    return _in_utc(moment).replace(microsecond=0).isoformat() + "Z"


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"a time without a zone cannot be written into an object: {moment.isoformat()}")
    return moment.astimezone(UTC).replace(tzinfo=None)
