"""The list as a stream: a watch that begins with what exists, and says when that is complete (informers.md 1.2.6)."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Generic, Self

import structlog

from clockwork import Clock, OwnedThread, StopToken
from informers.errors import (
    ApiError,
    ConnectionLost,
    ConnectionRefused,
    DecodeError,
    Expired,
    Forbidden,
    IdleTimeout,
    NotFound,
    TooLargeResourceVersion,
    TooManyRequests,
    Unauthorized,
)
from informers.initial_list import Listed
from informers.list_watch import Undecodable, WatchEvent, WatchStream
from informers.metadata import Object, build_key, key_of

MAXIMUM_ATTEMPTS = 2
MAXIMUM_WAIT_SECONDS = 60.0
QUIET_SECONDS = 10.0
_LOG = structlog.get_logger(__name__)


class StreamCutShort(ApiError):
    """A streaming list ended before the bookmark that says that it is complete."""


class BookmarkOverdue(ApiError):
    """A streaming list was given up: the bookmark that says that it is complete did not come, nor did anything else."""


class Remedy(Enum):
    """What to do about a streaming list that failed before it was complete."""

    AGAIN = "ask again at once"
    MOST_RECENT = "ask again at once, for the most recent state"
    BACKOFF = "ask again after the round's backoff"
    LIST_THIS_TIME = "list page by page in this round"
    LIST_FROM_NOW_ON = "list page by page in this and all later rounds"


def is_cut_short(error: ApiError) -> bool:
    """Return whether the stream ended, broke, or fell silent before it was complete."""
    return isinstance(error, StreamCutShort | IdleTimeout | ConnectionLost)


def choose_remedy(error: ApiError, *, cut_short: int, asked_for_version: bool) -> Remedy:
    """Return the remedy for `error`; `cut_short` streams, this one included, ended early since the last success. Pure.

    Errors that say nothing about streaming (no permission, no such resource yet, one bad line) do not turn it off.
    Nor does a connection that breaks; but a proxy may break every stream that is silent before its bookmark, so a
    second such break is answered with a list.
    """
    if isinstance(error, ConnectionRefused | TooManyRequests):
        return Remedy.BACKOFF
    if isinstance(error, ConnectionLost):
        return Remedy.BACKOFF if cut_short < MAXIMUM_ATTEMPTS else Remedy.LIST_THIS_TIME
    if isinstance(error, Expired | TooLargeResourceVersion):
        return Remedy.MOST_RECENT if asked_for_version else Remedy.BACKOFF
    if is_cut_short(error) and cut_short < MAXIMUM_ATTEMPTS:
        return Remedy.AGAIN
    if isinstance(error, Forbidden | Unauthorized | NotFound | DecodeError):
        return Remedy.LIST_THIS_TIME
    return Remedy.LIST_FROM_NOW_ON


class BookmarkWatchdog:
    """Stops a stream whose bookmark does not come: 60 s after the start, once nothing has come for 10 s.

    Warns every 10 s until then. Use it as a context manager around the reading: it owns one thread, which waits on
    `clock` and ends with the `with` block or the token. `note_event` is called by the reader only.
    """

    def __init__(self, stream: WatchStream[Object], *, name: str, clock: Clock, stop: StopToken) -> None:
        self.has_given_up = False
        self._stream = stream
        self._name = name
        self._clock = clock
        self._started = clock.monotonic()
        self._last_event: float | None = None
        self._done = stop.child()
        self._thread = OwnedThread(f"bookmark watchdog {name}", self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set("the initial events have been read")
        self._thread.join()
        self._done.close()

    def note_event(self) -> None:
        """Note that the stream is alive."""
        self._last_event = self._clock.monotonic()

    def _run(self) -> None:
        while not self._done.wait(QUIET_SECONDS):
            now, last_event = self._clock.monotonic(), self._last_event
            waited = now - self._started
            quiet = waited if last_event is None else now - last_event
            _LOG.warning(
                "still waiting for the bookmark that completes the initial list",
                informer=self._name,
                waited_seconds=waited,
                last_event="none so far" if last_event is None else f"{quiet:g} s ago",
            )
            if waited >= MAXIMUM_WAIT_SECONDS and quiet >= QUIET_SECONDS:
                self.has_given_up = True
                self._stream.stop()
                return


class InitialEvents(Generic[Object]):
    """Collects the events before the bookmark, apart from the live store. One thread only."""

    def __init__(self) -> None:
        self._objects: dict[str, Object] = {}
        self._undecodable: dict[str, Undecodable] = {}

    def read(self, events: Iterator[WatchEvent[Object]], watchdog: BookmarkWatchdog) -> Listed[Object]:
        """Read up to the bookmark and return the set it completes.

        Raises BookmarkOverdue when the watchdog gave up, StreamCutShort when the server closed the stream, and
        whatever ApiError the stream raises.
        """
        try:
            for event in events:
                watchdog.note_event()
                if event.initial_events_end:
                    undecodable = tuple(self._undecodable.values())
                    return Listed(tuple(self._objects.values()), event.resource_version, undecodable)
                self._apply(event)
        except ApiError as error:
            if watchdog.has_given_up:
                raise _overdue() from error
            raise
        if watchdog.has_given_up:
            raise _overdue()
        raise StreamCutShort("the server closed the stream before the bookmark that completes the initial list")

    def _apply(self, event: WatchEvent[Object]) -> None:
        key = _key_of_event(event)
        if key is None:
            return
        if event.type == "DELETED":
            self._objects.pop(key, None)
            self._undecodable.pop(key, None)
        elif event.object is not None:
            self._objects[key] = event.object
            self._undecodable.pop(key, None)
        elif event.undecodable is not None and key not in self._objects:
            self._undecodable[key] = event.undecodable


def _overdue() -> BookmarkOverdue:
    return BookmarkOverdue(
        f"no bookmark completed the initial list in {MAXIMUM_WAIT_SECONDS:g} s; for {QUIET_SECONDS:g} s nothing came"
    )


def _key_of_event(event: WatchEvent[Object]) -> str | None:
    try:
        if event.object is not None:
            return key_of(event.object)
        return build_key(event.undecodable.namespace, event.undecodable.name) if event.undecodable else None
    except ValueError:
        _LOG.exception("skipping an object that has no key")
        return None
