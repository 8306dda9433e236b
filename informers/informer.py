"""One resource in one scope: a store that follows the server, and handlers that follow the store (informers.md 1.6)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from random import Random
from typing import Generic

import structlog

from clockwork import Clock, OwnedThread, StopToken, join_all
from informers.cache import Cache
from informers.handlers import Delivery, Handler, InlineDelivery, ThreadedDelivery
from informers.index import IndexFunction
from informers.list_watch import ListWatch, Undecodable
from informers.metadata import Object
from informers.metrics import InformerMetrics, InformerReadings
from informers.reflector import Reflector, ReflectorOptions
from informers.registration import MINIMUM_RESYNC_SECONDS, Registration
from informers.store import Store
from informers.transform import Transform, TransformedListWatch

_LOG = structlog.get_logger(__name__)


class Informer(Generic[Object]):
    """A cache of one resource in one scope, which is the scope of `list_watch`.

    `store` is read; reading never starts anything. `add_handler` may be called at any time before `stop`, also from
    inside a handler. Each handler is told in order, one call at a time; between handlers there is no order. What a
    handler is told is in the store already, or something newer is. The informer survives every failure of the server
    and says so through `on_error`, `waiting_for` and its metrics; `on_fatal` hears of an own thread that died, which
    is a bug. States that did not last may be missed; use level-triggered reconciling.

    `resync_check_seconds` 0 means no resync, unless a handler asks for one before the start. `stop_token` ends the
    informer from outside; its owner still calls `stop` to join the threads. Everything else is set at construction
    and cannot be changed. All methods are safe from any thread.
    """

    def __init__(
        self,
        list_watch: ListWatch[Object],
        *,
        clock: Clock,
        random: Random,
        stop_token: StopToken,
        options: ReflectorOptions | None = None,
        indexers: Mapping[str, IndexFunction[Object]] | None = None,
        transform: Transform[Object] | None = None,
        resync_check_seconds: float = 0.0,
        on_error: Callable[[Exception], None] = lambda _: None,
        on_undecodable: Callable[[Undecodable], None] = lambda _: None,
        on_fatal: Callable[[BaseException], None] = lambda _: None,
    ) -> None:
        self.name = list_watch.name
        self.store: Store[Object] = Store(indexers, name=self.name)
        self._clock = clock
        self._stop_token = stop_token.child()
        self._resync_check_seconds = resync_check_seconds
        self._on_error = on_error
        self._on_fatal = on_fatal
        self._log = _LOG.bind(informer=self.name)
        self._metrics = InformerMetrics()
        self._cache: Cache[Object] = Cache(
            self.store,
            name=self.name,
            metrics=self._metrics,
            on_filled=self._filled,
            on_undecodable=on_undecodable,
        )
        self._reflector: Reflector[Object] = Reflector(
            TransformedListWatch(list_watch, transform) if transform else list_watch,
            self._cache,
            options=options or ReflectorOptions(),
            clock=clock,
            random=random,
            metrics=self._metrics,
            on_error=self._failed,
        )
        self._lifecycle = threading.Lock()
        self._is_started = False
        self._is_stopping = False
        self._has_failed = False
        self._threads: list[OwnedThread] = []
        self._progress_lock = threading.Lock()
        self._progress_callbacks: dict[object, Callable[[], None]] = {}

    @property
    def resync_check_seconds(self) -> float:
        """How often it is checked which handlers are due for a resync; 0 for never."""
        return self._resync_check_seconds

    @property
    def last_error(self) -> Exception | None:
        """The latest failure of listing or watching since the last success."""
        return self._reflector.last_error

    def start(self) -> None:
        """Begin to list and watch. Raises RuntimeError when called twice or after `stop`."""
        with self._lifecycle:
            if self._is_started or self._is_stopping:
                state = "stopped" if self._is_stopping else "started"
                raise RuntimeError(f"informer {self.name!r} has been {state} already; build another one")
            self._is_started = True
            for registration in self._cache.registrations:
                self._start_delivery(registration)
            self._run_thread(f"reflector {self.name}", lambda: self._reflector.run(self._stop_token))
            if self._resync_check_seconds:
                self._cache.begin_resyncs(self._clock.monotonic())
                self._run_thread(f"resync {self.name}", self._check_resyncs)

    def _run_thread(self, name: str, target: Callable[[], None]) -> None:
        self._threads.append(OwnedThread(name, target, on_error=self._died).start())

    def _start_delivery(self, registration: Registration[Object]) -> None:
        registration.delivery.start()
        self._threads += registration.delivery.threads()

    def _check_resyncs(self) -> None:
        while not self._stop_token.wait(self._resync_check_seconds):
            self._cache.resync(self._clock.monotonic())

    def stop(self, *, drain: bool = True, timeout_seconds: float = 30.0) -> list[str]:
        """Stop the reflector, then the handlers, and join all threads; return the names of those that did not end.

        With `drain`, handlers are still told what was queued. Idempotent. Raises RuntimeError when called by a
        handler, which would wait for itself.
        """
        self._refuse_own_callback("stop")
        with self._lifecycle:
            self._is_stopping = True
            sources = [thread for thread in self._threads if not self._is_handler_thread(thread)]
        self._stop_token.set(f"informer {self.name} stopped")
        deadline = self._clock.monotonic() + timeout_seconds
        join_all(sources, timeout_seconds, clock=self._clock)
        for registration in self._cache.registrations:
            registration.delivery.close(drain=drain)
        remaining = max(0.0, deadline - self._clock.monotonic())
        left = join_all(self._threads, remaining, clock=self._clock)
        self._stop_token.close()
        if left:
            self._log.error("threads did not end in time", threads=left, timeout_seconds=timeout_seconds)
        return left

    def _is_handler_thread(self, thread: OwnedThread) -> bool:
        return any(thread in registration.delivery.threads() for registration in self._cache.registrations)

    def _refuse_own_callback(self, action: str) -> None:
        callers = [r.name for r in self._cache.registrations if r.delivery.is_current()]
        if callers or any(thread.is_current() for thread in self._threads):
            raise RuntimeError(f"{action} of informer {self.name!r} called from inside its own callback {callers}")

    def is_stopped(self) -> bool:
        """Return whether `stop` was called and every thread has ended."""
        return self._is_stopping and not any(thread.is_alive() for thread in self._threads)

    def add_handler(
        self, handler: Handler[Object], *, name: str, enqueue_keys: bool = False, resync_seconds: float = 0.0
    ) -> Registration[Object]:
        """Tell `handler` of every stored object, flagged initial, and then of each change; return its registration.

        `enqueue_keys` is for handlers that do no more than compute keys and add them to a queue: they get no thread
        and are called by the informer's. A resync period is raised to 1 s, and after the start to the informer's check
        period. Raises RuntimeError after `stop`, and ValueError for a resync period when the informer has been
        started without any.
        """
        delivery = self._build_delivery(f"{self.name}/{name}", handler, enqueue_keys=enqueue_keys)
        with self._lifecycle:
            if self._is_stopping or self._stop_token.is_set():
                raise RuntimeError(f"informer {self.name!r} has been stopped; it takes no handler {name!r}")
            registration: Registration[Object] = Registration(
                delivery, resync_seconds=self._grant_resync(resync_seconds), now=self._clock.monotonic()
            )
            if self._is_started:
                self._start_delivery(registration)
            self._cache.attach(registration)
        delivery.flush()
        return registration

    def _build_delivery(self, name: str, handler: Handler[Object], *, enqueue_keys: bool) -> Delivery[Object]:
        if enqueue_keys:
            return InlineDelivery(name, handler, clock=self._clock, on_synced=self._progressed)
        return ThreadedDelivery(name, handler, clock=self._clock, on_synced=self._progressed, on_fatal=self._died)

    def _grant_resync(self, asked_seconds: float) -> float:
        if asked_seconds <= 0:
            return 0.0
        seconds = max(asked_seconds, MINIMUM_RESYNC_SECONDS)
        check_seconds = self._resync_check_seconds
        if not self._is_started:
            self._resync_check_seconds = min(seconds, check_seconds or seconds)
            return seconds
        if not check_seconds:
            raise ValueError(
                f"informer {self.name!r} was started without resync, so a handler cannot ask for {asked_seconds:g} s;"
                " set resync_check_seconds or add the handler before the start"
            )
        return max(seconds, check_seconds)

    def remove_handler(self, registration: Registration[Object]) -> None:
        """Tell the handler nothing more; one call may still be in flight. A foreign or removed one is left alone."""
        if self._cache.detach(registration):
            registration.delivery.close(drain=False)
            with self._lifecycle:
                self._threads = [thread for thread in self._threads if thread.is_alive()]
            self._progressed()

    def shutdown_handler(self, registration: Registration[Object]) -> None:
        """Remove the handler and wait until it is in no call. Raises RuntimeError when called by that handler."""
        if registration.delivery.is_current():
            raise RuntimeError(f"handler {registration.name!r} cannot wait for itself; use remove_handler")
        self.remove_handler(registration)
        registration.delivery.await_idle()

    def is_listed(self) -> bool:
        """Return whether a first list has been taken into the store completely."""
        return self._cache.is_filled

    def is_synced(self) -> bool:
        """Return whether the store is filled and every handler has handled every initial object."""
        return self.waiting_for() is None

    def has_settled(self) -> bool:
        """Return whether the first list has succeeded or failed."""
        return self._cache.is_filled or self._has_failed

    def waiting_for(self) -> str | None:
        """Say what is still missing, with the latest error, or None when all is synced."""
        if not self._is_started:
            return "not started"
        if not self._cache.is_filled:
            return f"not listed; latest error: {self.last_error or 'none'}"
        late = [registration.name for registration in self._cache.registrations if not registration.is_synced()]
        if late:
            return f"initial objects not handled by {', '.join(late)}; latest error: {self.last_error or 'none'}"
        return None

    def on_progress(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback`, short and without locks, whenever `waiting_for` may have changed; return what ends that."""
        token = object()
        with self._progress_lock:
            self._progress_callbacks[token] = callback
        return lambda: self._forget_progress(token)

    def _forget_progress(self, token: object) -> None:
        with self._progress_lock:
            self._progress_callbacks.pop(token, None)

    def _progressed(self) -> None:
        with self._progress_lock:
            callbacks = tuple(self._progress_callbacks.values())
        for callback in callbacks:
            callback()

    def _filled(self) -> None:
        self._log.info("synced with the server", objects=len(self.store))
        self._progressed()

    def _failed(self, error: Exception) -> None:
        self._has_failed = True
        self._progressed()
        self._on_error(error)

    def _died(self, error: BaseException) -> None:
        self._log.critical("a thread of the informer died; its cache no longer follows the server", error=repr(error))
        self._on_fatal(error)

    def readings(self) -> InformerReadings:
        """Return everything there is to export, computed now."""
        return self._metrics.read(
            self.name,
            now=self._clock.monotonic(),
            store_objects=len(self.store),
            index_errors=self.store.index_errors,
            is_synced=self.is_synced(),
            handlers=tuple(registration.delivery.readings() for registration in self._cache.registrations),
        )
