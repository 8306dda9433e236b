"""Requests and watches over one pool of connections: the `Api` that all else uses (informers.md 1.1, 1.12, 3.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlencode

import msgspec
import structlog
from urllib3 import BaseHTTPResponse

from clockwork import Clock, StopToken, SystemClock
from informers.api import JSON, Answer, LineStream
from informers.errors import ApiError, ConnectionLost, Stopped, from_response
from informers.transport.configuration import ServerConfiguration
from informers.transport.connections import Interruption
from informers.transport.exchange import Call, Exchange
from informers.transport.failures import is_cut
from informers.transport.options import TransportOptions
from informers.transport.retry import RetryBudget, read_retry_after
from informers.transport.stream import EmptyLines, ResponseLines
from informers.transport.throttle import Throttle
from informers.transport.waiting import wait_unless_stopped
from informers.transport.warnings import WarningLog, read_warnings

_LOG = structlog.get_logger(__name__)
_LONG_THROTTLE_SECONDS = 1.0
_RECONNECT_SECONDS = 1.0
_DEFAULT_OPTIONS = TransportOptions()


class _Refusal(msgspec.Struct, frozen=True):
    """An answer that is no success; `delay_seconds` is set when the server wants the request again."""

    error: ApiError
    delay_seconds: float | None


class Transport:
    """Implements `informers.api.Api` over urllib3.

    One server, one identity, one pool; whoever must not wait for others, as leader election, makes a second one.
    Starts no threads. Safe from any thread, and not to be carried across a fork. `close()` ends every request and
    watch under way; later ones raise Stopped. `on_throttled` is told the seconds that a request waited for this side's
    own limit.
    """

    def __init__(
        self,
        configuration: ServerConfiguration,
        options: TransportOptions = _DEFAULT_OPTIONS,
        *,
        clock: Clock | None = None,
        on_throttled: Callable[[float], None] | None = None,
    ) -> None:
        self._configuration = configuration
        self._options = options
        self._clock = clock or SystemClock()
        self._on_throttled = on_throttled
        self._exchange = Exchange(configuration, options, self._clock)
        self._throttle = _build_throttle(options, self._clock)
        self._warnings = WarningLog()
        self._closing = StopToken()

    @property
    def url(self) -> str:
        """The server's address."""
        return self._configuration.url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Interrupt what is under way and close all connections. Idempotent."""
        self._closing.set("the transport is closed")
        self._exchange.close()

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
        """Send one request; see `Api.request`.

        A `timeout` bounds all attempts together, with the waits that the server asked for. Raises Stopped when `stop`
        is set or the transport closed.
        """
        headers = self._build_headers(accept_gzip=self._options.accept_gzip)
        if body is not None:
            headers["Content-Type"] = content_type
        budget = RetryBudget(self._clock, timeout)
        with self._interruptible(stop) as (interruption, stops):
            call = Call(
                method=method,
                target=_build_target(path, query),
                headers=headers,
                interruption=interruption,
                action=action or f"{method} {path}",
                connect_timeout=self._options.connect_timeout,
                read_timeout=self._options.request_timeout,
                body=body,
            )
            self._throttle_call(call, stops)
            while True:
                outcome = self._attempt(_within(call, budget.remaining_seconds()))
                if isinstance(outcome, Answer):
                    return outcome
                if not budget.allows(outcome.delay_seconds):
                    raise outcome.error
                self._wait(outcome.delay_seconds or 0.0, call, stops)

    def _attempt(self, call: Call) -> Answer | _Refusal:
        response = self._exchange.open(call)
        try:
            body = self._exchange.read(response, call)
        finally:
            self._exchange.close_response(response)
        if not _is_success(response.status):
            return _build_refusal(response, body, call.action)
        warnings = read_warnings(response.headers.getlist("Warning"))
        self._warnings.log(warnings, call.action)
        return Answer(response.status, body, warnings)

    @contextmanager
    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        stop: StopToken,
        idle_timeout: float | None = None,
        action: str = "",
    ) -> Iterator[LineStream]:
        """Open a watch; see `Api.stream`.

        A server that accepts the connection and cuts it is tried again every second; after ten times the watch is an
        empty one. Raises Stopped when `stop` is set or the transport closed.
        """
        idle_seconds = self._options.idle_timeout if idle_timeout is None else idle_timeout
        # Compressed, a line could be held back in the server's compressor.
        headers = self._build_headers(accept_gzip=False)
        with self._interruptible(stop) as (interruption, stops):
            call = Call(
                method="GET",
                target=_build_target(path, query),
                headers=headers,
                interruption=interruption,
                action=action or f"watch {path}",
                connect_timeout=self._options.connect_timeout,
                read_timeout=idle_seconds,
            )
            response = self._open_watch(call, stops)
            if response is None:
                yield EmptyLines()
                return
            try:
                yield ResponseLines(response, call, self._exchange.translate)
            finally:
                self._exchange.close_response(response)

    def _open_watch(self, call: Call, stops: tuple[StopToken, ...]) -> BaseHTTPResponse | None:
        """Return the response of an open watch; None when the server did nothing but cut connections."""
        budget = RetryBudget(self._clock, None)
        while True:
            outcome = self._attempt_watch(call)
            if not isinstance(outcome, _Refusal):
                return outcome
            if not budget.allows(outcome.delay_seconds):
                if isinstance(outcome.error, ConnectionLost):
                    return None
                raise outcome.error
            self._wait(outcome.delay_seconds or 0.0, call, stops)

    def _attempt_watch(self, call: Call) -> BaseHTTPResponse | _Refusal:
        try:
            response = self._exchange.open(call)
        except ConnectionLost as error:
            if is_cut(error.__cause__):
                return _Refusal(error, _RECONNECT_SECONDS)
            raise
        if _is_success(response.status):
            return response
        try:
            body = self._exchange.read(response, call)
        finally:
            self._exchange.close_response(response)
        return _build_refusal(response, body, call.action)

    @contextmanager
    def _interruptible(self, stop: StopToken | None) -> Iterator[tuple[Interruption, tuple[StopToken, ...]]]:
        interruption = Interruption()
        stops = (self._closing,) if stop is None else (stop, self._closing)
        forget = [each.on_set(interruption.interrupt) for each in stops]
        try:
            yield interruption, stops
        finally:
            for each in forget:
                each()

    def _build_headers(self, *, accept_gzip: bool) -> dict[str, str]:
        return {
            "Accept": JSON,
            "Accept-Encoding": "gzip" if accept_gzip else "identity",
            "User-Agent": self._options.user_agent,
        }

    def _throttle_call(self, call: Call, stops: tuple[StopToken, ...]) -> None:
        seconds = self._throttle.reserve() if self._throttle is not None else 0.0
        if seconds <= 0:
            return
        if self._on_throttled is not None:
            self._on_throttled(seconds)
        if seconds > _LONG_THROTTLE_SECONDS:
            _LOG.warning(
                "a request waits because of this client's own limit; raise qps and burst, or set qps to 0 for none",
                action=call.action,
                seconds=round(seconds, 3),
            )
        self._wait(seconds, call, stops)

    def _wait(self, seconds: float, call: Call, stops: tuple[StopToken, ...]) -> None:
        if wait_unless_stopped(seconds, self._clock, *stops):
            raise Stopped("the request was stopped", action=call.action)


def _build_target(path: str, query: Mapping[str, str] | None) -> str:
    return f"{quote(path)}?{urlencode(query)}" if query else quote(path)


def _within(call: Call, seconds: float | None) -> Call:
    if seconds is None:
        return call
    seconds = max(seconds, 0.001)
    return msgspec.structs.replace(call, connect_timeout=min(call.connect_timeout, seconds), read_timeout=seconds)


def _is_success(code: int) -> bool:
    return 200 <= code < 300  # noqa: PLR2004 - the codes of success


def _build_refusal(response: BaseHTTPResponse, body: bytes, action: str) -> _Refusal:
    delay = read_retry_after(response.status, response.headers.get("Retry-After"))
    return _Refusal(from_response(response.status, body, action=action, retry_after=delay), delay)


def _build_throttle(options: TransportOptions, clock: Clock) -> Throttle | None:
    if options.qps <= 0:
        return None
    return Throttle(options.qps, options.burst or max(1, round(2 * options.qps)), clock)
