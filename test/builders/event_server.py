"""A server in memory that keeps events, and fails when told; and events to send to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from clockwork import StopToken
from informers.api import JSON, MERGE_PATCH, Answer, LineStream
from informers.errors import AlreadyExists, ApiError, NotFound, Stopped
from mpi_operator.events.event import Event, EventType
from mpi_operator.events.reference import ObjectReference

WALL = datetime(2030, 6, 1, 12, 0, 0, 5, tzinfo=UTC)


def a_job(name: str = "pi", namespace: str = "team", uid: str = "job-uid") -> ObjectReference:
    """A reference to an MPIJob."""
    return ObjectReference(
        api_version="kubeflow.org/v2beta1", kind="MPIJob", namespace=namespace, name=name, uid=uid, resource_version="7"
    )


def a_node() -> ObjectReference:
    """A reference to something without a namespace."""
    return ObjectReference(api_version="v1", kind="Node", name="node-1", uid="node-uid")


def an_event(
    *,
    regarding: ObjectReference | None = None,
    event_type: EventType = "Normal",
    reason: str = "MPIJobRunning",
    message: str = "MPIJob team/pi is running",
    at: float = 0.0,
    action: str = "",
    related: ObjectReference | None = None,
) -> Event:
    """An event `at` seconds after the beginning."""
    return Event(
        regarding=regarding or a_job(),
        type=event_type,
        reason=reason,
        message=message,
        wall=WALL + timedelta(seconds=at),
        monotonic=at,
        action=action,
        related=related,
    )


class EventServer:
    """An `Api` that creates and patches events. `before` and `after` see each method, and raise to make it fail."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self.events: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str]] = []
        self.before: Callable[[str], object] = lambda _: None
        self.after: Callable[[str], object] = lambda _: None

    @property
    def methods(self) -> list[str]:
        """The methods of the requests so far."""
        with self._changed:
            return [method for method, _ in self.requests]

    def only(self) -> dict[str, Any]:
        """The single event that exists."""
        (event,) = self.events.values()
        return event

    def await_requests(self, count: int) -> None:
        """Wait until `count` requests have arrived."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) >= count, 30), self.requests

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
        with self._changed:
            self.requests.append((method, path))
            self._changed.notify_all()
        self.before(method)
        if stop is not None and stop.is_set():
            raise Stopped("stopped", action=action)
        answer = self._apply(method, path, msgspec.json.decode(body or b""), content_type)
        self.after(method)
        return answer

    def _apply(self, method: str, path: str, content: dict[str, Any], content_type: str) -> Answer:
        if method == "POST":
            assert content_type == JSON
            assert "resourceVersion" not in content["metadata"]
            path = f"{path}/{content['metadata']['name']}"
            if path in self.events:
                raise AlreadyExists("the event exists", code=409)
            self.events[path] = content
        else:
            assert (method, content_type) == ("PATCH", MERGE_PATCH)
            if path not in self.events:
                raise NotFound("no such event", code=404)
            self.events[path].update(content)
        return Answer(code=200, body=b"{}")

    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        stop: StopToken,
        idle_timeout: float | None = None,
        action: str = "",
    ) -> AbstractContextManager[LineStream]:
        raise ApiError("events are not watched")
