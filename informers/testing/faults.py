"""The ways in which the fake API server can be made to fail.

A fault is scripted for the requests that a `Rule` matches. Faults of the first group take the place of an answer;
those of the second group happen inside an open watch, after a number of events, or at once when they are injected.
"""

from __future__ import annotations

import msgspec

from informers.resource import Resource
from informers.testing.rejection import Rejection


class Respond(msgspec.Struct, frozen=True):
    """Answer with a Status of this code; `retry_after` becomes the Retry-After header, `body` replaces the Status.

    `headers` go with a `body` only.
    """

    code: int
    reason: str = ""
    message: str = ""
    causes: tuple[str, ...] = ()
    retry_after: int | None = None
    body: bytes | None = None
    headers: dict[str, str] = msgspec.field(default_factory=dict)

    def rejection(self) -> Rejection:
        """Return the answer as an exception."""
        return Rejection(self.code, self.reason, self.message, causes=self.causes, retry_after_seconds=self.retry_after)


class DropRequest(msgspec.Struct, frozen=True):
    """Close the connection without an answer; with `after_write` the request takes effect all the same."""

    after_write: bool = False


class ResetRequest(msgspec.Struct, frozen=True):
    """Reset the connection without an answer."""


class IgnoreRequest(msgspec.Struct, frozen=True):
    """Never answer, and keep the connection open until the server closes: a peer that is gone without a FIN."""


class TruncateAnswer(msgspec.Struct, frozen=True):
    """Announce the whole answer, send its first half and close the connection."""


class Warn(msgspec.Struct, frozen=True):
    """Answer as usual, with a Warning header."""

    text: str


class CloseStream(msgspec.Struct, frozen=True):
    """End the watch in order, as a server does at its timeout."""


class DropStream(msgspec.Struct, frozen=True):
    """Close the watch's connection without ending the body."""


class ResetStream(msgspec.Struct, frozen=True):
    """Reset the watch's connection."""


class SilenceStream(msgspec.Struct, frozen=True):
    """Send nothing more, not even the end, until the server closes."""


class SendRaw(msgspec.Struct, frozen=True):
    """Send these bytes as they are: half a line, a malformed one, an event of any kind."""

    data: bytes


class SendError(msgspec.Struct, frozen=True):
    """Send an ERROR event, then end the watch."""

    code: int
    reason: str = ""
    message: str = ""
    causes: tuple[str, ...] = ()


class SendBookmark(msgspec.Struct, frozen=True):
    """Send a bookmark at the current version; `initial_events_end` is the value of its annotation, None for none."""

    initial_events_end: str | None = None


class WithholdInitialBookmark(msgspec.Struct, frozen=True):
    """Never say that the initial events have ended."""


class FalseInitialBookmark(msgspec.Struct, frozen=True):
    """Send the first bookmark of a streaming list with the annotation's value `"false"`, and the true one never."""


class Drip(msgspec.Struct, frozen=True):
    """Send the watch in pieces of `chunk_bytes`, with `pause_seconds` of real time between them."""

    chunk_bytes: int = 1
    pause_seconds: float = 0.0


RequestFault = Respond | DropRequest | ResetRequest | IgnoreRequest | TruncateAnswer | Warn
StreamFault = CloseStream | DropStream | ResetStream | SilenceStream | SendRaw | SendError | SendBookmark
StreamMode = WithholdInitialBookmark | FalseInitialBookmark | Drip
Fault = RequestFault | StreamFault | StreamMode


class Rule(msgspec.Struct, frozen=True):
    """Which requests a fault is for; an empty field matches all.

    `verb` is one of get, list, watch, create, replace, patch, delete, deletecollection. `page` counts the pages of one
    list from 1.
    """

    verb: str = ""
    resource: Resource | None = None
    name: str = ""
    page: int = 0
    subresource: str | None = None
