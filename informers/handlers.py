"""Handing notifications to one handler, in order and one at a time (informers.md 1.6.1, 1.6.2)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol

import structlog

from clockwork import Clock, OwnedThread
from informers.metadata import Object, key_of
from informers.metrics import HandlerReadings
from informers.notifications import Added, Deleted, Notification, Updated

INLINE_BUDGET_SECONDS = 0.010
PAUSE_AFTER_ERROR_SECONDS = 1.0
WARN_DEPTH = 10_000
_LOG = structlog.get_logger(__name__)


class Handler(Protocol[Object]):
    """What is told about objects: one call at a time, in order. It must not change an object.

    A call may raise: that is logged and counted, and the notification counts as handled.
    """

    def on_add(self, obj: Object, *, is_initial: bool) -> None:
        """An object is there that was not, or, if `is_initial`, was there before the handler began to listen."""
        ...

    def on_update(self, old: Object, new: Object) -> None:
        """An object changed; the same object twice is a resync."""
        ...

    def on_delete(self, deleted: Deleted[Object]) -> None:
        """An object is gone."""
        ...


class InitialEnd:
    """Stands in a delivery's queue behind the last initial notification."""


INITIAL_END = InitialEnd()


class Delivery(Generic[Object]):
    """The queue of notifications for one handler; its subclasses say which thread makes the calls.

    `append` may be called with a lock held; `flush` may not, because it may call the handler. Both are safe from any
    thread. Notifications appended in an order are handled in that order. `on_synced` is called once, without locks,
    when the notifications before INITIAL_END have been handled.
    """

    def __init__(self, name: str, handler: Handler[Object], *, clock: Clock, on_synced: Callable[[], None]) -> None:
        self.name = name
        self._handler = handler
        self._clock = clock
        self._on_synced = on_synced
        self._log = _LOG.bind(handler=name)
        self._lock = threading.Lock()
        self._condition = threading.Condition(self._lock)
        self._pending: deque[tuple[float, Notification[Object] | InitialEnd]] = deque()
        self._is_closed = False
        self._is_dropping = False
        self._is_synced = False
        self._has_warned = False
        self._errors = 0

    def start(self) -> None:
        """Begin to call the handler."""

    def append(self, notifications: tuple[Notification[Object] | InitialEnd, ...]) -> None:
        """Queue notifications; after `close`, forget them."""
        now = self._clock.monotonic()
        with self._lock:
            if not self._is_closed:
                self._pending.extend([(now, notification) for notification in notifications])

    def flush(self) -> None:
        """Handle what is queued, if that is this thread's business."""

    def close(self, *, drain: bool) -> None:
        """Take nothing more, and handle what is queued only if `drain`. One call may be in flight. Idempotent."""
        with self._condition:
            self._is_closed = True
            if not drain:
                self._is_dropping = True
                self._pending.clear()
            self._condition.notify_all()

    def threads(self) -> tuple[OwnedThread, ...]:
        """Return the threads to join after `close`."""
        return ()

    def is_current(self) -> bool:
        """Return whether this thread is inside a call of the handler."""
        raise NotImplementedError

    def await_idle(self) -> None:
        """Wait, after `close`, until no thread is inside a call of the handler."""
        raise NotImplementedError

    def is_synced(self) -> bool:
        """Return whether every initial notification has been handled."""
        return self._is_synced

    def readings(self) -> HandlerReadings:
        """Return the state for metrics."""
        now = self._clock.monotonic()
        with self._condition:
            oldest = now - self._pending[0][0] if self._pending else 0.0
            return HandlerReadings(self.name, len(self._pending), oldest, self._is_synced, self._errors)

    def _call(self, notification: Notification[Object] | InitialEnd) -> bool:
        """Make one call; return whether the handler managed it."""
        try:
            if isinstance(notification, Updated):
                self._handler.on_update(notification.old, notification.new)
            elif isinstance(notification, Added):
                self._handler.on_add(notification.object, is_initial=notification.is_initial)
            elif isinstance(notification, Deleted):
                self._handler.on_delete(notification)
            else:
                self._is_synced = True
                self._on_synced()
        except Exception:  # noqa: BLE001 - a user's function; logged, counted, and the next one is not its fault
            self._errors += 1
            self._log.exception("a handler failed; the notification is not repeated", **_describe(notification))
            return False
        return True


