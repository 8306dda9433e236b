"""How a watch can end, and what follows from each end (informers.md 1.2.5), as a table."""

from __future__ import annotations

from enum import Enum

import msgspec

from informers.errors import (
    ApiError,
    ConnectionLost,
    ConnectionRefused,
    DecodeError,
    Expired,
    IdleTimeout,
    InternalError,
    TooManyRequests,
)


class ShortWatch(ApiError):
    """The server closed a watch in less than a second without a single event."""


class WatchEnd(Enum):
    """The end of a watch; the value is its label in metrics."""

    CLOSED = "closed"
    SHORT = "short"
    REFUSED = "refused"
    THROTTLED = "throttled"
    EXPIRED = "expired"
    INTERNAL_ERROR = "internal_error"
    IDLE = "idle"
    LOST = "lost"
    UNDECODABLE = "undecodable"
    ERROR = "error"


class Delay(Enum):
    """When the next attempt is made."""

    NONE = "at once"
    BACKOFF = "after the watch's own backoff"
    BACKOFF_ON_REPEAT = "at once, but after a backoff when no event came since the last such end"
    ROUND = "after the backoff of the whole round"


class Consequence(msgspec.Struct, frozen=True):
    """What follows from a watch's end."""

    relists: bool
    delay: Delay


_REWATCH_AT_ONCE = Consequence(relists=False, delay=Delay.NONE)
_REWATCH_AFTER_BACKOFF = Consequence(relists=False, delay=Delay.BACKOFF)
_REWATCH_UNLESS_REPEATED = Consequence(relists=False, delay=Delay.BACKOFF_ON_REPEAT)
_RELIST = Consequence(relists=True, delay=Delay.ROUND)

CONSEQUENCES: dict[WatchEnd, Consequence] = {
    WatchEnd.CLOSED: _REWATCH_AT_ONCE,
    WatchEnd.SHORT: _RELIST,
    WatchEnd.REFUSED: _REWATCH_AFTER_BACKOFF,
    WatchEnd.THROTTLED: _REWATCH_AFTER_BACKOFF,
    WatchEnd.EXPIRED: _RELIST,
    WatchEnd.INTERNAL_ERROR: _REWATCH_AT_ONCE,
    WatchEnd.IDLE: _REWATCH_UNLESS_REPEATED,
    WatchEnd.LOST: _REWATCH_UNLESS_REPEATED,
    WatchEnd.UNDECODABLE: _RELIST,
    WatchEnd.ERROR: _RELIST,
}

_END_OF_ERROR: tuple[tuple[type[ApiError], WatchEnd], ...] = (
    (ShortWatch, WatchEnd.SHORT),
    (ConnectionRefused, WatchEnd.REFUSED),
    (TooManyRequests, WatchEnd.THROTTLED),
    (Expired, WatchEnd.EXPIRED),
    (IdleTimeout, WatchEnd.IDLE),
    (ConnectionLost, WatchEnd.LOST),
    (DecodeError, WatchEnd.UNDECODABLE),
)


def classify_end(error: ApiError | None, *, is_connected: bool, is_within_retry_budget: bool) -> WatchEnd:
    """Return which end `error` is, None being a close by the server. Pure.

    A connection that could not be made says nothing against our resourceVersion, so it counts as lost, not as an
    error; an InternalError is retried only in an established watch and while its budget lasts.
    """
    if error is None:
        return WatchEnd.CLOSED
    if isinstance(error, InternalError) and is_connected and is_within_retry_budget:
        return WatchEnd.INTERNAL_ERROR
    return next((end for kind, end in _END_OF_ERROR if isinstance(error, kind)), WatchEnd.ERROR)
