"""How the fake API server says no: a Status answer, as an exception on its way to the client."""

from __future__ import annotations

from http import HTTPStatus


class Rejection(Exception):
    """A failed request's HTTP code and Status body, raised inside the server and written to the client."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str = "",
        *,
        causes: tuple[str, ...] = (),
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message or reason
        self.causes = causes
        self.retry_after_seconds = retry_after_seconds

    def status(self) -> dict[str, object]:
        """Return the Status object."""
        details: dict[str, object] = {}
        if self.causes:
            details["causes"] = [{"reason": cause} for cause in self.causes]
        if self.retry_after_seconds is not None:
            details["retryAfterSeconds"] = self.retry_after_seconds
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": details,
            "code": self.code,
        }


def build_not_found(resource: str, name: str) -> Rejection:
    """Return the answer for an object that is not there."""
    return Rejection(HTTPStatus.NOT_FOUND, "NotFound", f'{resource} "{name}" not found')


def build_expired(message: str = "The provided continue parameter is too old") -> Rejection:
    """Return the answer for a resourceVersion or continue token of before the last compaction."""
    return Rejection(HTTPStatus.GONE, "Expired", message)


def build_too_large(asked: int, current: int) -> Rejection:
    """Return the answer for a resourceVersion that the server has not reached."""
    return Rejection(
        HTTPStatus.GATEWAY_TIMEOUT,
        "Timeout",
        f"Too large resource version: {asked}, current: {current}",
        causes=("ResourceVersionTooLarge",),
    )


def build_bad_request(message: str) -> Rejection:
    """Return the answer for a request that makes no sense."""
    return Rejection(HTTPStatus.BAD_REQUEST, "BadRequest", message)


def build_invalid(message: str) -> Rejection:
    """Return the answer for an object or option that is not acceptable."""
    return Rejection(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message)


def build_conflict(message: str) -> Rejection:
    """Return the answer for a precondition that does not hold."""
    return Rejection(HTTPStatus.CONFLICT, "Conflict", message)
