"""From the reflector to the store and the handlers: what client-go has a delta queue for (informers.md 1.3)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from clockwork import FakeClock, OwnedThread
from informers.cache import Cache
from informers.handlers import InlineDelivery
from informers.initial_list import Listed
from informers.list_watch import Undecodable, WatchEvent
from informers.metrics import InformerMetrics
from informers.registration import Registration
from informers.store import Store
from test.builders.informers import Pod, Recorder, a_pod, added, bookmark, deleted, modified


class World:
    """A cache with one recording handler, called inline."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store: Store[Pod] = Store()
        self.filled: list[int] = []
        self.bad: list[Undecodable] = []
        self.metrics = InformerMetrics()
        self.cache: Cache[Pod] = Cache(
            self.store,
            name="pods",
            metrics=self.metrics,
            on_filled=lambda: self.filled.append(len(self.store)),
            on_undecodable=self.bad.append,
        )
        self.recorder = Recorder(self.check)
        self.contents: list[list[str]] = []
        self.registration = self.attach(self.recorder)

    def check(self, _: str) -> None:
        self.contents.append(sorted(map(str, self.store.list())))

    def attach(self, handler: Recorder, *, resync_seconds: float = 0) -> Registration[Pod]:
        delivery = InlineDelivery("recorder", handler, clock=self.clock, on_synced=lambda: None)
        registration = Registration(delivery, resync_seconds=resync_seconds, now=self.clock.monotonic())
        self.cache.attach(registration)
        delivery.flush()
        return registration

    def listed(self, *pods: Pod, version: int = 10, bad: tuple[Undecodable, ...] = ()) -> None:
        self.cache.replace(Listed(pods, str(version), bad))

    def told(self) -> list[str]:
        """Return what was told since the last question."""
        calls = list(self.recorder.calls)
        self.recorder.calls.clear()
        return calls


def bad(event_type: Any, name: str = "a", *, uid: str = "", version: int = 20) -> WatchEvent[Pod]:
    return WatchEvent(
        event_type, None, str(version), undecodable=Undecodable("ns", name, "no phase", uid, str(version))
    )


def test_F1_events_are_told_in_the_order_of_arrival_across_keys() -> None:
    world = World()
    world.listed()
    for name, version in (("foo", 10), ("bar", 1), ("foo", 11), ("foo", 13), ("zab", 30), ("foo", 14)):
        world.cache.apply(added(a_pod(name, version)))
    assert world.told() == [
        "add foo@10",
        "add bar@1",
        "update foo@10 foo@11",
        "update foo@11 foo@13",
        "add zab@30",
        "update foo@13 foo@14",
    ]


def test_F2_a_delete_followed_by_a_list_that_has_the_object_tells_both() -> None:
    world = World()
    world.listed(a_pod("foo", 1))
    world.told()
    world.cache.apply(deleted(a_pod("foo", 2)))
    world.listed(a_pod("foo", 3), version=4)
    assert world.told() == ["deleted foo@2", "add foo@3"]


def test_F4_a_handler_is_synced_only_after_the_last_initial_notification() -> None:
    world = World()
    synced: list[bool] = []
    recorder = Recorder(lambda _: synced.append(registration.is_synced()))
    registration = world.attach(recorder)
    world.listed(a_pod("foo"), a_pod("bar"), a_pod("baz"))
    assert recorder.calls == ["initial foo@1", "initial bar@1", "initial baz@1"]
    assert synced == [False, False, False]
    assert registration.is_synced()


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param((), [], id="F6 an empty list syncs at once"),
        pytest.param((a_pod("a"),), ["initial a@1"], id="F6 one object"),
        pytest.param((a_pod("a"), a_pod("a", 2)), ["initial a@2"], id="F6 a repeated key counts once, the last wins"),
    ],
)
def test_synced(pods: tuple[Pod, ...], expected: list[str]) -> None:
    world = World()
    assert not world.registration.is_synced()
    assert not world.cache.is_filled
    world.listed(*pods)
    assert world.told() == expected
    assert world.registration.is_synced()
    assert world.filled == [len(expected)]


def test_F8_a_resync_of_nothing_tells_nothing() -> None:
    world = World()
    world.attach(recorder := Recorder(), resync_seconds=1)
    world.listed()
    world.clock.step(1)
    world.cache.resync(world.clock.monotonic())
    assert recorder.calls == []


def test_F9_closing_a_handler_wakes_nobody_too_many_and_ends_its_calls() -> None:
    world = World()
    world.listed()
    world.registration.delivery.close(drain=False)
    world.cache.apply(added(a_pod("a")))
    assert world.told() == []


