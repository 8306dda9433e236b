"""The Warning headers with which the API server comments on what is written (api.md)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

from clockwork import StopToken
from informers.api import JSON, Answer, Api, LineStream


class WarningTap:
    """An `Api` that keeps the warnings of the answers to writes. Safe from any thread."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._warnings: dict[str, None] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """The different warnings so far, in the order of their first arrival."""
        return tuple(self._warnings)

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
        answer = self._api.request(
            method, path, query=query, body=body, content_type=content_type, timeout=timeout, action=action, stop=stop
        )
        if method != "GET":
            self._warnings.update(dict.fromkeys(answer.warnings))
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
