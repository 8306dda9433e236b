from __future__ import annotations

import threading
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from clockwork import FakeClock, OwnedThread, StopToken
from informers.errors import Forbidden
from informers.handlers import Delivery
from informers.informer import Informer
from informers.list_watch import Undecodable, WatchEvent
from informers.reflector import ReflectorOptions
from informers.sync import wait_for_sync
from informers.testing import FakeListWatch, FakeWatch
from test.builders.informers import Pod, Recorder, a_page, a_pod, added, bookmark, deleted, modified

FORBIDDEN = Forbidden("pods is forbidden: no RBAC rule", code=403)
PAGED = ReflectorOptions(uses_streaming_list=False, consistency_check="off")


class World:
    """An informer over a hand-scripted source; threads are real, time is not."""

    def __init__(self, **options: Any) -> None:
        self.clock = FakeClock()
        self.stop = StopToken(clock=self.clock)
        self.source: FakeListWatch[Pod] = FakeListWatch()
        self.watch: FakeWatch[Pod] = FakeWatch()
        self.errors: list[Exception] = []
        self.failed = threading.Event()
        self.barriers = 0
        self.informer: Informer[Pod] = Informer(
            self.source,
            clock=self.clock,
            random=Random(4),
            stop_token=self.stop,
            options=PAGED,
            on_error=self.fail,
            **options,
        )

    def fail(self, error: Exception) -> None:
        self.errors.append(error)
        self.failed.set()

    def start(self, *pods: Pod) -> World:
        self.source.script_list(a_page(*pods))
        self.source.script_watch(self.watch)
        self.informer.start()
        self.source.await_watches(1)
        return self

    def sync(self) -> None:
        wait_for_sync([self.informer], timeout_seconds=10, clock=self.clock, stop=self.stop)

    def send(self, *events: WatchEvent[Pod]) -> None:
        """Send events and wait until they have been applied, which is when a handler without a thread has them."""
        barrier = Recorder()
        registration = self.informer.add_handler(barrier, name="barrier", enqueue_keys=True)
        count = len(barrier.calls) + 1
        self.barriers += 1
        self.watch.send(*events, modified(a_pod("barrier", 1_000_000 + self.barriers)))
        barrier.await_calls(count + len([event for event in events if event.type != "BOOKMARK"]))
        self.informer.remove_handler(registration)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.informer.stop() == []
    assert world.informer.is_stopped()


def inline(world: World, recorder: Recorder, **options: Any) -> Any:
    return world.informer.add_handler(recorder, name="inline", enqueue_keys=True, **options)


def threaded(world: World, recorder: Recorder, **options: Any) -> Any:
    return world.informer.add_handler(recorder, name="threaded", **options)


def await_closed(delivery: Delivery[Pod]) -> None:
    with delivery._condition:
        assert delivery._condition.wait_for(lambda: delivery._is_closed, 10)


BOTH = pytest.mark.parametrize("add", [pytest.param(inline, id="inline"), pytest.param(threaded, id="threaded")])


# --- what handlers are told -------------------------------------------------------------------------------------------


@BOTH
def test_a_handler_is_told_the_initial_objects_and_then_each_change_in_order(world: World, add: Any) -> None:
    recorder = Recorder()
    add(world, recorder)
    world.start(a_pod("a"), a_pod("b"))
    world.watch.send(modified(a_pod("a", 11)), deleted(a_pod("b", 12)), added(a_pod("c", 13)))
    assert recorder.await_calls(5) == ["initial a@1", "initial b@1", "update a@1 a@11", "deleted b@12", "add c@13"]


def test_an_inline_handler_has_no_thread_and_a_threaded_one_has_one(world: World) -> None:
    inline(world, Recorder())
    world.start()
    before = threading.active_count()
    threaded(world, Recorder())
    assert threading.active_count() == before + 1


def test_a_slow_handler_delays_only_itself(world: World) -> None:
    release = threading.Event()
    slow, quick = Recorder(lambda _: release.wait(10)), Recorder()
    threaded(world, slow)
    threaded(world, quick)
    world.start(a_pod("a"), a_pod("b"))
    quick.await_calls(2)
    slow.await_calls(1)
    readings = {r.depth for r in world.informer.readings().handlers}
    release.set()
    assert slow.await_calls(2) == ["initial a@1", "initial b@1"]
    assert readings == {0, 2}, "the second object and the end of the initial ones wait"


