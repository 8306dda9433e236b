"""One request to the server and the head of its answer: credentials, TLS, connections, and the errors of all these."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from ssl import SSLContext

import msgspec
import structlog
import urllib3
from urllib3 import BaseHTTPResponse, Timeout
from urllib3.exceptions import InsecureRequestWarning

from clockwork import Clock
from informers.errors import ApiError, IdleTimeout, Stopped
from informers.transport.configuration import ServerConfiguration
from informers.transport.connections import Interrupted, Interruption, build_pools
from informers.transport.credentials import Headers
from informers.transport.failures import FAILURES, build_transport_error, is_tls_failure
from informers.transport.options import TransportOptions
from informers.transport.tls import TlsContexts

_LOG = structlog.get_logger(__name__)
_READ_BYTES = 256 * 1024


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A request, as often as it is sent; `target` is path and query, the timeouts are in seconds."""

    method: str
    target: str
    headers: Mapping[str, str]
    interruption: Interruption
    action: str
    connect_timeout: float
    read_timeout: float
    body: bytes | None = None


@contextmanager
def _naming(call: Call) -> Iterator[None]:
    """Let errors of credentials and TLS files, which serve all requests, say for which one they were wanted."""
    try:
        yield
    except ApiError as error:
        if error.action:
            raise
        raise type(error)(error.message, action=call.action) from error


class Exchange:
    """Sends requests over one pool of connections. Safe from any thread.

    A 401 makes it refresh the credentials and send the request once more. Nothing else is repeated.
    """

    def __init__(self, configuration: ServerConfiguration, options: TransportOptions, clock: Clock) -> None:
        self._configuration = configuration
        self._options = options
        self._clock = clock
        self._tls = TlsContexts(configuration, clock) if configuration.url.startswith("https") else None
        self._lock = threading.Lock()
        self._pools: urllib3.PoolManager | None = None
        self._context: SSLContext | None = None
        if not configuration.verify:
            _LOG.warning("the API server's certificate is not verified", url=configuration.url)
            urllib3.disable_warnings(InsecureRequestWarning)

    def open(self, call: Call) -> BaseHTTPResponse:
        """Return the answer, its body unread; raise TransportError, Stopped, or Unauthorized without credentials.

        The caller gives the response to `close()`.
        """
        with _naming(call):
            headers = self._configuration.credentials.headers()
            response = self._send(call, headers)
            if response.status == HTTPStatus.UNAUTHORIZED and self._configuration.credentials.refresh(headers):
                self.close_response(response)
                response = self._send(call, self._configuration.credentials.headers())
            return response

    def _send(self, call: Call, headers: Headers) -> BaseHTTPResponse:
        pools = self._current_pools()
        try:
            with call.interruption.installed():
                return pools.urlopen(
                    call.method,
                    f"{self._configuration.url}{call.target}",
                    headers={**call.headers, **headers},
                    body=call.body,
                    timeout=Timeout(connect=call.connect_timeout, read=call.read_timeout),
                    retries=False,
                    redirect=False,
                    preload_content=False,
                )
        except (Interrupted, *FAILURES) as error:
            raise self.translate(error, call) from error

    def read(self, response: BaseHTTPResponse, call: Call) -> bytes:
        """Return the body; raise TransportError when it does not come whole, or takes longer than the read timeout."""
        deadline = self._clock.monotonic() + call.read_timeout
        parts: list[bytes] = []
        try:
            while part := response.read1(_READ_BYTES):
                parts.append(part)
                if self._clock.monotonic() > deadline:
                    raise IdleTimeout(f"the answer was not complete after {call.read_timeout:g} s", action=call.action)
        except FAILURES as error:
            raise self.translate(error, call) from error
        return b"".join(parts)

    def close_response(self, response: BaseHTTPResponse) -> None:
        """Be done with a response: its connection is kept if the body was read, else closed."""
        response.close()
        response.release_conn()

    def translate(self, error: Exception, call: Call) -> ApiError:
        """Return what an exception means: Stopped after an interruption, else a TransportError."""
        if call.interruption.is_interrupted:
            return Stopped("the request was stopped", action=call.action)
        if self._tls is not None and is_tls_failure(error):
            self._tls.expire()
        return build_transport_error(error, url=self._configuration.url, action=call.action)

    def _current_pools(self) -> urllib3.PoolManager:
        context = self._tls.current(self._configuration.credentials.certificate()) if self._tls else None
        with self._lock:
            if self._pools is None or context is not self._context:
                if self._pools is not None:
                    # What is in use goes on with the old context, and is closed when it comes back.
                    self._pools.clear()
                self._pools = build_pools(self._configuration, context, self._options)
                self._context = context
            return self._pools

    def close(self) -> None:
        """Close the connections that are not in use; those in use are closed after it."""
        with self._lock:
            if self._pools is not None:
                self._pools.clear()
