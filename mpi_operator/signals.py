"""Signals as bytes in a socket, because a handler may do nothing that takes a lock (informers.md 3.6 rows 32-35)."""

from __future__ import annotations

import signal
import socket
from types import FrameType
from typing import Self

WAKE = 0


class Wakeups:
    """What the main thread waits for: SIGINT, SIGTERM, or a `wake()` of another thread. A context manager.

    To be made and entered in the main thread; only `wake()` is for others.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __enter__(self) -> Self:
        self._receiver, self._sender = socket.socketpair()
        self._sender.settimeout(0.0)
        self._former_descriptor = signal.set_wakeup_fd(self._sender.fileno(), warn_on_full_buffer=False)
        self._former_handlers = {number: signal.signal(number, _ignore) for number in self.SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former_handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._former_descriptor)
        self._receiver.close()
        self._sender.close()

    def wait(self) -> int:
        """Wait for the next signal and return its number, or `WAKE`."""
        return self._receiver.recv(1)[0]

    def wake(self) -> None:
        """Make `wait()` return `WAKE`. Safe from any thread; a full socket wakes it anyway."""
        try:
            self._sender.send(bytes([WAKE]))
        except BlockingIOError:
            return


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing: that the handler exists makes the interpreter write the signal's number to the socket."""
