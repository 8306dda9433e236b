"""What the fake API server saw: requests so far, and the watches that are open."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from informers.resource import Resource
from informers.testing.routing import Route
from informers.testing.watching import Watch


class RecordedRequest(msgspec.Struct, frozen=True):
    """A request that the server got; `route` is None for one outside of /api and /apis."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    route: Route | None

    @property
    def verb(self) -> str:
        """What was asked: get, list, watch, create, replace, patch, delete, deletecollection, or nothing."""
        return self.route.verb if self.route else ""

    def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """Return the decoded body."""
        return msgspec.json.decode(self.body)

    def is_of(self, verb: str, resource: Resource | None) -> bool:
        """Return whether the request has that verb ("" for any) and resource (None for any)."""
        in_resource = resource is None or (self.route is not None and self.route.resource == resource)
        return in_resource and verb in ("", self.verb)


class Journal:
    """Keeps requests and watches, and lets tests wait for them. Safe from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._requests: list[RecordedRequest] = []
        self._watches: list[Watch] = []

    def record(self, request: RecordedRequest) -> None:
        """Append a request."""
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()

    @contextmanager
    def open(self, watch: Watch) -> Iterator[None]:
        """Count the watch as open during the block."""
        with self._changed:
            self._watches.append(watch)
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._watches.remove(watch)
                self._changed.notify_all()

    def requests(self, verb: str = "", resource: Resource | None = None) -> tuple[RecordedRequest, ...]:
        """Return the requests of that verb and resource, in the order of arrival."""
        with self._changed:
            return tuple(each for each in self._requests if each.is_of(verb, resource))

    def watches(self, resource: Resource | None = None) -> tuple[Watch, ...]:
        """Return the open watches of that resource."""
        with self._changed:
            return tuple(each for each in self._watches if resource in (None, each.route.resource))

    def await_requests(self, count: int, verb: str, resource: Resource | None, limit_seconds: float) -> None:
        """Block until at least `count` such requests came; raise TimeoutError past the limit."""
        what = f"{count} requests {verb} {resource.name if resource else ''}"
        self._await(lambda: sum(each.is_of(verb, resource) for each in self._requests) >= count, what, limit_seconds)

    def await_watches(self, count: int, resource: Resource | None, limit_seconds: float) -> None:
        """Block until exactly `count` watches are open; raise TimeoutError past the limit."""
        self._await(
            lambda: sum(resource in (None, each.route.resource) for each in self._watches) == count,
            f"{count} open watches {resource.name if resource else ''}",
            limit_seconds,
        )

    def _await(self, predicate: Callable[[], bool], what: str, limit_seconds: float) -> None:
        with self._changed:
            if not self._changed.wait_for(predicate, limit_seconds):
                raise TimeoutError(f"the fake API server did not see {what.strip()} within {limit_seconds} s")
