"""What the rest of the library asks of a transport, so that only the transport knows urllib3 and credentials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from clockwork import StopToken

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class Answer(msgspec.Struct, frozen=True):
    """A successful answer: HTTP code, raw body, and the texts of its Warning headers."""

    code: int
    body: bytes
    warnings: tuple[str, ...] = ()


class LineStream(Protocol):
    """The lines of a watch, as bytes without the newline, as they arrive."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield lines until the server closes the stream; raise IdleTimeout, ConnectionLost or Stopped."""
        ...

    def stop(self) -> None:
        """End the stream from any thread: the reader returns promptly. Idempotent."""
        ...


class Api(Protocol):
    """One server, one identity, one pool of connections. Safe from any thread."""

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float | None = None,
        action: str = "",
        stop: StopToken | None = None,
    ) -> Answer:
        """Send one request and return its successful answer.

        `timeout` is in seconds, the transport's default without it; `action` names what is being done in errors.
        Raises an `informers.errors.ApiError`; repeats nothing but what the server asked to be repeated by
        Retry-After, and one request after a 401 with fresh credentials.
        """
        ...

    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        stop: StopToken,
        idle_timeout: float | None = None,
        action: str = "",
    ) -> AbstractContextManager[LineStream]:
        """Open a watch. Connecting may raise like `request()`; `idle_timeout` (seconds) bounds each read."""
        ...
