"""Takes what the reflector brings: first into the store, then to the handlers (informers.md 1.3)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Generic

import structlog

from informers.handlers import INITIAL_END, InitialEnd
from informers.initial_list import Listed
from informers.list_watch import Undecodable, WatchEvent
from informers.metadata import Object, build_key, key_of
from informers.metrics import InformerMetrics
from informers.notifications import Added, Deleted, Notification, Updated, plan_delete, plan_put, plan_replace
from informers.registration import Registration
from informers.store import Store

_LOG = structlog.get_logger(__name__)


class Cache(Generic[Object]):
    """The store of an informer together with the handlers that follow it.

    Promises: changes are applied in the order in which they arrive, none is merged with another; when a handler is
    told of a change the store holds it, or something newer; a handler that is added late is told of each object once
    and then of what follows, without gap or repetition. An object that does not decode is reported and leaves the
    last good version in place: only a deletion, or the sight of another uid, removes that.

    One lock covers the store's write and the appending to the (unbounded) queues; handlers are called without it.
    """

    def __init__(
        self,
        store: Store[Object],
        *,
        name: str,
        metrics: InformerMetrics,
        on_filled: Callable[[], None],
        on_undecodable: Callable[[Undecodable], None],
    ) -> None:
        self._store = store
        self._metrics = metrics
        self._on_filled = on_filled
        self._on_undecodable = on_undecodable
        self._log = _LOG.bind(informer=name)
        self._lock = threading.Lock()
        self._registrations: tuple[Registration[Object], ...] = ()
        self._is_filled = False

    @property
    def registrations(self) -> tuple[Registration[Object], ...]:
        """The handlers that are told."""
        return self._registrations

    @property
    def is_filled(self) -> bool:
        """Whether a first list has been stored."""
        return self._is_filled

    def attach(self, registration: Registration[Object]) -> None:
        """Tell the handler of everything from now on, and first of what is stored. The caller flushes its delivery."""
        with self._lock:
            self._registrations = (*self._registrations, registration)
            if self._is_filled:
                present = tuple(Added(obj, is_initial=True) for obj in self._store.list())
                registration.append((*present, INITIAL_END), (*present, INITIAL_END))

    def detach(self, registration: Registration[Object]) -> bool:
        """Tell the handler nothing more; return whether it was attached."""
        with self._lock:
            remaining = tuple(other for other in self._registrations if other is not registration)
            was_attached = len(remaining) < len(self._registrations)
            self._registrations = remaining
        return was_attached

    def replace(self, listed: Listed[Object]) -> None:
        """Take the whole content of a list in one step."""
        objects = self._by_key(listed.items)
        is_initial = not self._is_filled
        with self._lock:
            self._keep_last_good_versions(objects, listed.undecodable)
            before = self._store.replace(objects, listed.resource_version)
            self._tell(plan_replace(before, objects, is_initial=is_initial))
            if is_initial:
                self._is_filled = True
                self._queue((INITIAL_END,), (INITIAL_END,))
        self._flush()
        for undecodable in listed.undecodable:
            self._report(undecodable)
        if is_initial:
            self._on_filled()

    def _by_key(self, items: Iterable[Object]) -> dict[str, Object]:
        objects = {}
        for item in items:
            try:
                objects[key_of(item)] = item
            except ValueError:
                self._metrics.count_decode_errors()
                self._log.exception("skipping an object that has no key")
        return objects

    def _keep_last_good_versions(self, objects: dict[str, Object], bad: Sequence[Undecodable]) -> None:
        for undecodable in bad:
            key = _key_of_undecodable(undecodable)
            old = self._store.get(key) if key else None
            if key and old is not None and _is_same_incarnation(old, undecodable):
                objects.setdefault(key, old)

    def apply(self, event: WatchEvent[Object]) -> None:
        """Take one event of a watch."""
        if event.type == "BOOKMARK":
            self._store.observe(event.resource_version)
            return
        if event.object is None:
            self._apply_undecodable(event)
            return
        try:
            key = key_of(event.object)
        except ValueError:
            self._metrics.count_decode_errors()
            self._log.exception("skipping an event whose object has no key", event_type=event.type)
            return
        with self._lock:
            if event.type == "DELETED":
                old = self._store.delete(key, event.resource_version)
                self._tell(plan_delete(key, old, event.object))
            else:
                old = self._store.put(key, event.object, event.resource_version)
                self._tell(plan_put(key, old, event.object))
        self._flush()

    def _apply_undecodable(self, event: WatchEvent[Object]) -> None:
        undecodable = event.undecodable
        key = _key_of_undecodable(undecodable) if undecodable else ""
        with self._lock:
            old = self._store.get(key)
            if old is not None and (event.type == "DELETED" or not _is_same_incarnation(old, undecodable)):
                self._store.delete(key, event.resource_version)
                self._tell((Deleted(key, old, final=False),))
            else:
                self._store.observe(event.resource_version)
        self._flush()
        if undecodable is not None:
            self._report(undecodable)

    def resync(self, now: float) -> None:
        """Repeat every stored object to the handlers that are due at `now`."""
        with self._lock:
            due = [registration for registration in self._registrations if registration.check_resync(now)]
            if due:
                repetitions = tuple(Updated(obj, obj, is_resync=True) for obj in self._store.list())
                for registration in due:
                    registration.append(repetitions, ())
        self._flush()

    def begin_resyncs(self, now: float) -> None:
        """Count all resync periods from `now`."""
        with self._lock:
            for registration in self._registrations:
                registration.begin_resyncs(now)

    def _tell(self, notifications: Sequence[Notification[Object]]) -> None:
        changes = tuple([note for note in notifications if not (type(note) is Updated and note.is_resync)])
        self._queue(tuple(notifications), changes)

    def _queue(
        self,
        notifications: tuple[Notification[Object] | InitialEnd, ...],
        changes: tuple[Notification[Object] | InitialEnd, ...],
    ) -> None:
        for registration in self._registrations:
            registration.append(notifications, changes)

    def _flush(self) -> None:
        for registration in self._registrations:
            registration.delivery.flush()

    def _report(self, undecodable: Undecodable) -> None:
        self._metrics.count_decode_errors()
        self._log.error(
            "an object does not decode; its last good version, if any, stays in use: correct the object",
            namespace=undecodable.namespace,
            name=undecodable.name,
            error=undecodable.error,
        )
        try:
            self._on_undecodable(undecodable)
        except Exception:  # noqa: BLE001 - a user's function must not stop the informer
            self._log.exception("the handler of undecodable objects itself failed")


def _key_of_undecodable(undecodable: Undecodable) -> str:
    return build_key(undecodable.namespace, undecodable.name) if undecodable.name else ""


def _is_same_incarnation(old: Object, undecodable: Undecodable | None) -> bool:
    return undecodable is None or not undecodable.uid or old.metadata.uid == undecodable.uid