def _describe(notification: Notification[Object] | InitialEnd) -> dict[str, str]:
    """Name a notification for the log: never the object itself, which may hold secrets."""
    if isinstance(notification, Added | Updated):
        obj = notification.object if isinstance(notification, Added) else notification.new
        return {"notification": type(notification).__name__, "key": key_of(obj)}
    return {"notification": type(notification).__name__, "key": getattr(notification, "key", "")}


class ThreadedDelivery(Delivery[Object]):
    """Calls the handler from a thread of its own, so that a slow handler delays nobody else.

    The queue has no bound: it warns once beyond 10,000 notifications, and its depth and age are in the metrics. After
    a failed call the thread pauses for a second. `on_fatal` hears of what is no Exception and ends the thread.
    """

    def __init__(
        self,
        name: str,
        handler: Handler[Object],
        *,
        clock: Clock,
        on_synced: Callable[[], None],
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        super().__init__(name, handler, clock=clock, on_synced=on_synced)
        self._thread = OwnedThread(f"handler {name}", self._run, on_error=on_fatal)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def threads(self) -> tuple[OwnedThread, ...]:
        """Return the one thread."""
        return (self._thread,)

    def is_current(self) -> bool:
        """Return whether the caller is this delivery's thread."""
        return self._thread.is_current()

    def await_idle(self) -> None:
        """Wait for the thread's end."""
        self._thread.join()

    def append(self, notifications: tuple[Notification[Object] | InitialEnd, ...]) -> None:
        """Queue notifications, and warn of a queue that grows out of hand."""
        super().append(notifications)
        with self._condition:
            self._condition.notify()
        if len(self._pending) > WARN_DEPTH and not self._has_warned:
            self._has_warned = True
            self._log.warning("a handler is too slow; its queue grows", depth=len(self._pending))

    def _run(self) -> None:
        while True:
            with self._condition:
                while not self._pending and not self._is_closed:
                    self._condition.wait()
                if not self._pending:
                    return
                _, notification = self._pending.popleft()
            if not self._call(notification):
                self._pause()

    def _pause(self) -> None:
        until = self._clock.monotonic() + PAUSE_AFTER_ERROR_SECONDS
        with self._condition:
            while not self._is_closed and (remaining := until - self._clock.monotonic()) > 0:
                self._clock.wait(self._condition, remaining)


class InlineDelivery(Delivery[Object]):
    """Calls the handler from whichever thread brings the notification, for handlers that only enqueue keys.

    That is the informer's own thread, so the handler must be quick: a call of more than 10 ms is logged once. When
    two threads bring notifications at once, the one that is already calling handles both, in order.
    """

    def __init__(self, name: str, handler: Handler[Object], *, clock: Clock, on_synced: Callable[[], None]) -> None:
        super().__init__(name, handler, clock=clock, on_synced=on_synced)
        self._caller: int | None = None

    def is_current(self) -> bool:
        """Return whether this thread is inside a call of the handler."""
        return self._caller == threading.get_ident()

    def flush(self) -> None:
        """Handle what is queued, unless some thread, perhaps this one, is at it."""
        while True:
            with self._lock:
                if self._caller is not None or not self._pending:
                    return
                self._caller = threading.get_ident()
                batch, self._pending = self._pending, deque()
            try:
                self._handle(batch)
            finally:
                with self._condition:
                    self._caller = None
                    self._condition.notify_all()

    def await_idle(self) -> None:
        """Wait until no thread is inside a call of the handler."""
        with self._condition:
            while self._caller is not None:
                self._condition.wait()

    def _handle(self, batch: deque[tuple[float, Notification[Object] | InitialEnd]]) -> None:
        started = self._clock.monotonic()
        for _, notification in batch:
            if self._is_dropping:
                return
            self._call(notification)
            ended = self._clock.monotonic()
            if ended - started > INLINE_BUDGET_SECONDS and not self._has_warned:
                self._has_warned = True
                self._log.warning(
                    "a handler with enqueue_keys is slow and holds up its informer; give it a thread",
                    seconds=ended - started,
                    budget_seconds=INLINE_BUDGET_SECONDS,
                )
            started = ended