def test_F10_every_event_is_applied_by_itself_and_none_is_merged() -> None:
    world = World()
    world.listed(a_pod("a"), a_pod("b"))
    for pod in (a_pod("c", 11), a_pod("d", 12), a_pod("a", 13), a_pod("a", 14)):
        world.cache.apply(modified(pod))
    assert world.told() == [
        "initial a@1",
        "initial b@1",
        "add c@11",
        "add d@12",
        "update a@1 a@13",
        "update a@13 a@14",
    ]


def test_F11_F15_objects_without_a_key_are_counted_and_do_not_stop_the_others(logs: list[dict[str, str]]) -> None:
    world = World()
    world.listed(a_pod("a"), a_pod(""), a_pod("b"))
    world.cache.apply(added(a_pod("", 11)))
    world.cache.apply(added(a_pod("c", 12)))
    assert world.told() == ["initial a@1", "initial b@1", "add c@12"]
    assert decode_errors(world) == 2
    assert [entry["event"] for entry in logs] == [
        "skipping an object that has no key",
        "skipping an event whose object has no key",
    ]


def decode_errors(world: World) -> int:
    return world.metrics.read("", now=0, store_objects=0, index_errors=0, is_synced=False, handlers=()).decode_errors


def test_F12_a_bookmark_moves_the_stores_version_and_a_list_sets_it() -> None:
    world = World()
    world.listed()
    versions = []
    steps: list[Callable[[], None]] = [
        lambda: world.cache.apply(bookmark(123)),
        lambda: world.listed(version=130),
        lambda: world.listed(version=120),
        lambda: world.cache.apply(bookmark(125)),
    ]
    for step in steps:
        step()
        versions.append(world.store.last_resource_version)
    assert versions == ["123", "130", "120", "125"]
    assert world.told() == []


def test_F13_at_each_notification_the_store_holds_the_new_state() -> None:
    world = World()
    world.listed(a_pod("pod-1"), a_pod("pod-2"), a_pod("pod-3"))
    world.told()
    world.contents.clear()
    world.listed(a_pod("pod-1", 11), a_pod("pod-2", 12), a_pod("pod-4", 13), version=14)
    assert world.told() == ["vanished pod-3@1", "update pod-1@1 pod-1@11", "update pod-2@1 pod-2@12", "add pod-4@13"]
    assert world.contents == [["pod-1@11", "pod-2@12", "pod-4@13"]] * 4


def test_F13_the_store_comes_first_for_single_events_too() -> None:
    world = World()
    world.listed()
    for event in (added(a_pod("a", 11)), modified(a_pod("a", 12)), deleted(a_pod("a", 13))):
        world.cache.apply(event)
    assert world.told() == ["add a@11", "update a@11 a@12", "deleted a@13"]
    assert world.contents == [["a@11"], ["a@12"], []]


def test_F14_what_a_later_list_brings_is_not_initial() -> None:
    world = World()
    world.listed(a_pod("pod-1"))
    world.told()
    world.listed(a_pod("pod-1", 12), a_pod("pod-2", 13), version=14)
    assert world.told() == ["update pod-1@1 pod-1@12", "add pod-2@13"]


def test_unchanged_objects_of_a_list_are_told_only_to_handlers_that_are_due_for_a_resync() -> None:
    world = World()
    world.attach(eager := Recorder(), resync_seconds=5)
    world.listed(a_pod("a"), a_pod("b"))
    world.told()
    eager.calls.clear()
    world.listed(a_pod("a"), a_pod("b", 11), version=14)
    assert world.told() == ["update b@1 b@11"]
    assert eager.calls == ["update a@1 a@1", "update b@1 b@11"]


def test_a_resync_never_tells_an_older_state_after_a_newer_one() -> None:
    world = World()
    world.attach(recorder := Recorder(), resync_seconds=1)
    world.listed(a_pod("a"))
    world.cache.apply(modified(a_pod("a", 11)))
    world.clock.step(1)
    world.cache.resync(world.clock.monotonic())
    world.cache.apply(modified(a_pod("a", 12)))
    assert recorder.calls == ["initial a@1", "update a@1 a@11", "update a@11 a@11", "update a@11 a@12"]


def test_a_new_uid_is_a_delete_and_an_add() -> None:
    world = World()
    world.listed(a_pod("a", 1, uid="first"))
    world.told()
    world.cache.apply(modified(a_pod("a", 15, uid="second")))
    assert world.told() == ["vanished a@1", "add a@15"]


def test_a_deletion_of_something_unknown_is_not_told_but_seen() -> None:
    world = World()
    world.listed()
    world.cache.apply(deleted(a_pod("a", 15)))
    assert world.told() == []
    assert world.store.last_resource_version == "15"


