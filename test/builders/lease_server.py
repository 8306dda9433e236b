"""A server in memory that knows one Lease, and fails when told; and electors to stand before it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from clockwork import StopToken
from informers.api import JSON, Answer
from informers.errors import AlreadyExists, ApiError, Conflict, NotFound, Stopped
from mpi_operator.leader_election.config import Options

OPERATIONS = {"GET": "get", "POST": "create", "PUT": "update"}


def options(**changes: Any) -> Options:
    """The default timings, for the candidate `me`."""
    return Options(**{"namespace": "mpi-operator", "identity": "me", **changes})


def a_spec(holder: str = "other", **changes: Any) -> dict[str, Any]:
    """The spec of a Lease held by `holder`."""
    spec = {
        "holderIdentity": holder,
        "leaseDurationSeconds": 15,
        "acquireTime": "2030-01-01T00:00:00.000000Z",
        "renewTime": "2030-01-01T00:00:00.000000Z",
        "leaseTransitions": 3,
    }
    return {**spec, **changes}


class LeaseServer:
    """An `Api` with optimistic concurrency. `before` and `after` see each operation, and raise to make it fail.

    What `before` raises is a request that never arrived; what `after` raises is an answer that was lost.
    """

    def __init__(self, spec: dict[str, Any] | None = None) -> None:
        self._lock = threading.Condition(threading.Lock())
        self._version = 0
        self.lease: dict[str, Any] | None = None
        self.operations: list[str] = []
        self.timeouts: list[float | None] = []
        self.streams: list[MemoryStream] = []
        self.watch_error: ApiError | None = None
        self.before: Callable[[str], None] = lambda _: None
        self.after: Callable[[str], None] = lambda _: None
        if spec is not None:
            self.put(spec)

    def put(self, spec: dict[str, Any] | None, **metadata: Any) -> None:
        """Write the Lease as somebody else would."""
        with self._lock:
            if self.lease is not None:
                metadata = {**self.lease["metadata"], **metadata}
            self._store({"metadata": {"name": "mpi-operator", "uid": "lease-uid", **metadata}, "spec": spec})

    def change(self, **changes: Any) -> None:
        """Change some fields of the Lease's spec as somebody else would."""
        self.put({**self.spec, **changes})

    def delete(self) -> None:
        """Delete the Lease."""
        with self._lock:
            lease, self.lease = self.lease, None
            self._publish("DELETED", lease)

    @property
    def spec(self) -> dict[str, Any]:
        """The Lease's spec."""
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec

    @property
    def holder(self) -> str:
        """Who holds the Lease."""
        holder: str = self.spec["holderIdentity"]
        return holder

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
        if stop is not None and stop.is_set():
            raise Stopped("stopped before sending", action=action)
        operation = OPERATIONS[method]
        self.operations.append(operation)
        self.timeouts.append(timeout)
        self.before(operation)
        with self._lock:
            answer = self._apply(operation, path, body)
        self.after(operation)
        if stop is not None and stop.is_set():
            raise Stopped("stopped before the answer", action=action)
        return answer

    def _apply(self, operation: str, path: str, body: bytes | None) -> Answer:
        collection = "/apis/coordination.k8s.io/v1/namespaces/mpi-operator/leases"
        assert path == (collection if operation == "create" else f"{collection}/mpi-operator")
        if operation == "create":
            if self.lease is not None:
                raise AlreadyExists("the lease exists", code=409)
            new = msgspec.json.decode(body or b"")
            new["metadata"]["uid"] = "lease-uid"
            self._store(new)
        elif self.lease is None:
            raise NotFound("no such lease", code=404)
        elif operation == "update":
            new = msgspec.json.decode(body or b"")
            if new["metadata"].get("resourceVersion") != self.lease["metadata"]["resourceVersion"]:
                raise Conflict("the lease changed", code=409)
            self._store(new)
        return Answer(code=200, body=msgspec.json.encode(self.lease))

    def _store(self, lease: dict[str, Any]) -> None:
        self._version += 1
        lease["metadata"]["resourceVersion"] = str(self._version)
        event = "ADDED" if self.lease is None else "MODIFIED"
        self.lease = lease
        self._publish(event, lease)

    def _publish(self, event: str, lease: dict[str, Any] | None) -> None:
        line = msgspec.json.encode({"type": event, "object": lease})
        for stream in self.streams:
            stream.feed(line)

    def await_stream(self) -> MemoryStream:
        """Wait until somebody watches; return the watch."""
        with self._lock:
            assert self._lock.wait_for(lambda: self.streams, 30)
            return self.streams[-1]

    @contextmanager
    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        stop: StopToken,
        idle_timeout: float | None = None,
        action: str = "",
    ) -> Iterator[MemoryStream]:
        if self.watch_error is not None:
            raise self.watch_error
        stream = MemoryStream(stop, dict(query or {}), idle_timeout)
        with self._lock:
            if self.lease is not None:
                stream.feed(msgspec.json.encode({"type": "ADDED", "object": self.lease}))
            self.streams.append(stream)
            self._lock.notify_all()
        forget = stop.on_set(stream.stop)
        try:
            yield stream
        finally:
            forget()
            with self._lock:
                self.streams.remove(stream)


class MemoryStream:
    """A `LineStream` fed by a test."""

    def __init__(self, stop: StopToken, query: dict[str, str], idle_timeout: float | None) -> None:
        self.query = query
        self.idle_timeout = idle_timeout
        self._stop = stop
        self._changed = threading.Condition(threading.Lock())
        self._lines: deque[bytes] = deque()
        self._is_over = False

    def feed(self, line: bytes) -> None:
        """Have the reader get `line`."""
        with self._changed:
            self._lines.append(line)
            self._changed.notify_all()

    def stop(self) -> None:
        """End the stream."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[bytes]:
        while True:
            with self._changed:
                while not self._lines and not self._is_over:
                    self._changed.wait()
                if self._is_over:
                    break
                line = self._lines.popleft()
            yield line
        if self._stop.is_set():
            raise Stopped("the watch was stopped")
