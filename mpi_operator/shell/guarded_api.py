"""The API as syncs use it: no write is sent unless this process leads, and every request is counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from clockwork import Clock, StopToken
from informers.api import JSON, Answer, Api, LineStream
from informers.errors import ApiError, Stopped
from mpi_operator.metrics import Metrics


class GuardedApi:
    """An `Api` that refuses to write for a process that does not lead, with Stopped (informers.md 1.9.8).

    Safe from any thread. Not promised: that a write sent while leading arrives while leading; for that there are
    preconditions and fixed names.
    """

    def __init__(self, api: Api, *, is_leader: Callable[[], bool], metrics: Metrics, clock: Clock) -> None:
        self._api = api
        self._is_leader = is_leader
        self._metrics = metrics
        self._clock = clock

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float | None = None,
        action: str = "",
        stop: StopToken | None = None,
    ) -> Answer:
        """Send one request, as `Api.request` does."""
        if method != "GET" and not self._is_leader():
            raise Stopped("this process does not lead (any more), so nothing is written", action=action)
        began = self._clock.monotonic()
        code = 0
        try:
            answer = self._api.request(
                method,
                path,
                query=query,
                body=body,
                content_type=content_type,
                timeout=timeout,
                action=action,
                stop=stop,
            )
            code = answer.code
        except ApiError as error:
            code = error.code
            raise
        finally:
            self._metrics.record_request(method, find_resource(path), code, self._clock.monotonic() - began)
        return answer

    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        stop: StopToken,
        idle_timeout: float | None = None,
        action: str = "",
    ) -> AbstractContextManager[LineStream]:
        """Open a watch, as `Api.stream` does."""
        return self._api.stream(path, query=query, stop=stop, idle_timeout=idle_timeout, action=action)


_GROUP_PARTS = {"api": 2, "apis": 3}


def find_resource(path: str) -> str:
    """Return the resource that a path names, with its subresource: `pods`, `mpijobs/status`; empty for none."""
    parts = path.strip("/").split("/")
    parts = parts[_GROUP_PARTS.get(parts[0], len(parts)) :]
    if parts[:1] == ["namespaces"] and len(parts) > 2:  # noqa: PLR2004 - a namespace, and something in it
        parts = parts[2:]
    return "/".join(parts[:1] + parts[2:3])
