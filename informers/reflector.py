"""Keeps a copy of a resource's state by listing and watching, whatever happens to the connection (informers.md 1.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Generic, Protocol

import msgspec
import structlog

from clockwork import Clock, StopToken
from informers.backoff import Backoff, BackoffOptions
from informers.consistency import (
    ConsistencyCheck,
    InconsistentListError,
    check_consistency,
    consistency_check_from_environment,
)
from informers.errors import ApiError, DecodeError, Expired, InternalError
from informers.initial_list import InitialList, InitialRead, Listed
from informers.list_watch import ListWatch, WatchEvent, WatchOptions
from informers.metadata import Object
from informers.metrics import InformerMetrics
from informers.retry_budget import RetryBudget
from informers.streaming_list import BookmarkWatchdog, InitialEvents, Remedy, choose_remedy, is_cut_short
from informers.watch_end import CONSEQUENCES, Delay, ShortWatch, WatchEnd, classify_end

_MINIMUM_WATCH_TIMEOUT_SECONDS = 300
_SHORT_WATCH_SECONDS = 1.0
_LOG = structlog.get_logger(__name__)


class ReflectorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a reflector lists and watches.

    `initial_read`: how new the first list must be, see `InitialList`. `uses_streaming_list`: begin with a streaming
    list where the server has it. `page_size`: objects a page, 0 for 500 where a limit does no harm.
    `watch_timeout_seconds`: each watch lasts between this and twice this; less than 300 is taken as 300.
    `internal_error_budget_seconds`: how long an established watch is repeated after InternalErrors, 0 for not at all.
    `consistency_check`: compare each streaming list with a list; by default what INFORMERS_CONSISTENCY_CHECK says.
    """

    initial_read: InitialRead = "consistent"
    uses_streaming_list: bool = True
    page_size: int = 0
    watch_timeout_seconds: int = _MINIMUM_WATCH_TIMEOUT_SECONDS
    internal_error_budget_seconds: float = 0.0
    backoff: BackoffOptions = BackoffOptions()
    consistency_check: ConsistencyCheck = msgspec.field(default_factory=consistency_check_from_environment)


class Sink(Protocol[Object]):
    """What a reflector fills. It is called from the reflector's thread only, one call at a time."""

    def replace(self, listed: Listed[Object]) -> None:
        """Take exactly this content."""
        ...

    def apply(self, event: WatchEvent[Object]) -> None:
        """Take one event; an empty `resource_version` says nothing about what has been seen."""
        ...