# --- objects that do not decode -------------------------------------------------------------------------------------


def test_an_undecodable_change_keeps_the_last_good_version_and_is_reported() -> None:
    world = World()
    world.listed(a_pod("a"))
    world.told()
    world.cache.apply(bad("MODIFIED"))
    assert world.told() == []
    assert world.store.get("ns/a") == a_pod("a")
    assert world.store.last_resource_version == "20"
    assert [undecodable.error for undecodable in world.bad] == ["no phase"]
    assert decode_errors(world) == 1


def test_an_undecodable_deletion_still_deletes() -> None:
    world = World()
    world.listed(a_pod("a"))
    world.told()
    world.cache.apply(bad("DELETED"))
    assert world.told() == ["vanished a@1"]
    assert len(world.store) == 0


def test_an_undecodable_object_of_another_uid_proves_that_the_old_one_is_gone() -> None:
    world = World()
    world.listed(a_pod("a"))
    world.told()
    world.cache.apply(bad("MODIFIED", uid="another"))
    assert world.told() == ["vanished a@1"]
    assert len(world.store) == 0


def test_an_undecodable_object_in_a_list_keeps_its_last_good_version() -> None:
    world = World()
    world.listed(a_pod("a"), a_pod("b"), a_pod("c"))
    world.told()
    world.listed(
        version=20,
        bad=(Undecodable("ns", "a", "no"), Undecodable("ns", "b", "no", uid="other"), Undecodable("", "", "no")),
    )
    assert world.told() == ["vanished b@1", "vanished c@1"]
    assert world.store.keys() == ["ns/a"]
    assert len(world.bad) == 3


def test_an_undecodable_object_without_a_name_is_reported_and_no_more() -> None:
    world = World()
    world.listed(a_pod("a"))
    world.cache.apply(WatchEvent("MODIFIED", None, "20", undecodable=Undecodable("", "", "not even a name")))
    assert len(world.bad) == 1
    assert world.store.keys() == ["ns/a"]


def test_a_failing_report_stops_nothing() -> None:
    world = World()
    world.listed()

    def fail(_: Undecodable) -> None:
        raise RuntimeError("a bug")

    world.cache._on_undecodable = fail
    world.cache.apply(bad("ADDED"))
    world.cache.apply(added(a_pod("b", 21)))
    assert world.told() == ["add b@21"]


# --- handlers that come late ------------------------------------------------------------------------------------------


def test_I10_a_late_handler_is_told_what_is_there_as_initial_and_then_what_follows() -> None:
    world = World()
    world.listed(a_pod("a"), a_pod("b"))
    late = Recorder()
    registration = world.attach(late)
    world.cache.apply(added(a_pod("c", 11)))
    assert late.calls == ["initial a@1", "initial b@1", "add c@11"]
    assert registration.is_synced()


def test_I9_I7_a_removed_handler_is_told_nothing_and_its_twin_everything() -> None:
    world = World()
    world.listed()
    twin = world.attach(world.recorder)
    assert world.cache.detach(twin)
    assert not world.cache.detach(twin)
    world.cache.apply(added(a_pod("a", 11)))
    assert world.told() == ["add a@11"]


def test_handlers_may_be_added_and_removed_inside_a_call() -> None:
    world = World()
    inner = Recorder()

    def swap(_: str) -> None:
        if not inner.calls:
            world.attach(inner)
            world.cache.detach(world.registration)

    world.recorder._on_call = swap
    world.listed(a_pod("a"))
    world.cache.apply(added(a_pod("b", 11)))
    assert world.recorder.calls == ["initial a@1"]
    assert inner.calls == ["initial a@1", "add b@11"]


def test_F17_whatever_several_writers_do_the_handlers_view_ends_as_the_store() -> None:
    world = World()
    world.listed()

    def hammer(seed: int) -> None:
        random = Random(seed)
        for version in range(300):
            pod = a_pod(random.choice("abcdef"), 1000 * version + seed)
            world.cache.apply(random.choice([added, modified, deleted])(pod))

    threads = [OwnedThread(f"hammer {seed}", partial(hammer, seed)).start() for seed in range(3)]
    assert all(thread.join(10) for thread in threads)
    assert [thread.error for thread in threads] == [None] * 3
    view: dict[str, str] = {}
    for call in world.recorder.calls:
        kind, *states = call.split()
        name = states[-1].split("@")[0]
        if kind == "add":
            assert name not in view
            view[name] = states[0]
        elif kind == "update":
            assert view[name] == states[0]
            view[name] = states[1]
        else:
            del view[name]
    assert len(world.recorder.calls) > 300
    assert sorted(view.values()) == sorted(map(str, world.store.list()))
