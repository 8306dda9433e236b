"""The list/watch of one resource in one scope, over an Api."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic

from clockwork import StopToken
from informers.api import Api, LineStream
from informers.decode import ObjectDecoder
from informers.list_watch import ListOptions, Page, WatchEvent, WatchOptions
from informers.metadata import Object
from informers.resource import Resource

DEFAULT_IDLE_TIMEOUT_SECONDS = 150.0
"""How long a watch may be silent: two and a half of the minutes in which bookmarks come (informers.md 3.6 row 9)."""


class ResourceWatch(Generic[Object]):
    """An open watch, decoded. One reader; `stop()` from any thread."""

    def __init__(self, lines: LineStream, decoder: ObjectDecoder[Object], action: str) -> None:
        self._lines = lines
        self._decoder = decoder
        self._action = action

    def __iter__(self) -> Iterator[WatchEvent[Object]]:
        for line in self._lines:
            event = self._decoder.decode_event(line, action=self._action)
            if event is not None:
                yield event

    def stop(self) -> None:
        """End the stream. Idempotent."""
        self._lines.stop()


class ResourceListWatch(Generic[Object]):
    """A `ListWatch` of the objects of `resource` in `namespace` (all with "") that both selectors match.

    Objects are decoded into `item_type`. `idle_timeout` is in seconds and bounds the silence of a watch. Safe from any
    thread; keeps nothing between calls.
    """

    def __init__(
        self,
        api: Api,
        resource: Resource,
        item_type: type[Object],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        idle_timeout: float = DEFAULT_IDLE_TIMEOUT_SECONDS,
    ) -> None:
        self._api = api
        self._path = resource.path(namespace=namespace)
        self._scope = {
            name: value
            for name, value in (("labelSelector", label_selector), ("fieldSelector", field_selector))
            if value
        }
        self._decoder = ObjectDecoder(resource, item_type)
        self._idle_timeout = idle_timeout
        self._name = f"{resource.name} in {namespace}" if namespace else resource.name

    @property
    def name(self) -> str:
        """What is listed: `pods`, `jobs.batch in team-a`."""
        return self._name

    def list(self, options: ListOptions, stop: StopToken) -> Page[Object]:
        """Return one page; raise ApiError."""
        action = f"list {self._name}"
        answer = self._api.request("GET", self._path, query=self._build_list_query(options), action=action, stop=stop)
        return self._decoder.decode_page(answer.body, action=action)

    @contextmanager
    def watch(self, options: WatchOptions, stop: StopToken) -> Iterator[ResourceWatch[Object]]:
        """Open a watch; raise ApiError on entering when that fails."""
        action = f"watch {self._name}"
        query = self._build_watch_query(options)
        with self._api.stream(
            self._path, query=query, stop=stop, idle_timeout=self._idle_timeout, action=action
        ) as lines:
            yield ResourceWatch(lines, self._decoder, action)

    def _build_list_query(self, options: ListOptions) -> dict[str, str]:
        asked = {
            "resourceVersion": options.resource_version,
            "resourceVersionMatch": options.resource_version_match,
            "limit": str(options.limit) if options.limit else "",
            "continue": options.continue_,
        }
        return self._scope | {name: value for name, value in asked.items() if value}

    def _build_watch_query(self, options: WatchOptions) -> dict[str, str]:
        query = self._scope | {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(options.timeout_seconds),
        }
        if options.resource_version:
            query["resourceVersion"] = options.resource_version
        if options.send_initial_events:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        return query
