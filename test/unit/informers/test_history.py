"""Whatever the history of the server and the faults on the way, the cache ends as the server is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Literal

import msgspec
from hypothesis import event as note
from hypothesis import given, settings
from hypothesis import strategies as st

from clockwork import StopToken
from informers.errors import (
    ApiError,
    ConnectionLost,
    ConnectionRefused,
    DecodeError,
    Expired,
    IdleTimeout,
    InternalError,
    Invalid,
    ServerError,
    Stopped,
    TooLargeResourceVersion,
    TooManyRequests,
)
from informers.informer import Informer
from informers.list_watch import ListOptions, Page, WatchEvent, WatchOptions
from informers.metadata import key_of
from informers.notifications import Deleted
from informers.reflector import ReflectorOptions
from test.builders.informers import AutoClock, Pod, a_pod

NAMES = "abc"
FAULTS: dict[str, ApiError] = {
    "refused": ConnectionRefused("refused"),
    "lost": ConnectionLost("reset"),
    "idle": IdleTimeout("silence"),
    "decode": DecodeError("not json"),
    "internal": InternalError("etcd", code=500),
    "server error": ServerError("corrupt", code=500),
    "throttled": TooManyRequests("slow", code=429),
    "expired": Expired("expired", code=410),
    "too large": TooLargeResourceVersion("too large"),
    "invalid": Invalid("no streaming here", code=422),
}


class Change(msgspec.Struct, frozen=True):
    """Something happens to an object."""

    kind: Literal["create", "change", "delete", "recreate"]
    name: str


class Outage(msgspec.Struct, frozen=True):
    """The request or stream under way fails; before that, changes happen that nobody is told of."""

    fault: str
    changes: tuple[Change, ...]
    compacts: bool


Action = Change | Outage | Literal["bookmark", "close", "compact"]

CHANGES = st.builds(Change, name=st.sampled_from(NAMES))
OUTAGES = st.builds(
    Outage, st.sampled_from(sorted(FAULTS)), st.lists(CHANGES, max_size=6).map(tuple), compacts=st.booleans()
)
HISTORIES = st.lists(
    CHANGES | CHANGES | CHANGES | OUTAGES | st.sampled_from(["bookmark", "close", "compact"]), min_size=3, max_size=30
)


class Server:
    """A model of an API server whose clients' every step takes the next action of a history.

    It keeps each event since the last compaction. When the history is over it delivers what is left, then stops the
    run.
    """

    name = "pods"

    def __init__(self, history: Sequence[Action], stop: StopToken, *, page_limit: int) -> None:
        self.history: list[Action] = list(history)
        self.stop = stop
        self.page_limit = page_limit
        self.version = 1
        self.compacted = 1
        self.objects: dict[str, Pod] = {}
        self.log: list[WatchEvent[Pod]] = []
        self.snapshots: dict[str, tuple[str, list[Pod]]] = {}
        self.incarnations = 0
        self.outages = 0

    def step(self) -> str:
        """Take the next action; return what it asks of an open stream: nothing, bookmark, close or end."""
        if not self.history:
            return "end"
        action = self.history.pop(0)
        if isinstance(action, Change):
            self.happen(action)
        elif isinstance(action, Outage):
            for change in action.changes:
                self.happen(change)
            if action.compacts:
                self.compact()
            self.outages += 1
            raise FAULTS[action.fault]
        elif action == "compact":
            self.compact()
        else:
            return action
        return ""

    def compact(self) -> None:
        self.compacted = self.version
        self.log.clear()
        self.snapshots.clear()

    def happen(self, change: Change) -> None:
        for kind in ("delete", "create") if change.kind == "recreate" else (change.kind,):
            self.change(kind, change.name)

    def change(self, kind: str, name: str) -> None:
        key, old = f"ns/{name}", self.objects.get(f"ns/{name}")
        if (kind == "create") == (old is not None):
            return
        self.version += 1
        if old is None:
            self.incarnations += 1
        uid = old.metadata.uid if old else f"uid-{self.incarnations}"
        pod = a_pod(name, self.version, uid=uid)
        if kind == "delete":
            del self.objects[key]
        else:
            self.objects[key] = pod
        event_type = {"create": "ADDED", "change": "MODIFIED", "delete": "DELETED"}[kind]
        self.log.append(WatchEvent(event_type, pod, str(self.version)))  # type: ignore[arg-type]

    def list(self, options: ListOptions, stop: StopToken) -> Page[Pod]:
        self.step()
        if options.continue_:
            if options.continue_ not in self.snapshots:
                raise Expired("the continue token is too old", code=410)
            version, rest = self.snapshots.pop(options.continue_)
        else:
            version, rest = str(self.version), list(self.objects.values())
        limit = min(options.limit, self.page_limit) if options.limit else len(rest)
        token = f"{version}/{len(rest)}" if len(rest) > limit else ""
        if token:
            self.snapshots[token] = (version, rest[limit:])
        return Page(tuple(rest[:limit]), version, token)

    @contextmanager
    def watch(self, options: WatchOptions, stop: StopToken) -> Iterator[Stream]:
        self.step()
        if stop.is_set():
            raise Stopped("stopped")
        yield Stream(self, options)


class Stream:
    def __init__(self, server: Server, options: WatchOptions) -> None:
        self._server = server
        self._options = options
        self._is_stopped = False

    def stop(self) -> None:
        self._is_stopped = True

    def __iter__(self) -> Iterator[WatchEvent[Pod]]:
        server = self._server
        if self._options.send_initial_events:
            position = server.version
            for pod in list(server.objects.values()):
                yield WatchEvent("ADDED", pod, pod.metadata.resource_version)
                server.step()
            yield from self._since(position)
            position = server.version
            yield WatchEvent("BOOKMARK", None, str(position), initial_events_end=True)
        else:
            position = int(self._options.resource_version)
        while not self._is_stopped:
            yield from self._since(position)
            position = server.version
            asked = server.step()
            if asked == "bookmark" and not self._pending(position):
                yield WatchEvent("BOOKMARK", None, str(position))
            elif asked == "close":
                return
            elif asked == "end" and not self._pending(position):
                server.stop.set("the history is over")
                return

    def _pending(self, position: int) -> list[WatchEvent[Pod]]:
        return [event for event in self._server.log if int(event.resource_version) > position]

    def _since(self, position: int) -> Iterator[WatchEvent[Pod]]:
        if position < self._server.compacted:
            raise Expired("too old resource version", code=410)
        yield from self._pending(position)


class View:
    """A handler that keeps its own copy, and insists that each call fits what it has been told before."""

    def __init__(self) -> None:
        self.objects: dict[str, Pod] = {}
        self.told: list[tuple[str, str]] = []

    def on_add(self, obj: Pod, *, is_initial: bool) -> None:
        assert key_of(obj) not in self.objects, "added twice"
        assert is_initial <= all(kind == "initial" for kind, _ in self.told), "initial after something else"
        self._take("initial" if is_initial else "ADDED", obj)

    def on_update(self, old: Pod, new: Pod) -> None:
        assert self.objects[key_of(new)] == old, "not the state that was told last"
        assert old.metadata.uid == new.metadata.uid
        assert int(old.metadata.resource_version) < int(new.metadata.resource_version), "told twice, or backwards"
        self._take("MODIFIED", new)

    def on_delete(self, deleted: Deleted[Pod]) -> None:
        last = self.objects.pop(deleted.key)
        assert deleted.last_known is not None
        assert deleted.last_known.metadata.uid == last.metadata.uid
        assert deleted.final or deleted.last_known == last
        self.told.append(("DELETED", deleted.last_known.metadata.resource_version))

    def _take(self, kind: str, obj: Pod) -> None:
        self.objects[key_of(obj)] = obj
        self.told.append((kind, obj.metadata.resource_version))


@settings(max_examples=250, deadline=None)
@given(
    history=HISTORIES,
    is_streaming=st.booleans(),
    page_size=st.sampled_from([0, 2]),
    page_limit=st.sampled_from([1, 500]),
    late_by=st.integers(0, 20),
    seed=st.integers(0, 3),
)
def test_the_store_and_every_handler_end_as_the_server_is(  # noqa: PLR0917 - a rule of a state machine
    history: list[Action],
    is_streaming: bool,
    page_size: int,
    page_limit: int,
    late_by: int,
    seed: int,
) -> None:
    clock = AutoClock()
    stop = StopToken(clock=clock)
    server = Server(history, stop, page_limit=page_limit)
    options = ReflectorOptions(
        uses_streaming_list=is_streaming, page_size=page_size, consistency_check="off", internal_error_budget_seconds=5
    )
    informer: Informer[Pod] = Informer(server, clock=clock, random=Random(seed), stop_token=stop, options=options)
    first, late = View(), View()
    informer.add_handler(first, name="first", enqueue_keys=True)
    informer.add_handler(LateJoiner(informer, late, late_by), name="joiner", enqueue_keys=True)
    informer._reflector.run(stop)
    note(f"streaming={is_streaming} outages={min(server.outages, 3)}")
    assert informer.store.items() == server.objects
    assert first.objects == server.objects
    assert late.objects in ({}, server.objects)
    assert late.objects or not late.told or not server.objects
    assert informer.readings().handlers[0].errors == 0


class LateJoiner:
    """Adds another handler, from inside a call, once it has been called often enough."""

    def __init__(self, informer: Informer[Pod], handler: View, calls: int) -> None:
        self._informer = informer
        self._handler = handler
        self._calls_left = calls

    def _called(self) -> None:
        if self._calls_left == 0:
            self._informer.add_handler(self._handler, name="late", enqueue_keys=True)
        self._calls_left -= 1

    def on_add(self, obj: Pod, *, is_initial: bool) -> None:
        self._called()

    def on_update(self, old: Pod, new: Pod) -> None:
        self._called()

    def on_delete(self, deleted: Deleted[Pod]) -> None:
        self._called()


@settings(max_examples=100, deadline=None)
@given(history=st.lists(CHANGES, max_size=40), is_streaming=st.booleans())
def test_without_faults_every_state_after_the_list_is_told_exactly_once(
    history: list[Change],
    is_streaming: bool,
) -> None:
    clock = AutoClock()
    stop = StopToken(clock=clock)
    server = Server(history, stop, page_limit=500)
    informer: Informer[Pod] = Informer(
        server,
        clock=clock,
        random=Random(0),
        stop_token=stop,
        options=ReflectorOptions(uses_streaming_list=is_streaming, consistency_check="off"),
    )
    view = View()
    informer.add_handler(view, name="view", enqueue_keys=True)
    informer._reflector.run(stop)
    live = [told for told in view.told if told[0] != "initial"]
    happened = [(event.type, event.resource_version) for event in server.log]
    assert live == happened[len(happened) - len(live) :]
    initial = {version for kind, version in view.told if kind == "initial"}
    assert len(initial) + len(live) <= len(happened)
    assert view.objects == server.objects == informer.store.items()