def test_the_queue_of_a_slow_handler_shows_depth_and_age(world: World) -> None:
    release = threading.Event()
    slow = Recorder(lambda _: release.wait(10))
    threaded(world, slow)
    world.start(a_pod("a"), a_pod("b"))
    slow.await_calls(1)
    world.clock.step(7)
    reading = world.informer.readings().handlers[0]
    release.set()
    assert (reading.name, reading.depth, reading.oldest_age_seconds) == ("pods/threaded", 2, 7)
    assert not reading.is_synced


def test_a_slow_inline_handler_is_told_of_once(logs: list[Any]) -> None:
    world = World()
    inline(world, Recorder(lambda _: world.clock.step(0.011)))
    inline(world, Recorder(lambda _: world.clock.step(0.009)))
    world.start(a_pod("a"), a_pod("b"))
    world.informer.stop()
    assert [entry["seconds"] for entry in logs if "slow and holds up" in entry["event"]] == [pytest.approx(0.011)]


def test_a_queue_beyond_bounds_is_told_of_once(logs: list[Any]) -> None:
    world = World()
    release = threading.Event()
    recorder = Recorder(lambda _: release.wait(10))
    threaded(world, recorder)
    world.start(*(a_pod(str(number)) for number in range(10_002)))
    world.send(added(a_pod("late", 11)))
    release.set()
    world.informer.stop(drain=False)
    assert len([entry for entry in logs if "too slow; its queue grows" in entry["event"]]) == 1


def test_the_log_of_a_failure_names_the_object_and_does_not_show_it(logs: list[Any]) -> None:
    world = World()

    def fail(_: str) -> None:
        raise RuntimeError("a bug")

    inline(world, Recorder(fail))
    world.start(a_pod("a", phase="a secret"))
    world.watch.send(modified(a_pod("a", 11, phase="a secret")))
    world.send(deleted(a_pod("a", 12, phase="a secret")))
    world.informer.stop()
    failures = [entry for entry in logs if entry["log_level"] == "error"]
    assert [(entry["notification"], entry["key"]) for entry in failures[:3]] == [
        ("Added", "ns/a"),
        ("Updated", "ns/a"),
        ("Deleted", "ns/a"),
    ]
    assert "a secret" not in str([{**entry, "exc_info": None} for entry in logs])


# --- resync -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("late_seconds", [0, 1])
def test_I1_each_handler_is_resynced_at_its_own_period(late_seconds: float) -> None:
    world = World(resync_check_seconds=1)
    recorders = {period: Recorder() for period in (0, 2, 3)}
    for period, recorder in recorders.items():
        inline(world, recorder, resync_seconds=period)
    world.clock.step(late_seconds)
    world.start(a_pod("a"))
    told: list[list[int]] = []
    for _ in range(4):
        for recorder in recorders.values():
            recorder.calls.clear()
        world.clock.await_waiters(1)
        world.clock.step(1)
        world.clock.await_waiters(1)
        told.append([period for period, recorder in recorders.items() if recorder.calls])
        assert {call for recorder in recorders.values() for call in recorder.calls} <= {"update a@1 a@1"}
    world.informer.stop()
    assert told == [[], [2], [3], [2]]


def test_I2_the_check_period_is_the_smallest_asked_for_before_the_start() -> None:
    world = World(resync_check_seconds=12 * 3600)
    periods, granted = [], []
    for asked in (0, 60, 55, 5):
        granted.append(inline(world, Recorder(), resync_seconds=asked).resync_seconds)
        periods.append(world.informer.resync_check_seconds)
    world.start()
    granted.append(inline(world, Recorder(), resync_seconds=2).resync_seconds)
    granted.append(inline(world, Recorder(), resync_seconds=7).resync_seconds)
    periods.append(world.informer.resync_check_seconds)
    world.informer.stop()
    assert periods == [12 * 3600, 60, 55, 5, 5]
    assert granted == [0, 60, 55, 5, 5, 7], "after the start a smaller period is raised to the check period"


