"""What urllib3 raises, in the words of the taxonomy (informers.md 0.4)."""

from __future__ import annotations

from http.client import HTTPException

from urllib3 import exceptions

from informers.errors import ConnectionLost, ConnectionRefused, IdleTimeout, TransportError

FAILURES = (exceptions.HTTPError, HTTPException, OSError)
"""All that a request can raise when it gets no answer, or half of one."""


def build_transport_error(error: Exception, *, url: str, action: str) -> TransportError:
    """Return the error for a failure of urllib3."""
    if isinstance(error, exceptions.ReadTimeoutError):
        return IdleTimeout(f"{url} sent nothing for too long", action=action)
    if _is_caused_by(error, ConnectionRefusedError):
        return ConnectionRefused(f"nobody listens at {url}", action=action)
    return ConnectionLost(f"the connection to {url} failed: {error}", action=action)


def is_cut(error: BaseException | None) -> bool:
    """Return whether the server, having accepted the connection, closed or reset it without an answer."""
    return isinstance(error, exceptions.ProtocolError) and not _is_caused_by(error, ConnectionRefusedError)


def is_tls_failure(error: Exception) -> bool:
    """Return whether the two sides do not trust each other."""
    return isinstance(error, exceptions.SSLError)


def _is_caused_by(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__cause__ or error.__context__
    return False
