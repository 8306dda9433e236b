"""Informers end to end: over the real transport and a fake API server on loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from clockwork import FakeClock, StopToken
from informers.backoff import BackoffOptions
from informers.informer import Informer
from informers.list_watch import Undecodable
from informers.notifications import Deleted
from informers.reflector import ReflectorOptions
from informers.resource_list_watch import ResourceListWatch
from informers.sync import wait_for_sync
from informers.testing import FakeApiServer, faults
from test.builders.items import PODS, Item

AT_ONCE = BackoffOptions(base_seconds=0)


class Mirror:
    """A handler that wakes whoever waits for the informer's store."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.Lock())
        self.deleted: list[tuple[str, bool]] = []

    def _wake(self) -> None:
        with self.changed:
            self.changed.notify_all()

    def on_add(self, obj: Item, *, is_initial: bool) -> None:
        self._wake()

    def on_update(self, old: Item, new: Item) -> None:
        self._wake()

    def on_delete(self, deleted: Deleted[Item]) -> None:
        self.deleted.append((deleted.key, deleted.final))
        self._wake()


class World:
    def __init__(self, server: FakeApiServer, api: Any, **options: Any) -> None:
        self.server = server
        self.mirror = Mirror()
        self.undecodable: list[Undecodable] = []
        self.errors: list[Exception] = []
        clock = FakeClock()
        self.clock = clock
        self.stop = StopToken(clock=clock)
        self.informer: Informer[Item] = Informer(
            ResourceListWatch(api, PODS, Item, idle_timeout=options.pop("idle_timeout", 30.0)),
            clock=clock,
            random=Random(0),
            stop_token=self.stop,
            options=ReflectorOptions(**{"backoff": AT_ONCE, "consistency_check": "raise", **options}),
            on_error=self.errors.append,
            on_undecodable=self.undecodable.append,
        )
        self.informer.add_handler(self.mirror, name="mirror", enqueue_keys=True)

    def put(self, *names: str, **fields: Any) -> None:
        for name in names:
            self.server.put(PODS, {"metadata": {"name": name, "namespace": "ns"}, **fields})

    def start(self) -> None:
        self.informer.start()
        wait_for_sync([self.informer], timeout_seconds=30, clock=self.clock, stop=self.stop)
        self.server.await_watches(1)

    def on_server(self) -> dict[str, str]:
        return {
            f"ns/{item['metadata']['name']}": item["metadata"]["resourceVersion"] for item in self.server.objects(PODS)
        }

    def in_store(self) -> dict[str, str]:
        return {key: str(item.metadata.resource_version) for key, item in self.informer.store.items().items()}

    def await_equal(self) -> None:
        with self.mirror.changed:
            assert self.mirror.changed.wait_for(lambda: self.in_store() == self.on_server(), 20), (
                self.in_store(),
                self.on_server(),
                self.errors,
            )


@pytest.fixture
def build() -> Iterator[Callable[..., World]]:
    worlds: list[World] = []
    with FakeApiServer(PODS) as server, server.transport() as api:

        def build_world(**options: Any) -> World:
            worlds.append(World(server, api, **options))
            return worlds[-1]

        yield build_world
        for world in worlds:
            assert world.informer.stop() == []


BOTH_LISTS = pytest.mark.parametrize(
    "uses_streaming_list", [pytest.param(True, id="streaming list"), pytest.param(False, id="paged list")]
)


@BOTH_LISTS
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(faults.CloseStream(), id="R25 the server closes the watch"),
        pytest.param(faults.DropStream(), id="the connection is dropped"),
        pytest.param(faults.ResetStream(), id="the connection is reset"),
        pytest.param(faults.SendError(410, "Expired", "too old"), id="the version has expired"),
        pytest.param(faults.SendError(500, "InternalError", "etcd"), id="R22 an internal error"),
        pytest.param(faults.SendError(429, "TooManyRequests", "slow"), id="R21 throttling in the stream"),
        pytest.param(faults.SendError(504, "Timeout", "Too large resource version: 9, current: 1"), id="R5 too large"),
        pytest.param(faults.SendRaw(b'{"type":"ADDED","object":{"kind"\n'), id="R33 a malformed line"),
        pytest.param(faults.SendRaw(b'{"type":"ODD","object":{"kind":"Pod"}}\n'), id="R17 an unknown type"),
        pytest.param(
            faults.SendRaw(b'{"type":"ADDED","object":{"kind":"Table","metadata":{"resourceVersion":"999999"}}}\n'),
            id="R17 a Table",
        ),
        pytest.param(
            faults.SendRaw(b'{"type":"MODIFIED","object":{"kind":"Node","metadata":{"name":"a"}}}\n'),
            id="R17 another kind",
        ),
    ],
)
def test_the_store_follows_the_server_through(
    build: Callable[..., World], fault: faults.StreamFault, uses_streaming_list: bool
) -> None:
    world = build(uses_streaming_list=uses_streaming_list, initial_read="any")
    world.put("a", "b", "c")
    world.start()
    world.put("d")
    world.await_equal()
    assert world.server.inject(fault, resource=PODS) == 1
    world.server.remove(PODS, "ns", "a")
    world.put("b", "e")
    world.await_equal()


