"""The lines of an open watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from urllib3 import BaseHTTPResponse

from informers.errors import ApiError, ConnectionLost, Stopped
from informers.lines import LineSplitter
from informers.transport.exchange import Call
from informers.transport.failures import FAILURES

_READ_BYTES = 256 * 1024


class ResponseLines:
    """Reads the body of a response; one reader, `stop()` from any thread."""

    def __init__(
        self, response: BaseHTTPResponse, call: Call, translate: Callable[[Exception, Call], ApiError]
    ) -> None:
        self._response = response
        self._call = call
        self._translate = translate

    def __iter__(self) -> Iterator[bytes]:
        """Yield lines until the server closes the watch; raise IdleTimeout, ConnectionLost, or Stopped once stopped."""
        splitter = LineSplitter()
        while chunk := self._read():
            for line in splitter.feed(chunk):
                self._check_stopped()
                yield line
        self._check_stopped()
        if splitter.pending:
            raise ConnectionLost("the watch ended in the middle of a line", action=self._call.action)

    def _read(self) -> bytes:
        try:
            return self._response.read1(_READ_BYTES)
        except FAILURES as error:
            raise self._translate(error, self._call) from error

    def _check_stopped(self) -> None:
        if self._call.interruption.is_interrupted:
            raise Stopped("the watch was stopped", action=self._call.action)

    def stop(self) -> None:
        """End the stream: the reader gets Stopped. Idempotent."""
        self._call.interruption.interrupt()


class EmptyLines:
    """A watch that ended before its first line."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield nothing."""
        return iter(())

    def stop(self) -> None:
        """Do nothing: it has ended."""
