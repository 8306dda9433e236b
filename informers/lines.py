"""Lines out of a stream of bytes, whatever the chunks it comes in (informers.md 1.1.3, 3.6 row 8)."""

from __future__ import annotations

from collections.abc import Iterator


class LineSplitter:
    """Splits at newlines, in bytes, so that neither a character nor a line depends on where a chunk ends.

    Each byte is looked at once and copied at most twice, however many lines a chunk or chunks a line has. One thread.
    """

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that `chunk` completes, without their newline and without empty ones.

        The iterator must be exhausted before the next chunk is fed.
        """
        end = chunk.find(b"\n")
        if end < 0:
            self._pending += chunk
            return
        start = 0
        if self._pending:
            self._pending += chunk[:end]
            line = bytes(self._pending)
            self._pending.clear()
            start = end + 1
            yield line
            end = chunk.find(b"\n", start)
        while end >= 0:
            if end > start:
                yield chunk[start:end]
            start = end + 1
            end = chunk.find(b"\n", start)
        self._pending += chunk[start:]

    @property
    def pending(self) -> bytes:
        """The last line's beginning, when the stream broke off before its newline."""
        return bytes(self._pending)
