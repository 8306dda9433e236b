"""The list with which a reflector begins and recovers: page by page, at the right resourceVersion (1.2.3, 1.2.4)."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import msgspec
import structlog

from clockwork import StopToken
from informers.errors import Expired, TooLargeResourceVersion
from informers.list_watch import ListOptions, ListWatch, Undecodable

T = TypeVar("T")

InitialRead = Literal["any", "consistent"]
DEFAULT_PAGE_SIZE = 500
_LOG = structlog.get_logger(__name__)


class Listed(msgspec.Struct, Generic[T], frozen=True):
    """The content of one resource at one resourceVersion."""

    items: tuple[T, ...]
    resource_version: str
    undecodable: tuple[Undecodable, ...] = ()
    is_paginated: bool = False


def read_pages(list_watch: ListWatch[T], options: ListOptions, stop: StopToken) -> Listed[T]:
    """Read all pages, which belong to one snapshot.

    Pages after the first carry only the continue token and the limit. When a later page has expired, what was read is
    dropped for one list without limit at the original resourceVersion; an expired first page is raised, as is every
    other ApiError. The raw pages are never held: each is decoded before the next is asked for.
    """
    items: list[T] = []
    undecodable: list[Undecodable] = []
    request = options
    while True:
        try:
            page = list_watch.list(request, stop)
        except Expired:
            if not request.continue_:
                raise
            _LOG.debug("a page of a list expired; listing again without pages", informer=list_watch.name)
            full = list_watch.list(msgspec.structs.replace(options, limit=0), stop)
            return Listed(full.items, full.resource_version, full.undecodable, is_paginated=True)
        items += page.items
        undecodable += page.undecodable
        if not page.continue_:
            is_paginated = bool(request.continue_)
            return Listed(tuple(items), page.resource_version, tuple(undecodable), is_paginated)
        request = ListOptions(limit=options.limit, continue_=page.continue_)


class InitialList(Generic[T]):
    """Lists again and again, remembering between lists what decides about the next one. One thread only.

    `initial_read` says how new the very first list must be: "consistent" (at least as new as the request) or "any"
    (whatever the API server has in memory, possibly older than what this process saw before it restarted).
    `page_size` 0 means 500 where a limit does no harm.
    """

    def __init__(self, list_watch: ListWatch[T], *, initial_read: InitialRead, page_size: int) -> None:
        self.is_version_unavailable = False
        self._list_watch = list_watch
        self._initial_version = "0" if initial_read == "any" else ""
        self._page_size = page_size
        self._is_always_paginated = False

    def version_to_ask_for(self, last_version: str) -> str:
        """Return the resourceVersion of the next list: not older than the last seen, unless that is unavailable."""
        return "" if self.is_version_unavailable else last_version or self._initial_version

    def read(self, last_version: str, stop: StopToken) -> Listed[T]:
        """Return the resource's content, not older than `last_version` (the newest that was seen, "" before the first).

        Expired and TooLargeResourceVersion are retried once, at once, for the most recent state; other errors, and a
        second failure, are raised.
        """
        version = self.version_to_ask_for(last_version)
        try:
            listed = self._read_at(version, stop)
        except (Expired, TooLargeResourceVersion):
            self.is_version_unavailable = True
            if not version:
                raise
            listed = self._read_at("", stop)
        self.is_version_unavailable = False
        return listed

    def _read_at(self, version: str, stop: StopToken) -> Listed[T]:
        limit = self._limit_at(version)
        # A limit beside a version without a match means exactly that version to the server: the list would be as old
        # as what we have, and the watch from it would expire again and again.
        match = "NotOlderThan" if limit and version not in ("", "0") else ""
        options = ListOptions(resource_version=version, resource_version_match=match, limit=limit)
        listed = read_pages(self._list_watch, options, stop)
        if version == "0" and listed.is_paginated:
            # The watch cache would have ignored the limit, so there is none, and a limit does no harm from now on.
            self._is_always_paginated = True
        return listed

    def _limit_at(self, version: str) -> int:
        if self._page_size:
            return self._page_size
        # A limit beside a version makes older servers go past their watch cache to etcd.
        return DEFAULT_PAGE_SIZE if self._is_always_paginated or version in ("", "0") else 0
