"""As much of HTTP/1.1 as the fake API server speaks, over a connected socket."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from http import HTTPStatus
from io import BufferedReader
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

_LINGER_NONE = struct.pack("ii", 1, 0)


class HttpRequest(msgspec.Struct, frozen=True):
    """One request as it came; header names are in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


def read_request(reader: BufferedReader) -> HttpRequest | None:
    """Return the next request, or None when the client has closed the connection."""
    line = reader.readline().decode("latin-1").split()
    if len(line) != 3:  # noqa: PLR2004 - method, target, version
        return None
    headers: dict[str, str] = {}
    while (header := reader.readline().decode("latin-1").strip()) != "":
        name, _, value = header.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = reader.read(int(headers.get("content-length", "0")))
    url = urlsplit(line[1])
    query = dict(parse_qsl(url.query, keep_blank_values=True))
    return HttpRequest(line[0], unquote(url.path), query, headers, body)


class Connection:
    """The server's side of one connection, used by one thread; only `shutdown()` may come from another."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self.reader = connected.makefile("rb")

    def send_answer(self, code: int, body: bytes, headers: Mapping[str, str], *, truncated: bool = False) -> None:
        """Send a whole answer, or one that breaks off in the middle of its body."""
        head = self._head(code, {"Content-Length": str(len(body)), **headers})
        self._socket.sendall(head + (body[: len(body) // 2] if truncated else body))

    def start_stream(self) -> None:
        """Send the head of an answer in chunks."""
        self._socket.sendall(self._head(HTTPStatus.OK, {"Transfer-Encoding": "chunked"}))

    def send_chunk(self, data: bytes) -> None:
        """Send one chunk; none for no data, which would mean the end."""
        if data:
            self._socket.sendall(b"%x\r\n%b\r\n" % (len(data), data))

    def end_stream(self) -> None:
        """Send the last chunk."""
        self._socket.sendall(b"0\r\n\r\n")

    def reset(self) -> None:
        """Close so that the client sees a reset."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NONE)
        self.close()

    def shutdown(self) -> None:
        """Wake the thread that reads or writes here, which then closes the connection."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def close(self) -> None:
        """Close the socket. Idempotent."""
        self.reader.close()
        self._socket.close()

    @staticmethod
    def _head(code: int, headers: Mapping[str, str]) -> bytes:
        lines = [f"HTTP/1.1 {code} {_phrase(code)}", *(f"{name}: {value}" for name, value in headers.items())]
        if "Content-Type" not in headers:
            lines.append("Content-Type: application/json")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "Unknown"
