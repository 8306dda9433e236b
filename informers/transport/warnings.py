"""What an API server says in Warning headers (RFC 7234, 5.5): mostly that an API version is going to be removed."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable

import structlog

_LOG = structlog.get_logger(__name__)
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_MOST_REMEMBERED = 256


def read_warnings(headers: Iterable[str]) -> tuple[str, ...]:
    """Return the texts of all warnings in the values of Warning headers."""
    return tuple(re.sub(r"\\(.)", r"\1", text) for header in headers for text in _WARNING.findall(header))


class WarningLog:
    """Logs each warning once; past 256 different ones, no more. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: set[str] = set()

    def log(self, warnings: tuple[str, ...], action: str) -> None:
        """Log those not seen before."""
        for text in warnings:
            with self._lock:
                if text in self._seen or len(self._seen) >= _MOST_REMEMBERED:
                    continue
                self._seen.add(text)
            _LOG.warning("the API server warns", warning=text, action=action)