def test_a_period_below_a_second_is_raised_to_one(world: World) -> None:
    assert inline(world, Recorder(), resync_seconds=0.2).resync_seconds == 1
    assert world.informer.resync_check_seconds == 1


def test_a_late_handler_cannot_ask_for_a_resync_that_nobody_checks(world: World) -> None:
    world.start()
    with pytest.raises(ValueError, match="'pods' was started without resync"):
        inline(world, Recorder(), resync_seconds=5)


def test_R29_the_resync_goes_on_whatever_happens_to_watches_and_has_one_thread() -> None:
    world = World(resync_check_seconds=1)
    recorder = Recorder()
    inline(world, recorder, resync_seconds=1)
    world.start(a_pod("a"))
    threads = threading.active_count()
    for number in range(20):
        following = world.source.open_watch()
        world.watch.send(bookmark(20 + number)).close()
        world.watch = following
        world.source.await_watches(number + 2)
        assert threading.active_count() == threads
    world.clock.await_waiters(1)
    world.clock.step(1)
    world.clock.await_waiters(1)
    world.informer.stop()
    assert recorder.calls == ["initial a@1", "update a@1 a@1"]


# --- failures ---------------------------------------------------------------------------------------------------------


def test_I4_R35_a_denied_list_reaches_the_error_handler_and_mends_itself(world: World) -> None:
    world.source.script_list(FORBIDDEN)
    world.source.script_list(a_page(a_pod("a")))
    world.informer.start()
    assert world.failed.wait(10)
    assert world.errors == [FORBIDDEN]
    assert world.informer.last_error is FORBIDDEN
    assert "no RBAC rule" in str(world.informer.waiting_for())
    world.clock.await_waiters(1)
    world.clock.step(2)
    world.source.await_watches(1)
    assert world.informer.is_synced()
    assert world.informer.last_error is None


def test_I5_what_is_set_at_construction_cannot_be_set_later(world: World) -> None:
    for name in ("resync_check_seconds", "last_error"):
        with pytest.raises(AttributeError):
            setattr(world.informer, name, None)
    with pytest.raises(AttributeError):
        PAGED.page_size = 3  # type: ignore[misc]
    assert not [name for name in dir(world.informer) if name.startswith("set_")]


@pytest.mark.parametrize("is_handler_inline", [True, False])
def test_I14_a_handler_that_raises_costs_that_item_only_and_still_syncs(
    is_handler_inline: bool,
    logs: list[Any],
) -> None:
    world = World()

    def fail(call: str) -> None:
        raise RuntimeError(f"cannot handle {call}")

    failing, healthy = Recorder(fail), Recorder()
    registration = world.informer.add_handler(failing, name="failing", enqueue_keys=is_handler_inline)
    inline(world, healthy)
    world.start(*(a_pod(name) for name in "abcde"))
    for count in range(1, 6):
        failing.await_calls(count)
        if not is_handler_inline:
            world.clock.await_waiters(1)
            assert len(failing.calls) == count, "the next one is a second later"
            world.clock.step(1)
    world.sync()
    assert registration.is_synced()
    assert len(healthy.calls) == 5
    assert {reading.name: reading.errors for reading in world.informer.readings().handlers} == {
        "pods/failing": 5,
        "pods/inline": 0,
    }
    world.informer.stop()
    assert [entry["handler"] for entry in logs if entry["log_level"] == "error"] == ["pods/failing"] * 5


def test_an_undecodable_object_is_reported_and_stops_nothing() -> None:
    reports: list[Undecodable] = []
    world = World(on_undecodable=reports.append)
    bad = Undecodable("ns", "a", "spec is missing")
    world.start(a_pod("b"))
    world.watch.send(WatchEvent("ADDED", None, "11", undecodable=bad))
    world.send(added(a_pod("c", 12)))
    assert reports == [bad]
    assert world.informer.readings().decode_errors == 1
    world.informer.stop()
    assert sorted(world.informer.store.keys()) == ["ns/b", "ns/barrier", "ns/c"]


