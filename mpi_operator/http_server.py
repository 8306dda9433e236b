"""A small HTTP server for pages that are computed at once: probes and metrics."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from threading import BoundedSemaphore, Lock
from typing import Any

import msgspec
import structlog

from clockwork import OwnedThread

PLAIN_TEXT = "text/plain; charset=utf-8"
_MOST_CONNECTIONS = 32
_CLIENT_TIMEOUT_SECONDS = 10.0

_log = structlog.get_logger(__name__)


class Page(msgspec.Struct, frozen=True):
    """One answer."""

    body: bytes
    code: int = HTTPStatus.OK
    content_type: str = PLAIN_TEXT


Pages = Mapping[str, Callable[[Mapping[str, str]], Page]]
"""What answers a GET, by path: called with the request's headers, in a thread of the server."""


class PortUnavailable(Exception):
    """A port that cannot be bound (B268, B299)."""


class HttpServer:
    """Serves `pages` on one port from construction to `close()`; each request in a thread, at most 32 at a time.

    A connection beyond these is closed unanswered; a client that is slow for 10 s is cut off. Raises PortUnavailable.
    """

    def __init__(self, name: str, pages: Pages, *, bind_address: str, port: int) -> None:
        try:
            self._server = _Server(bind_address, port, pages)
        except (OSError, OverflowError) as error:
            raise PortUnavailable(
                f"cannot serve {name} on {bind_address or 'all addresses'}, port {port}: {error}; free the port, or "
                f"choose another one or none (0) by its flag"
            ) from error
        self._thread = OwnedThread(f"{name}-server", self._server.serve_forever).start()

    @property
    def port(self) -> int:
        """The port that is served: the one asked for, or the one that the system chose for 0."""
        port: int = self._server.server_address[1]
        return port

    def close(self) -> None:
        """Stop serving, cut off what is under way, and join every thread."""
        self._server.shutdown()
        self._thread.join()
        self._server.cut_off()
        self._server.server_close()


class _Server(ThreadingMixIn, TCPServer):
    daemon_threads = False
    block_on_close = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, bind_address: str, port: int, pages: Pages) -> None:
        self.pages = pages
        self._free = BoundedSemaphore(_MOST_CONNECTIONS)
        self._lock = Lock()
        self._open: set[socket.socket] = set()
        self._is_dual = bind_address in {"", "::"} and socket.has_dualstack_ipv6()
        self.address_family = socket.AF_INET6 if self._is_dual or ":" in bind_address else socket.AF_INET
        super().__init__(("::" if self._is_dual else bind_address, port), _Handler)

    def server_bind(self) -> None:
        if self._is_dual:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as typeshed has it
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        with self._lock:
            self._open.add(request)
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._forget(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as typeshed has it
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._forget(request)

    def _forget(self, request: socket.socket) -> None:
        with self._lock:
            self._open.discard(request)
        self._free.release()

    def cut_off(self) -> None:
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError as error:
                _log.debug("a connection had ended by itself", error=str(error))

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, ARG002 - as typeshed has it
        _log.debug("a request to the probes' or metrics' port broke off", client=str(client_address), exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    timeout = _CLIENT_TIMEOUT_SECONDS
    server: _Server

    def do_GET(self) -> None:
        self._answer(has_body=True)

    def do_HEAD(self) -> None:
        self._answer(has_body=False)

    def _answer(self, *, has_body: bool) -> None:
        answer = self.server.pages.get(self.path.partition("?")[0])
        page = (
            Page(b"404 page not found\n", HTTPStatus.NOT_FOUND)
            if answer is None
            else answer(dict(self.headers.items()))
        )
        self.send_response(page.code)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if has_body:
            self.wfile.write(page.body)

    def version_string(self) -> str:
        return "mpi-operator"

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class's name
        _log.debug("served", client=self.client_address[0], request=format % arguments)
