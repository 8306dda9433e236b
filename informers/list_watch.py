"""What a reflector asks of a source of objects: pages of a list, and the events of a watch (informers.md 1.1)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Generic, Literal, Protocol, TypeVar

import msgspec

from clockwork import StopToken

T = TypeVar("T")


class ListOptions(msgspec.Struct, frozen=True):
    """The parameters of one LIST request; `limit` 0 means no limit, None and "" mean that the parameter is not sent."""

    resource_version: str = ""
    resource_version_match: str = ""
    limit: int = 0
    continue_: str = ""


class WatchOptions(msgspec.Struct, frozen=True):
    """The parameters of one WATCH request; bookmarks are always asked for."""

    resource_version: str = ""
    timeout_seconds: int = 300
    send_initial_events: bool = False


class Undecodable(msgspec.Struct, frozen=True):
    """An object that did not decode: what can be told of it, and why."""

    namespace: str
    name: str
    error: str
    uid: str = ""
    resource_version: str = ""


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list: its decoded items, the list's resourceVersion, and how to get the next one."""

    items: tuple[T, ...]
    resource_version: str
    continue_: str = ""
    remaining: int | None = None
    undecodable: tuple[Undecodable, ...] = ()


EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class WatchEvent(msgspec.Struct, Generic[T], frozen=True):
    """One event of a watch.

    `object` is None for a bookmark and for an object that did not decode (then `undecodable` says which).
    `resource_version` is that of the object or bookmark. ERROR events are raised, never yielded; events of another
    kind, of a Table, or of an unknown type are not yielded either.
    """

    type: EventType
    object: T | None
    resource_version: str
    initial_events_end: bool = False
    undecodable: Undecodable | None = None


class WatchStream(Protocol[T]):
    """An open watch; iterating ends when the server closes it, and raises ApiError for anything else."""

    def __iter__(self) -> Iterator[WatchEvent[T]]:
        """Yield events in the order of arrival."""
        ...

    def stop(self) -> None:
        """End the stream from any thread. Idempotent."""
        ...


class ListWatch(Protocol[T]):
    """A source of objects of one resource in one scope. Safe from any thread."""

    @property
    def name(self) -> str:
        """What is listed, for logs and metrics: `pods`, `jobs.batch in team-a`."""
        ...

    def list(self, options: ListOptions, stop: StopToken) -> Page[T]:
        """Return one page; raise ApiError."""
        ...

    def watch(self, options: WatchOptions, stop: StopToken) -> AbstractContextManager[WatchStream[T]]:
        """Open a watch.

        Failing to connect is raised on entering the context, an ERROR event or a broken stream while iterating.
        """
        ...