@BOTH
def test_a_thread_that_dies_is_told(add: Any) -> None:
    told = threading.Event()
    deaths: list[BaseException] = []

    def note(death: BaseException) -> None:
        deaths.append(death)
        told.set()

    world = World(on_fatal=note)

    class Fatal(BaseException):
        pass

    def die(_: str) -> None:
        raise Fatal

    add(world, Recorder(die))
    world.source.script_list(a_page(a_pod("a")))
    world.informer.start()
    assert told.wait(10)
    world.informer.stop()
    assert [type(death) for death in deaths] == [Fatal]


# --- transform --------------------------------------------------------------------------------------------------------


def shrink(pod: Pod) -> Pod:
    if pod.phase == "bad":
        raise ValueError("cannot shrink")
    if pod.phase == "thief":
        return a_pod("other")
    return a_pod(pod.metadata.name, pod.metadata.resource_version, phase="small")


def test_I6_handlers_and_store_see_only_transformed_objects() -> None:
    seen: list[str] = []
    world = World(transform=shrink)

    class Phases(Recorder):
        def on_add(self, obj: Pod, *, is_initial: bool) -> None:
            seen.append(obj.phase)
            super().on_add(obj, is_initial=is_initial)

        def on_update(self, old: Pod, new: Pod) -> None:
            seen.extend([old.phase, new.phase])
            super().on_update(old, new)

        def on_delete(self, deleted: Any) -> None:
            seen.append(deleted.last_known.phase)
            super().on_delete(deleted)

    inline(world, Phases())
    world.start(a_pod("a", phase="large"))
    world.send(modified(a_pod("a", 11, phase="large")), deleted(a_pod("a", 12, phase="large")))
    world.informer.stop()
    assert set(seen) == {"small"}
    assert len(seen) == 5


@pytest.mark.parametrize("phase", ["bad", "thief"])
def test_an_object_that_the_transform_spoils_is_not_stored_until_its_next_event(phase: str) -> None:
    reports: list[Undecodable] = []
    world = World(transform=shrink, on_undecodable=reports.append)
    recorder = Recorder()
    inline(world, recorder)
    world.start(a_pod("a", phase=phase), a_pod("b"))
    world.watch.send(
        modified(a_pod("b", 11, phase=phase)), modified(a_pod("a", 12)), deleted(a_pod("a", 13, phase=phase))
    )
    recorder.await_calls(3)
    world.informer.stop()
    assert recorder.calls == ["initial b@1", "add a@12", "vanished a@12"]
    assert [report.name for report in reports] == ["a", "b", "a"]
    assert str(world.informer.store.get("ns/b")) == "b@1"


# --- adding and removing ----------------------------------------------------------------------------------------------


def test_I7_a_handler_added_twice_has_two_registrations(world: World) -> None:
    recorder = Recorder()
    first = inline(world, recorder)
    inline(world, recorder)
    world.start(a_pod("a"))
    world.informer.remove_handler(first)
    world.send(added(a_pod("b", 11)))
    assert recorder.calls == ["initial a@1"] * 2 + ["add b@11", "add barrier@1000001"]


def test_I8_removing_twice_or_a_foreign_one_or_on_a_stopped_informer_does_nothing(world: World) -> None:
    other = World()
    foreign_recorder = Recorder()
    foreign = inline(other, foreign_recorder)
    mine = inline(world, Recorder())
    world.start()
    world.informer.remove_handler(foreign)
    world.informer.remove_handler(mine)
    world.informer.remove_handler(mine)
    other.start(a_pod("a"))
    assert foreign_recorder.await_calls(1) == ["initial a@1"]
    other.informer.stop()
    other.informer.remove_handler(foreign)


@BOTH
def test_I9_a_removed_handler_gets_no_later_event(world: World, add: Any) -> None:
    recorder = Recorder()
    registration = add(world, recorder)
    world.start(a_pod("a"))
    recorder.await_calls(1)
    world.informer.shutdown_handler(registration)
    world.send(added(a_pod("b", 11)))
    assert recorder.calls == ["initial a@1"]


