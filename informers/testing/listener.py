"""A listening socket on loopback with a thread for each connection, all owned and joined."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from functools import partial

from clockwork import OwnedThread
from informers.testing.http import Connection


class Listener:
    """Accepts connections and hands each, in its own thread, to `serve`, until it is closed.

    `refuse()` and `accept()` take the listening socket away and bring it back on the same port.
    """

    def __init__(self, serve: Callable[[Connection], None], tls: ssl.SSLContext | None) -> None:
        self._serve = serve
        self._tls = tls
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._threads: list[OwnedThread] = []
        self._accepted = 0
        self.port = 0
        self._listening: socket.socket | None = None
        self._acceptor: OwnedThread | None = None
        self.accept()

    @property
    def accepted(self) -> int:
        """How many connections were ever accepted."""
        with self._lock:
            return self._accepted

    def accept(self) -> None:
        """Listen, on the port of the first time."""
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", self.port))
        listening.listen(1024)
        self.port = listening.getsockname()[1]
        self._listening = listening
        self._acceptor = OwnedThread("fake-api-server-accept", lambda: self._accept_all(listening)).start()

    def refuse(self) -> None:
        """Stop listening and drop all connections: whoever connects is refused."""
        if self._listening is not None and self._acceptor is not None:
            # Closing alone does not wake accept(); shutting down does.
            with contextlib.suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
            self._acceptor.join()
            self._listening.close()
            self._listening = self._acceptor = None
        self.drop()

    def drop(self) -> None:
        """Shut every connection."""
        with self._lock:
            connected = list(self._sockets)
        for each in connected:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Refuse, and join all threads."""
        self.refuse()
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join()

    def _accept_all(self, listening: socket.socket) -> None:
        while True:
            try:
                connected, _ = listening.accept()
            except OSError:
                return
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._accepted += 1
                self._sockets.add(connected)
                self._threads = [thread for thread in self._threads if thread.is_alive()]
                # Started under the lock, so that a thread in the list is always one that can be joined.
                self._threads.append(
                    OwnedThread(f"fake-api-server-{self._accepted}", partial(self._run, connected)).start()
                )

    def _run(self, connected: socket.socket) -> None:
        wrapped = connected
        try:
            if self._tls is not None:
                wrapped = self._tls.wrap_socket(connected, server_side=True)
                with self._lock:
                    self._sockets.discard(connected)
                    self._sockets.add(wrapped)
                    if self._listening is None:
                        # drop() came during the handshake and could not reach this socket.
                        return
            connection = Connection(wrapped)
            try:
                self._serve(connection)
            finally:
                connection.close()
        except OSError:
            # The client, or drop(), closed the connection.
            return
        finally:
            with self._lock:
                self._sockets.discard(connected)
                self._sockets.discard(wrapped)
            connected.close()
