"""urllib3's connections and pools, with two additions: dead peers are noticed, and waiting threads can be woken.

`response.shutdown()` wakes a thread that reads a body, but before the headers have come there is no response. So the
socket itself is shut, through an `Interruption` that travels with the request; see docs/design.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from ssl import SSLContext
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util import parse_url

from informers.transport.configuration import ServerConfiguration
from informers.transport.options import TransportOptions

_SocketOptions = list[tuple[int, int, int | bytes]]


class Interrupted(Exception):
    """Connecting was given up because the request had been interrupted."""


class Interruption:
    """Lets any thread end the request that another waits for. For one request, or one watch.

    While a thread is inside `installed()`, the connection that it uses belongs to the interruption, until another
    request uses it. `interrupt()` shuts the socket of that connection, and lets no other be used. A TCP handshake
    under way is not cut short: the connect timeout bounds it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: _Interruptible | None = None
        self._is_interrupted = False

    @property
    def is_interrupted(self) -> bool:
        """Whether `interrupt()` was called."""
        return self._is_interrupted

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Make the connection that this thread uses in the block interruptible."""
        _CURRENT.interruption = self
        try:
            yield
        finally:
            _CURRENT.interruption = None

    def adopt(self, connection: _Interruptible) -> None:
        """Take a connection that is about to be used; raise Interrupted if it must not be."""
        with self._lock:
            if self._is_interrupted:
                raise Interrupted
            connection.take(self)
            self._connection = connection

    def interrupt(self) -> None:
        """Wake the thread that reads or writes. Idempotent; does not block."""
        with self._lock:
            self._is_interrupted = True
            if self._connection is not None:
                self._connection.shut(self)


class _Current(threading.local):
    interruption: Interruption | None = None


_CURRENT = _Current()


class _Interruptible(HTTPConnection):
    """A connection that knows for whom it works, so that only its present owner can shut it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - urllib3's business
        super().__init__(*args, **kwargs)
        self._ownership = threading.Lock()
        self._owner: Interruption | None = None
        self._is_shut = False

    def take(self, owner: Interruption) -> None:
        """Work for `owner` from now on."""
        with self._ownership:
            self._owner = owner
            if self._is_shut:
                # The last owner was interrupted when it was done already. Closed, it connects anew by itself.
                self._is_shut = False
                self.close()

    def shut(self, owner: Interruption) -> None:
        """Shut the socket, if this still works for `owner`."""
        with self._ownership:
            if self._owner is owner:
                self._is_shut = True
                _shut(self.sock)

    def connect(self) -> None:
        """Connect, and look again whether that is still wanted."""
        self._adopt()
        super().connect()
        self._adopt()

    def request(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as above
        """Send a request."""
        self._adopt()
        super().request(*args, **kwargs)

    def _adopt(self) -> None:
        if _CURRENT.interruption is not None:
            _CURRENT.interruption.adopt(self)


def _shut(connected: Any) -> None:  # noqa: ANN401 - a socket, or urllib3's TLS inside TLS around one
    raw = getattr(connected, "socket", connected)
    if isinstance(raw, socket.socket):
        # Not SSLSocket.shutdown(): that first drops the encryption, and a thread that writes at that moment would send
        # its request, token and all, in the clear.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(raw, socket.SHUT_RDWR)


class InterruptibleConnection(_Interruptible):
    """A connection that its request's interruption can shut."""


class InterruptibleTlsConnection(_Interruptible, HTTPSConnection):
    """The same over TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = InterruptibleConnection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = InterruptibleTlsConnection


def build_pools(
    configuration: ServerConfiguration, context: SSLContext | None, options: TransportOptions
) -> urllib3.PoolManager:
    """Return the pools for one server, directly or through its proxy; nothing is repeated, nobody waits for a slot."""
    arguments: dict[str, Any] = {
        "maxsize": options.pool_size,
        "block": False,
        "retries": False,
        "socket_options": build_socket_options(options),
    }
    if context is not None:
        arguments["ssl_context"] = context
        if configuration.server_name:
            arguments["server_hostname"] = configuration.server_name
    pools: urllib3.PoolManager
    if configuration.proxy is None:
        pools = urllib3.PoolManager(**arguments)
    else:
        login = parse_url(configuration.proxy).auth
        headers = urllib3.make_headers(proxy_basic_auth=login) if login else None
        pools = urllib3.ProxyManager(configuration.proxy, proxy_headers=headers, **arguments)
    pools.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
    return pools


def build_socket_options(options: TransportOptions) -> _SocketOptions:
    """Return socket options by which the kernel ends a connection whose peer is gone (informers.md 1.1.4).

    Keepalive probes a silent connection; TCP_USER_TIMEOUT covers one on which something was sent and not acknowledged.
    """
    found: _SocketOptions = [
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    ]
    dead_after_seconds = options.keepalive_idle + options.keepalive_interval * options.keepalive_count
    by_name = {
        "TCP_KEEPIDLE": options.keepalive_idle,
        "TCP_KEEPINTVL": options.keepalive_interval,
        "TCP_KEEPCNT": options.keepalive_count,
        "TCP_USER_TIMEOUT": dead_after_seconds * 1000,
    }
    # Not every system knows all of them.
    found += [(socket.IPPROTO_TCP, getattr(socket, name), by_name[name]) for name in by_name if hasattr(socket, name)]
    return found