def test_I10_a_late_handler_is_synced_only_when_its_call_has_returned(world: World) -> None:
    early = Recorder()
    inline(world, early)
    world.start(a_pod("a"))
    release = threading.Event()
    late = Recorder(lambda _: release.wait(10))
    registration = threaded(world, late)
    late.await_calls(1)
    assert not registration.is_synced()
    assert "initial objects not handled by pods/threaded" in str(world.informer.waiting_for())
    world.watch.send(added(a_pod("b", 11)))
    assert early.await_calls(2) == ["initial a@1", "add b@11"]
    release.set()
    assert late.await_calls(2) == ["initial a@1", "add b@11"]
    world.sync()
    assert registration.is_synced()


def test_I10_two_threads_bring_notifications_to_an_inline_handler_and_one_calls_it(world: World) -> None:
    early, release, inside = Recorder(), threading.Event(), threading.Semaphore(1)
    overlaps: list[str] = []

    def call(what: str) -> None:
        if not inside.acquire(blocking=False):
            overlaps.append(what)
            return
        if what == "initial a@1":
            release.wait(10)
        inside.release()

    late = Recorder(call)
    inline(world, early)
    world.start(a_pod("a"))
    adding = OwnedThread("adding", lambda: inline(world, late)).start()
    late.await_calls(1)
    world.watch.send(added(a_pod("b", 11)), added(a_pod("c", 12)))
    early.await_calls(3)
    release.set()
    assert late.await_calls(3) == ["initial a@1", "add b@11", "add c@12"]
    assert adding.join(10)
    assert overlaps == []


def test_I11_a_stopped_informer_takes_no_handler() -> None:
    world = World().start()
    world.informer.stop()
    with pytest.raises(RuntimeError, match="'pods' has been stopped; it takes no handler 'inline'"):
        inline(world, Recorder())


def test_I12_handlers_come_and_go_among_events_and_a_stop() -> None:
    world = World().start(*(a_pod(str(n)) for n in range(20)))
    refusals: list[str] = []
    random = Random(12)
    world.watch.send(*(modified(a_pod(str(random.randrange(20)), version)) for version in range(11, 10_011)))

    def churn() -> None:
        try:
            for turn in range(5):
                registration = world.informer.add_handler(Recorder(), name="churn", enqueue_keys=turn % 2 == 0)
                world.informer.remove_handler(registration)
        except RuntimeError as error:
            refusals.append(str(error))

    threads = [OwnedThread(f"churn {n}", churn).start() for n in range(100)]
    left = world.informer.stop()
    assert all(thread.join(30) for thread in threads)
    assert [thread.error for thread in threads if thread.error] == []
    assert left == []
    assert all("has been stopped" in refusal for refusal in refusals)
    assert [thread for thread in world.informer._threads if not thread.join(10)] == []


def test_F9_a_stop_wakes_every_idle_handler() -> None:
    world = World().start(a_pod("a"))
    recorders = [Recorder() for _ in range(10)]
    for recorder in recorders:
        threaded(world, recorder)
    for recorder in recorders:
        recorder.await_calls(1)
    assert world.informer.stop() == []


@pytest.mark.parametrize("life", ["never started", "started and stopped", "with a late handler"])
def test_I13_no_thread_is_left(life: str) -> None:
    world = World()
    threaded(world, Recorder())
    if life != "never started":
        world.start(a_pod("a"))
    if life == "with a late handler":
        threaded(world, Recorder())
    assert world.informer.stop() == []
    assert world.informer.is_stopped()


def test_I15_shutting_down_a_handler_that_never_ran_returns_at_once() -> None:
    world = World()
    world.informer.shutdown_handler(threaded(world, Recorder()))
    assert world.informer.readings().handlers == ()


@BOTH
def test_I15_shutting_down_waits_for_the_current_call(world: World, add: Any) -> None:
    release = threading.Event()
    recorder = Recorder(lambda _: release.wait(10))
    registration = add(world, recorder)
    world.source.script_list(a_page(a_pod("a"), a_pod("b")))
    world.source.script_watch(world.watch)
    world.informer.start()
    recorder.await_calls(1)
    waiting = OwnedThread("shutdown", lambda: world.informer.shutdown_handler(registration)).start()
    await_closed(registration.delivery)
    assert waiting.is_alive()
    release.set()
    assert waiting.join(10)
    assert recorder.calls == ["initial a@1"]


