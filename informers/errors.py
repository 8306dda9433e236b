"""The one taxonomy of API failures, decided at the transport's edge (informers.md 0.4).

Everything above the transport catches these types and never looks at a status code or a message text.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

import msgspec


class StatusCause(msgspec.Struct, frozen=True, gc=False):
    """One cause in a Status object's details."""

    reason: str | None = None
    message: str | None = None
    field: str | None = None


class StatusDetails(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The details of a Status object."""

    name: str | None = None
    kind: str | None = None
    causes: tuple[StatusCause, ...] | None = None
    retry_after_seconds: int | None = None


class Status(msgspec.Struct, frozen=True, gc=False):
    """The Status object with which an API server reports a failure; every field may be missing."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: StatusDetails | None = None

    def cause_reasons(self) -> Sequence[str]:
        """Return the reasons of all causes."""
        causes = (self.details.causes if self.details else None) or ()
        return [cause.reason for cause in causes if cause.reason]


class ApiError(Exception):
    """A request that did not succeed.

    `code` is the HTTP status, 0 when there was no answer; `reason` and `message` are the server's; `action` says what
    was being done, with the object's name; `retry_after` is in seconds, None when the server named no delay.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        reason: str = "",
        action: str = "",
        status: Status | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{action}: {message}" if action else message)
        self.message = message
        self.code = code
        self.reason = reason
        self.action = action
        self.status = status
        self.retry_after = retry_after


class Expired(ApiError):
    """The resourceVersion or continue token is too old: code 410, or reason Expired or Gone."""


class TooLargeResourceVersion(ApiError):
    """The server has not yet seen the resourceVersion that was asked for."""


class TooManyRequests(ApiError):
    """Code 429; `retry_after` says when to try again."""


class Conflict(ApiError):
    """Code 409: the object changed since it was read."""


class AlreadyExists(ApiError):
    """Code 409: the name is taken."""


class NotFound(ApiError):
    """Code 404."""


class Forbidden(ApiError):
    """Code 403: RBAC, quota or an admission policy refused."""


class NamespaceTerminating(Forbidden):
    """Code 403: nothing new can be created in a namespace that is being deleted."""


class Unauthorized(ApiError):
    """Code 401, after the credentials were read anew and the request repeated."""


class Invalid(ApiError):
    """Code 422: the object is not acceptable as it is."""


class BadRequest(ApiError):
    """Code 400."""


class InternalError(ApiError):
    """Code 500 with reason InternalError."""


class ServerError(ApiError):
    """Any other answer that is not a success."""


class TransportError(ApiError):
    """No answer, or half of one."""


class ConnectionRefused(TransportError):
    """Nobody listens at the server's address."""


class ConnectionLost(TransportError):
    """The connection could not be made or broke; whether a write took effect is unknown."""


class IdleTimeout(TransportError):
    """Nothing was received for too long."""


class DecodeError(ApiError):
    """An answer, a page or a watch line that is not what it should be."""


class Stopped(ApiError):
    """The stop token was set while a request or stream was under way."""


_BY_CODE: dict[int, type[ApiError]] = {
    HTTPStatus.BAD_REQUEST: BadRequest,
    HTTPStatus.UNAUTHORIZED: Unauthorized,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.GONE: Expired,
    HTTPStatus.UNPROCESSABLE_ENTITY: Invalid,
    HTTPStatus.TOO_MANY_REQUESTS: TooManyRequests,
}
_TOO_LARGE_TEXT = "too large resource version"


def _kind_of(code: int, status: Status) -> type[ApiError]:
    reason = status.reason or ""
    causes = status.cause_reasons()
    if reason in ("Expired", "Gone"):
        return Expired
    if "ResourceVersionTooLarge" in causes or _TOO_LARGE_TEXT in (status.message or "").lower():
        return TooLargeResourceVersion
    if code == HTTPStatus.CONFLICT:
        return AlreadyExists if reason == "AlreadyExists" else Conflict
    if code == HTTPStatus.FORBIDDEN:
        return NamespaceTerminating if "NamespaceTerminating" in causes else Forbidden
    if code == HTTPStatus.INTERNAL_SERVER_ERROR and reason == "InternalError":
        return InternalError
    return _BY_CODE.get(code, ServerError)


def from_status(
    status: Status, *, code: int | None = None, action: str = "", retry_after: float | None = None
) -> ApiError:
    """Return the error for a Status body, of an HTTP answer with `code` or of a watch's ERROR event."""
    code = code or status.code or 500
    if retry_after is None and status.details and status.details.retry_after_seconds:
        retry_after = float(status.details.retry_after_seconds)
    kind = _kind_of(code, status)
    message = status.message or status.reason or f"the API server answered {code}"
    return kind(message, code=code, reason=status.reason or "", action=action, status=status, retry_after=retry_after)


def from_response(code: int, body: bytes, *, action: str = "", retry_after: float | None = None) -> ApiError:
    """Return the error for an HTTP answer that is not a success; the body may be a Status, text, or anything."""
    try:
        status = _DECODER.decode(body)
    except msgspec.MsgspecError:
        text = body[:500].decode(errors="replace").strip()
        status = Status(message=text or None)
    return from_status(status, code=code, action=action, retry_after=retry_after)


_DECODER = msgspec.json.Decoder(Status)