class Reflector(Generic[Object]):
    """Feeds a sink with the state of one resource in one scope.

    Promises: whatever was on the server when a `run` began, and every state that lasts, reaches the sink; nothing but
    the stop token ends `run`, apart from a failed consistency check in its mode `raise`; after the token is set no
    event is delivered. Not promised: that every state in between is seen. `on_error` gets each failure once, in the
    reflector's thread; expired versions of watches are routine and not reported. The properties may be read from any
    thread.
    """

    def __init__(
        self,
        list_watch: ListWatch[Object],
        sink: Sink[Object],
        *,
        options: ReflectorOptions,
        clock: Clock,
        random: Random,
        metrics: InformerMetrics,
        on_error: Callable[[Exception], None],
    ) -> None:
        self._list_watch = list_watch
        self._sink = sink
        self._options = options
        self._clock = clock
        self._random = random
        self._metrics = metrics
        self._on_error = on_error
        self._log = _LOG.bind(informer=list_watch.name)
        self._round_backoff = Backoff(options.backoff, clock=clock, random=random)
        self._watch_backoff = Backoff(options.backoff, clock=clock, random=random)
        self._retry_budget = RetryBudget(options.internal_error_budget_seconds)
        self._initial_list: InitialList[Object] = InitialList(
            list_watch, initial_read=options.initial_read, page_size=options.page_size
        )
        self._streams_lists = options.uses_streaming_list
        self._streams_cut_short = 0
        self._is_quiet_since_loss = False
        self._resource_version = ""
        self._asked_delay_seconds = 0.0
        self._last_error: Exception | None = None

    @property
    def resource_version(self) -> str:
        """The version from which the next watch starts, "" before the first list."""
        return self._resource_version

    @property
    def last_error(self) -> Exception | None:
        """The latest failure since the last success."""
        return self._last_error

    def run(self, stop: StopToken) -> None:
        """List and watch until `stop` is set."""
        while not stop.is_set():
            try:
                self._list_and_watch(stop)
            except InconsistentListError:
                raise
            except ApiError as error:
                if not stop.is_set():
                    self._report(error)
            except Exception as error:  # noqa: BLE001 - a bug must not leave the cache to rot; a new list may mend it
                self._log.exception("the reflector failed; listing again")
                self._fail(error)
            if self._wait(self._round_backoff, stop):
                return

    def _list_and_watch(self, stop: StopToken) -> None:
        end = self._list_by_streaming(stop) if self._streams_lists else None
        if end is None:
            self._list_by_pages(stop)
        while not stop.is_set():
            if end is not None:
                consequence = CONSEQUENCES[end]
                if consequence.relists:
                    return
                if self._is_delayed(consequence.delay) and self._wait(self._watch_backoff, stop):
                    return
            end = self._watch(stop)

    def _wait(self, backoff: Backoff, stop: StopToken) -> bool:
        """Wait for the backoff, or longer if the server asked for it; return whether `stop` is set."""
        delay = max(backoff.next_delay(), self._asked_delay_seconds)
        self._asked_delay_seconds = 0.0
        return stop.wait(delay)

    def _is_delayed(self, delay: Delay) -> bool:
        if delay is Delay.BACKOFF_ON_REPEAT:
            is_repeat, self._is_quiet_since_loss = self._is_quiet_since_loss, True
            return is_repeat
        return delay is Delay.BACKOFF

    def _list_by_pages(self, stop: StopToken) -> None:
        if stop.is_set():
            return
        started = self._clock.monotonic()
        try:
            listed = self._initial_list.read(self._resource_version, stop)
        except ApiError as error:
            if not stop.is_set():
                result = "expired" if isinstance(error, Expired) else "error"
                self._metrics.record_list(result, self._clock.monotonic() - started)
            raise
        self._take(listed, started, stop)

    def _list_by_streaming(self, stop: StopToken) -> WatchEnd | None:
        """Return how the watch that followed the list ended, or None when the list is to be read page by page."""
        while not stop.is_set():
            version = "" if self._initial_list.is_version_unavailable else self._resource_version
            started = self._clock.monotonic()
            try:
                return self._stream(version, started, stop)
            except ApiError as error:
                if stop.is_set():
                    raise
                self._metrics.record_list("streaming_failed", self._clock.monotonic() - started)
                self._streams_cut_short += is_cut_short(error)
                remedy = choose_remedy(error, cut_short=self._streams_cut_short, asked_for_version=bool(version))
                if remedy is Remedy.BACKOFF:
                    raise
                self._log.info("a streaming list failed", remedy=remedy.value, error=str(error))
                if remedy is Remedy.MOST_RECENT:
                    self._initial_list.is_version_unavailable = True
                elif remedy is not Remedy.AGAIN:
                    self._give_up_streaming(error, remedy)
                    return None
        return None

    def _give_up_streaming(self, error: ApiError, remedy: Remedy) -> None:
        self._streams_cut_short = 0
        if isinstance(error, DecodeError):
            self._metrics.count_decode_errors()
        if remedy is Remedy.LIST_FROM_NOW_ON:
            self._metrics.count_streaming_fallback()
            self._streams_lists = False
            self._log.warning("the server cannot stream lists; listing page by page from now on", error=str(error))

    def _stream(self, version: str, started: float, stop: StopToken) -> WatchEnd:
        """Raise ApiError for what goes wrong before the initial list is complete; afterwards return the watch's end."""
        options = self._build_watch_options(version, send_initial_events=True)
        with self._list_watch.watch(options, stop) as stream:
            events = iter(stream)
            initial: InitialEvents[Object] = InitialEvents()
            with BookmarkWatchdog(stream, name=self._list_watch.name, clock=self._clock, stop=stop) as watchdog:
                listed = initial.read(events, watchdog)
            self._streams_cut_short = 0
            self._initial_list.is_version_unavailable = False
            self._take(listed, started, stop)
            self._check_consistency(listed, stop)
            return self._follow(events, started=started, stop=stop, has_event=True)

    def _check_consistency(self, listed: Listed[Object], stop: StopToken) -> None:
        if self._options.consistency_check == "off":
            return
        try:
            check_consistency(self._list_watch, listed, stop)
        except InconsistentListError as error:
            self._metrics.count_inconsistency()
            if self._options.consistency_check == "raise":
                raise
            self._log.error("consistency check failed", error=str(error))
        except ApiError as error:
            self._log.info("consistency check not possible", error=str(error))

    def _take(self, listed: Listed[Object], started: float, stop: StopToken) -> None:
        if stop.is_set():
            return
        self._sink.replace(listed)
        self._resource_version = listed.resource_version
        self._last_error = None
        self._metrics.record_list("ok", self._clock.monotonic() - started, len(listed.items))
        self._log.debug("listed", items=len(listed.items), resource_version=listed.resource_version)

    def _build_watch_options(self, version: str, *, send_initial_events: bool = False) -> WatchOptions:
        minimum = max(_MINIMUM_WATCH_TIMEOUT_SECONDS, self._options.watch_timeout_seconds)
        return WatchOptions(
            resource_version=version,
            timeout_seconds=self._random.randint(minimum, 2 * minimum),
            send_initial_events=send_initial_events,
        )

    def _watch(self, stop: StopToken) -> WatchEnd:
        version = self._resource_version
        started = self._clock.monotonic()
        try:
            with self._list_watch.watch(self._build_watch_options(version), stop) as stream:
                return self._follow(iter(stream), started=started, is_synthetic=version in ("", "0"), stop=stop)
        except ApiError as error:
            return self._ended(error, started, stop, is_connected=False)

    def _follow(
        self,
        events: Iterator[WatchEvent[Object]],
        *,
        started: float,
        stop: StopToken,
        has_event: bool = False,
        is_synthetic: bool = False,
    ) -> WatchEnd:
        """Deliver events until the watch ends; `has_event` says that it has brought some already.

        `is_synthetic` says that the watch was opened without a version: until the first event that is not ADDED,
        events come in any order, so their versions say nothing about what has been seen.
        """
        try:
            for event in events:
                if stop.is_set():
                    break
                has_event = True
                is_synthetic = is_synthetic and event.type == "ADDED"
                self._deliver(msgspec.structs.replace(event, resource_version="") if is_synthetic else event)
        except ApiError as error:
            return self._ended(error, started, stop, is_connected=True)
        if not has_event and self._clock.monotonic() - started < _SHORT_WATCH_SECONDS:
            short = ShortWatch(f"the server closed a watch of {self._list_watch.name} at once, without an event")
            return self._ended(short, started, stop, is_connected=True)
        return self._ended(None, started, stop, is_connected=True)

    def _deliver(self, event: WatchEvent[Object]) -> None:
        self._sink.apply(event)
        self._resource_version = event.resource_version or self._resource_version
        self._is_quiet_since_loss = False
        self._last_error = None
        self._metrics.record_event(event.type, self._clock.monotonic())

    def _ended(self, error: ApiError | None, started: float, stop: StopToken, *, is_connected: bool) -> WatchEnd:
        if stop.is_set():
            return WatchEnd.CLOSED
        now = self._clock.monotonic()
        is_within_retry_budget = isinstance(error, InternalError) and self._retry_budget.allows_retry(now)
        end = classify_end(error, is_connected=is_connected, is_within_retry_budget=is_within_retry_budget)
        self._metrics.record_watch(end.value, now - started)
        if error is not None:
            self._report(error, is_routine=end is WatchEnd.EXPIRED)
        return end

    def _report(self, error: ApiError, *, is_routine: bool = False) -> None:
        if is_routine:
            self._log.debug("the watch's version has expired; listing again", error=str(error))
            return
        if isinstance(error, DecodeError):
            self._metrics.count_decode_errors()
        self._asked_delay_seconds = error.retry_after or 0.0
        self._log.warning("listing or watching failed; trying again", error=str(error), kind=type(error).__name__)
        self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._last_error = error
        try:
            self._on_error(error)
        except Exception:  # noqa: BLE001 - a user's function must not end the reflector
            self._log.exception("the error handler itself failed")