@BOTH
@pytest.mark.parametrize("what", ["shutdown_handler", "stop"])
def test_I15_waiting_for_oneself_is_an_error_and_no_deadlock(world: World, add: Any, what: str) -> None:
    outcomes: list[str] = []

    def act(_: str) -> None:
        try:
            if what == "stop":
                world.informer.stop()
            else:
                world.informer.shutdown_handler(registration)
        except RuntimeError as error:
            outcomes.append(str(error))

    recorder = Recorder(act)
    registration = add(world, recorder)
    world.start(a_pod("a"))
    world.sync()
    assert len(outcomes) == 1
    assert "itself" in outcomes[0] or "own callback" in outcomes[0]


def test_I16_the_handler_is_synced_after_its_last_initial_call_and_a_relist_changes_nothing(world: World) -> None:
    synced: list[bool] = []
    recorder = Recorder(lambda _: synced.append(registration.is_synced()))
    registration = inline(world, recorder)
    world.start(a_pod("a"), a_pod("b"), a_pod("c"))
    assert synced == [False] * 3
    assert registration.is_synced()


@BOTH
def test_I17_asking_for_sync_inside_a_handler_does_not_deadlock(world: World, add: Any) -> None:
    recorder = Recorder(lambda _: asked.append((world.informer.is_synced(), world.informer.readings().is_synced)))
    asked: list[tuple[bool, bool]] = []
    add(world, recorder)
    world.start(a_pod("a"))
    recorder.await_calls(1)
    world.sync()
    assert asked == [(False, False)]


def test_I18_a_stopped_informer_does_not_run_again() -> None:
    world = World()
    assert not world.informer.is_stopped()
    world.start()
    assert not world.informer.is_stopped()
    with pytest.raises(RuntimeError, match="has been started already"):
        world.informer.start()
    world.informer.stop()
    assert world.informer.is_stopped()
    with pytest.raises(RuntimeError, match="has been stopped already"):
        world.informer.start()
    assert world.informer.stop() == [], "stopping again is no error"


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drain", [True, False])
def test_the_handlers_outlive_the_reflector_and_are_drained_or_dropped(drain: bool) -> None:
    world = World()
    release = threading.Event()
    recorder = Recorder(lambda _: release.wait(10))
    threaded(world, recorder)
    world.start(a_pod("a"), a_pod("b"), a_pod("c"))
    recorder.await_calls(1)

    def close() -> None:
        world.informer.stop(drain=drain)

    closer = OwnedThread("closer", close).start()
    await_closed(world.informer._cache.registrations[0].delivery)
    release.set()
    assert closer.join(10)
    assert recorder.calls == ["initial a@1", "initial b@1", "initial c@1"][: 3 if drain else 1]


def test_the_owners_token_ends_the_reflector() -> None:
    world = World().start()
    world.stop.set("the process ends")
    assert world.informer._threads[0].join(10)
    assert world.informer.stop() == []


def test_a_handler_that_never_returns_is_named() -> None:
    world = World()
    release = threading.Event()
    recorder = Recorder(lambda _: release.wait(10))
    threaded(world, recorder)
    world.start(a_pod("a"))
    recorder.await_calls(1)
    assert world.informer.stop(timeout_seconds=0.01) == ["handler pods/threaded"]
    assert not world.informer.is_stopped()
    release.set()
    assert world.informer.stop() == []


def test_readings_tell_store_events_and_their_age(world: World) -> None:
    assert world.informer.readings().last_event_age_seconds is None
    world.start(a_pod("a"))
    world.send(modified(a_pod("a", 11)))
    world.clock.step(42)
    readings = world.informer.readings()
    assert (readings.name, readings.store_objects, readings.is_synced) == ("pods", 2, True)
    assert readings.last_event_age_seconds == 42
    assert readings.lists == {"ok": 1}


def test_the_reading_of_a_failing_index_is_shown() -> None:
    def fail(_: Pod) -> list[str]:
        raise RuntimeError("a bug")

    world = World(indexers={"bad": fail}).start(a_pod("a"))
    world.informer.stop()
    assert world.informer.readings().index_errors == 1
