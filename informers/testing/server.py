"""A fake API server for tests: real HTTP on loopback, generic objects, failures on demand (informers.md 4, row 18)."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self

import msgspec

from clockwork import Clock, StopToken, SystemClock
from informers.api import JSON
from informers.resource import Resource
from informers.testing import faults
from informers.testing.discovery import answer_discovery
from informers.testing.history import History, JsonObject
from informers.testing.http import Connection, HttpRequest, read_request
from informers.testing.journal import Journal, RecordedRequest
from informers.testing.listener import Listener
from informers.testing.rejection import Rejection, build_invalid
from informers.testing.routing import Route, build_route
from informers.testing.script import Script
from informers.testing.verbs import Verbs
from informers.testing.watching import Watch
from informers.transport import ServerConfiguration, Transport, TransportOptions
from informers.transport.credentials import FixedCredentials

_REAL_LIMIT_SECONDS = 30.0


class FakeApiServer:
    """A small API server in threads of this process, open from `with` to the end of its block.

    It keeps objects of any resource (those of `resources` under their own kind, others under one guessed from the
    path), lists them in pages of one snapshot, watches them with history, bookmarks and streaming lists, and writes
    them with the preconditions, conflicts and Status bodies of a real server. It does not validate, default, admit,
    authorize or collect garbage. `dynamic` False answers 404 for all but `resources`, as where a CRD is not installed;
    `watch_cache` False makes lists at version "0" come in pages too; `streaming_lists`
    False refuses sendInitialEvents. Its methods are safe from any thread.
    """

    def __init__(
        self,
        *resources: Resource,
        clock: Clock | None = None,
        tokens: Iterable[str] = (),
        tls: SSLContext | None = None,
        dynamic: bool = True,
        watch_cache: bool = True,
        streaming_lists: bool = True,
        bookmark_interval_seconds: float = 60.0,
    ) -> None:
        self._clock = clock or SystemClock()
        self._resources: list[Resource] = list(resources)
        self._tokens = set(tokens)
        self._tls = tls
        self._dynamic = dynamic
        self._streaming_lists = streaming_lists
        self._bookmark_interval_seconds = bookmark_interval_seconds
        self._history = History()
        self._verbs = Verbs(self._history, self._clock, watch_cache=watch_cache)
        self._script = Script()
        self._stop = StopToken()
        self._journal = Journal()
        self._lock = threading.Lock()
        self._listener: Listener | None = None
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        self._listener = Listener(self._serve, self._tls)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set("the fake API server closes")
        with self._history.changed:
            self._history.changed.notify_all()
        self._open_listener().close()
        if self._directory is not None:
            self._directory.cleanup()

    # --- where it is ---------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The address, for `--master` or a kubeconfig."""
        scheme = "https" if self._tls else "http"
        return f"{scheme}://127.0.0.1:{self._open_listener().port}"

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig file for this server, with the first of its tokens; it goes when the server closes."""
        if self._directory is None:
            self._directory = tempfile.TemporaryDirectory(prefix="fake-api-server-")
        user: dict[str, Any] = {"token": min(self._tokens)} if self._tokens else {}
        cluster = {"server": self.url} | ({"insecure-skip-tls-verify": True} if self._tls else {})
        path = Path(self._directory.name) / "kubeconfig"
        path.write_bytes(
            msgspec.json.encode(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "fake", "cluster": cluster}],
                    "users": [{"name": "fake", "user": user}],
                    "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}],
                    "current-context": "fake",
                }
            )
        )
        return path

    def configuration(self) -> ServerConfiguration:
        """Return how to reach this server, with the first of its tokens; a certificate of its is not verified."""
        headers = {"Authorization": f"Bearer {min(self._tokens)}"} if self._tokens else {}
        return ServerConfiguration(url=self.url, credentials=FixedCredentials(headers), verify=self._tls is None)

    def transport(self, options: TransportOptions | None = None, *, clock: Clock | None = None) -> Transport:
        """Return a new transport to this server, which the caller closes."""
        return Transport(self.configuration(), options or TransportOptions(), clock=clock)

    # --- its objects -----------------------------------------------------------------------------------------------

    @property
    def resource_version(self) -> str:
        """The version of the latest write."""
        return str(self._history.version)

    def put(self, resource: Resource, item: Mapping[str, Any]) -> JsonObject:
        """Create or replace an object whole, status and all, as no client could; return it as stored."""
        metadata = {"uid": f"uid-{item['metadata']['name']}", **item["metadata"]}
        metadata.pop("resourceVersion", None)
        stored = {"apiVersion": resource.api_version, "kind": resource.kind, **item, "metadata": metadata}
        self._register(resource)
        return self._history.write(resource, (metadata.get("namespace", ""), metadata["name"]), lambda _: stored)

    def remove(self, resource: Resource, namespace: str, name: str) -> None:
        """Delete an object, finalizers or not."""
        self._history.write(resource, (namespace, name), lambda _: None)

    def find(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        """Return an object, or None."""
        return self._history.get(resource, (namespace, name))

    def objects(self, resource: Resource) -> tuple[JsonObject, ...]:
        """Return all objects of a resource, by namespace and name."""
        return tuple(self._history.read(resource)[1].values())

    def compact(self) -> None:
        """Make all older versions, and the continue tokens made so far, expire."""
        self._history.advance()
        self._history.compact()

    def advance(self, versions: int = 1) -> str:
        """Raise the version as writes elsewhere do; return it."""
        return str(self._history.advance(versions))

    # --- its failures ------------------------------------------------------------------------------------------------

    def script(
        self,
        fault: faults.Fault,
        *,
        verb: str = "",
        resource: Resource | None = None,
        name: str = "",
        subresource: str | None = None,
        page: int = 0,
        times: int = 1,
        skip: int = 0,
        after_events: int = 0,
    ) -> None:
        """Let the next `times` requests of that kind fail so, after `skip` good ones; rules apply in their order.

        Faults of a stream apply to watches, once `after_events` objects have been sent.
        """
        rule = faults.Rule(verb=verb, resource=resource, name=name, page=page, subresource=subresource)
        self._script.add(fault, rule, times=times, skip=skip, after_events=after_events)

    def inject(self, fault: faults.StreamFault, *, resource: Resource | None = None) -> int:
        """Let every open watch fail so now; return how many there were."""
        watches = self._journal.watches(resource)
        for watch in watches:
            watch.inject(fault)
        return len(watches)

    def expire_token(self, token: str, *, replacement: str = "") -> None:
        """Answer 401 to `token` from now on; open watches go on. Accept `replacement`."""
        with self._lock:
            self._tokens.discard(token)
            self._tokens.add(replacement or "no client has this token")

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Drop all connections and refuse new ones during the block."""
        self._open_listener().refuse()
        try:
            yield
        finally:
            self._open_listener().accept()

    def drop_connections(self) -> None:
        """Close every connection, in the middle of whatever it carries."""
        self._open_listener().drop()

    # --- what it saw -------------------------------------------------------------------------------------------------

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        """Every request so far, in the order of arrival."""
        return self._journal.requests()

    def requests_of(self, verb: str, resource: Resource | None = None) -> tuple[RecordedRequest, ...]:
        """Return the requests of one verb."""
        return self._journal.requests(verb, resource)

    @property
    def accepted_connections(self) -> int:
        """How many connections were made so far."""
        return self._open_listener().accepted

    def await_requests(
        self,
        count: int,
        verb: str = "",
        resource: Resource | None = None,
        *,
        limit_seconds: float = _REAL_LIMIT_SECONDS,
    ) -> None:
        """Block, in real time, until `count` such requests came; raise TimeoutError past the limit."""
        self._journal.await_requests(count, verb, resource, limit_seconds)

    def await_watches(
        self, count: int, resource: Resource | None = None, *, limit_seconds: float = _REAL_LIMIT_SECONDS
    ) -> None:
        """Block, in real time, until exactly `count` watches are open; raise TimeoutError past the limit.

        A watch whose client went away counts until the server next writes to it.
        """
        self._journal.await_watches(count, resource, limit_seconds)

    # --- serving -----------------------------------------------------------------------------------------------------

    def _open_listener(self) -> Listener:
        if self._listener is None:
            raise RuntimeError("the fake API server is not open: use it in a with statement")
        return self._listener

    def _check_served(self, resource: Resource) -> None:
        if not self._dynamic and resource not in self._known_resources():
            raise Rejection(404, "NotFound", "the server could not find the requested resource")
        self._register(resource)

    def _register(self, resource: Resource) -> None:
        with self._lock:
            if resource not in self._resources:
                self._resources.append(resource)

    def _serve(self, connection: Connection) -> None:
        while not self._stop.is_set():
            request = read_request(connection.reader)
            if request is None or not self._serve_request(connection, request):
                return

    def _serve_request(self, connection: Connection, request: HttpRequest) -> bool:
        """Answer one request; return whether the connection can take another."""
        try:
            route = build_route(request.method, request.path, request.query, self._known_resources())
        except Rejection:
            route = None
        page = self._record(request, route)
        scripted = self._script.take_request_fault(route, page)
        match scripted:
            case faults.DropRequest(after_write=False):
                return False
            case faults.ResetRequest():
                connection.reset()
                return False
            case faults.IgnoreRequest():
                self._stop.wait()
                return False
        if route is not None and route.verb == "watch" and not isinstance(scripted, faults.Respond):
            return self._serve_watch(connection, request, route)
        code, body, headers = self._answer(request, route, scripted)
        if isinstance(scripted, faults.DropRequest):
            return False
        is_truncated = isinstance(scripted, faults.TruncateAnswer)
        connection.send_answer(code, body, headers, truncated=is_truncated)
        return not is_truncated

    def _record(self, request: HttpRequest, route: Route | None) -> int:
        self._journal.record(
            RecordedRequest(request.method, request.path, request.query, request.headers, request.body, route)
        )
        return self._script.page_of(request.query)

    def _known_resources(self) -> tuple[Resource, ...]:
        with self._lock:
            return tuple(self._resources)

    def _answer(
        self, request: HttpRequest, route: Route | None, scripted: faults.RequestFault | None
    ) -> tuple[int, bytes, dict[str, str]]:
        headers = {"Warning": f'299 - "{scripted.text}"'} if isinstance(scripted, faults.Warn) else {}
        try:
            if isinstance(scripted, faults.Respond):
                if scripted.body is not None:
                    return scripted.code, scripted.body, scripted.headers | _retry_after(scripted.retry_after)
                raise scripted.rejection()
            self._authenticate(request)
            if route is None:
                return 200, msgspec.json.encode(answer_discovery(request.path, self._known_resources())), headers
            self._check_served(route.resource)
            content_type = request.headers.get("content-type", JSON).partition(";")[0]
            code, body = self._verbs.answer(route, request.query, content_type, request.body)
            return code, msgspec.json.encode(body), headers
        except Rejection as rejection:
            refusal = msgspec.json.encode(rejection.status())
            return rejection.code, refusal, _retry_after(rejection.retry_after_seconds)

    def _authenticate(self, request: HttpRequest) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        with self._lock:
            if self._tokens and not (scheme.lower() == "bearer" and token in self._tokens):
                raise Rejection(401, "Unauthorized", "Unauthorized")

    def _serve_watch(self, connection: Connection, request: HttpRequest, route: Route) -> bool:
        try:
            self._authenticate(request)
            self._check_served(route.resource)
            if request.query.get("sendInitialEvents") and not self._streaming_lists:
                raise build_invalid("sendInitialEvents: Forbidden: the WatchList feature gate is disabled")
            watch = Watch(
                self._history,
                self._clock,
                self._stop,
                route,
                request.query,
                bookmark_interval_seconds=self._bookmark_interval_seconds,
                scripted=self._script.take_stream_faults(route),
            )
        except Rejection as rejection:
            connection.send_answer(rejection.code, msgspec.json.encode(rejection.status()), {})
            return True
        with self._journal.open(watch):
            return watch.run(connection)


def _retry_after(seconds: int | None) -> dict[str, str]:
    return {} if seconds is None else {"Retry-After": str(seconds)}
