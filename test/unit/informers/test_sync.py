from __future__ import annotations

import threading
from collections.abc import Iterator
from random import Random

import pytest

from clockwork import FakeClock, OwnedThread, StopToken
from informers.errors import Forbidden, Stopped
from informers.informer import Informer
from informers.reflector import ReflectorOptions
from informers.sync import SyncTimeoutError, start_informers, wait_for_sync
from informers.testing import FakeListWatch
from test.builders.informers import Pod, Recorder, a_page, a_pod

FORBIDDEN = Forbidden("secrets is forbidden: User cannot list", code=403)


class World:
    def __init__(self, *names: str) -> None:
        self.clock = FakeClock()
        self.stop = StopToken(clock=self.clock)
        self.sources: dict[str, FakeListWatch[Pod]] = {name: FakeListWatch(name) for name in names}
        self.informers = [
            Informer(
                source,
                clock=self.clock,
                random=Random(4),
                stop_token=self.stop,
                options=ReflectorOptions(uses_streaming_list=False, consistency_check="off"),
            )
            for source in self.sources.values()
        ]

    def wait(self, timeout_seconds: float = 30) -> None:
        wait_for_sync(self.informers, timeout_seconds=timeout_seconds, clock=self.clock, stop=self.stop)


@pytest.fixture
def world() -> Iterator[World]:
    before = set(threading.enumerate())
    world = World("pods", "secrets")
    yield world
    world.stop.set("the test is over")
    assert [informer.stop() for informer in world.informers] == [[] for _ in world.informers]
    assert set(threading.enumerate()) <= before


def start_all(world: World) -> None:
    for informer in world.informers:
        informer.start()


def test_I20_R35_the_deadline_names_who_is_late_and_why(world: World) -> None:
    world.sources["pods"].script_list(a_page())
    world.sources["secrets"].script_list(FORBIDDEN)
    start_all(world)
    waiting = OwnedThread("waiting", lambda: world.wait(0.5)).start()
    world.sources["pods"].await_watches(1)
    world.clock.await_waiters(2)
    world.clock.step(0.5)
    assert waiting.join(10)
    error = waiting.error
    assert isinstance(error, SyncTimeoutError)
    assert error.waiting == {"secrets": "not listed; latest error: secrets is forbidden: User cannot list"}
    assert "1 informers not synced within 0.5 s: secrets: not listed" in str(error)


def test_R35_it_recovers_by_itself_once_it_is_allowed(world: World) -> None:
    world.sources["pods"].script_list(a_page())
    world.sources["secrets"].script_list(FORBIDDEN, a_page())
    start_all(world)
    waiting = OwnedThread("waiting", world.wait).start()
    world.clock.await_waiters(2)
    world.clock.step(2)
    assert waiting.join(10)
    assert waiting.error is None


def test_an_informer_that_was_not_started_is_named(world: World) -> None:
    world.sources["pods"].script_list(a_page())
    world.informers[0].start()
    with pytest.raises(SyncTimeoutError, match="secrets: not started"):
        world.wait(0)


def test_waiting_is_for_handlers_and_not_only_for_lists(world: World) -> None:
    release = threading.Event()
    recorder = Recorder(lambda _: release.wait(10))
    world.informers[0].add_handler(recorder, name="slow")
    world.sources["pods"].script_list(a_page(a_pod("a")))
    world.sources["secrets"].script_list(a_page())
    start_all(world)
    recorder.await_calls(1)
    world.sources["secrets"].await_watches(1)
    with pytest.raises(SyncTimeoutError, match="pods: initial objects not handled by pods/slow"):
        world.wait(0)
    release.set()
    world.wait()


def test_a_stop_ends_the_waiting(world: World) -> None:
    waiting = OwnedThread("waiting", world.wait).start()
    world.clock.await_waiters(1)
    world.stop.set("SIGTERM")
    assert waiting.join(10)
    assert isinstance(waiting.error, Stopped)
    assert "waiting for pods, secrets: SIGTERM" in str(waiting.error)


def test_a_handler_that_is_removed_is_not_waited_for(world: World) -> None:
    release = threading.Event()
    recorder = Recorder(lambda _: release.wait(10))
    registration = world.informers[0].add_handler(recorder, name="slow")
    world.sources["pods"].script_list(a_page(a_pod("a")))
    world.sources["secrets"].script_list(a_page())
    start_all(world)
    recorder.await_calls(1)
    waiting = OwnedThread("waiting", world.wait).start()
    world.clock.await_waiters(1)
    world.informers[0].remove_handler(registration)
    assert waiting.join(10)
    assert waiting.error is None
    release.set()


@pytest.fixture
def many() -> Iterator[World]:
    world = World(*"abcdef")
    yield world
    world.stop.set("the test is over")
    for informer in world.informers:
        informer.stop()


def test_informers_start_in_order_and_no_more_than_three_list_at_once(many: World) -> None:
    starting = OwnedThread("starting", lambda: start_informers(many.informers, stop=many.stop)).start()
    for name in "abc":
        many.sources[name].await_lists(1)
    assert not any(many.sources[name].lists for name in "def")
    many.sources["b"].script_list(a_page())
    many.sources["d"].await_lists(1)
    assert not any(many.sources[name].lists for name in "ef")
    many.sources["a"].script_list(FORBIDDEN)
    many.sources["e"].await_lists(1)
    assert not many.sources["f"].lists, "e waits, with c and d"
    many.sources["c"].script_list(a_page())
    many.sources["f"].await_lists(1)
    assert starting.join(10)


def test_a_stop_ends_the_starting(many: World) -> None:
    starting = OwnedThread("starting", lambda: start_informers(many.informers, stop=many.stop, parallelism=1)).start()
    many.sources["a"].await_lists(1)
    many.stop.set("SIGTERM")
    assert starting.join(10)
    assert not many.sources["b"].lists