@BOTH_LISTS
def test_R3_changes_missed_across_a_compaction_are_found_by_the_next_list(
    build: Callable[..., World], uses_streaming_list: bool
) -> None:
    world = build(uses_streaming_list=uses_streaming_list)
    world.put("a", "b")
    world.start()
    with world.server.refusing():
        world.server.remove(PODS, "ns", "a")
        world.put("b", "c")
        world.server.compact()
    world.await_equal()
    assert world.mirror.deleted == [("ns/a", False)]


def test_R11_an_expired_page_is_made_up_for(build: Callable[..., World]) -> None:
    world = build(uses_streaming_list=False, page_size=2)
    world.put(*"abcde")
    world.server.script(faults.Respond(410, "Expired"), verb="list", page=2)
    world.start()
    assert world.in_store() == world.on_server()
    assert [request.query.get("limit", "") for request in world.server.requests_of("list")] == ["2", "2", ""]


def test_W9_a_server_without_streaming_lists_is_listed() -> None:
    with FakeApiServer(PODS, streaming_lists=False) as server, server.transport() as api:
        world = World(server, api)
        world.put("a")
        world.start()
        assert world.in_store() == world.on_server()
        assert world.informer.stop() == []
        assert len(server.requests_of("list")) == 1


def test_R30_a_server_that_falls_silent_is_left_after_the_idle_bound_and_the_watch_resumed(
    build: Callable[..., World],
) -> None:
    world = build(uses_streaming_list=False, idle_timeout=0.2)
    world.put("a")
    world.start()
    first = world.server.requests_of("watch")
    world.server.inject(faults.SilenceStream(), resource=PODS)
    world.server.await_requests(2, "watch")
    world.put("b")
    world.await_equal()
    watches = world.server.requests_of("watch")
    assert len(world.server.requests_of("list")) == 1
    assert len(first) == 1
    assert [watch.query["resourceVersion"] for watch in watches[:2]] == [first[0].query["resourceVersion"]] * 2


def test_R35_a_denied_list_is_named_and_mends_itself(build: Callable[..., World]) -> None:
    world = build(uses_streaming_list=False, backoff=BackoffOptions())
    world.server.script(faults.Respond(403, "Forbidden", "no RBAC rule"), verb="list")
    world.informer.start()
    world.clock.await_waiters(1)
    assert "no RBAC rule" in str(world.informer.waiting_for())
    world.clock.step(2)
    wait_for_sync([world.informer], timeout_seconds=30, clock=world.clock, stop=world.stop)


def test_R28_a_list_that_is_no_list_is_an_error_and_tried_again(build: Callable[..., World]) -> None:
    world = build(uses_streaming_list=False)
    world.server.script(faults.Respond(200, body=b'{"kind":"Pod","metadata":{"name":"a"}}'), verb="list")
    world.put("a")
    world.start()
    assert [type(error).__name__ for error in world.errors] == ["DecodeError"]
    assert world.in_store() == world.on_server()


@BOTH_LISTS
def test_an_undecodable_object_does_not_hide_the_others(build: Callable[..., World], uses_streaming_list: bool) -> None:
    world = build(uses_streaming_list=uses_streaming_list, consistency_check="off")
    world.put("a")
    world.server.put(PODS, {"metadata": {"name": "bad", "namespace": "ns", "labels": 3}})
    world.start()
    world.server.remove(PODS, "ns", "bad")
    world.put("b")
    world.await_equal()
    assert world.undecodable[0].name == "bad"
    assert world.informer.readings().decode_errors >= 1


def test_W5_a_withheld_bookmark_does_not_hang_the_informer(build: Callable[..., World]) -> None:
    world = build()
    world.server.script(faults.WithholdInitialBookmark(), verb="watch")
    world.informer.start()
    for _ in range(6):
        world.clock.await_waiters(1)
        assert not world.informer.is_listed()
        world.clock.step(10)
    wait_for_sync([world.informer], timeout_seconds=30, clock=world.clock, stop=world.stop)
    world.put("a")
    world.await_equal()
    assert world.informer.readings().streaming_fallbacks == 1
