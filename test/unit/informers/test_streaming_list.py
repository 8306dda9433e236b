from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from clockwork import FakeClock, StopToken
from informers.consistency import InconsistentListError, consistency_check_from_environment
from informers.errors import (
    ApiError,
    ConnectionLost,
    DecodeError,
    Expired,
    Forbidden,
    IdleTimeout,
    InternalError,
    Invalid,
    ServerError,
    TooLargeResourceVersion,
    TooManyRequests,
)
from informers.informer import Informer
from informers.list_watch import Undecodable, WatchEvent
from informers.reflector import ReflectorOptions
from informers.streaming_list import QUIET_SECONDS, BookmarkWatchdog
from informers.testing import FakeListWatch
from test.builders.informers import (
    AutoClock,
    Pod,
    Recorder,
    ScriptedSource,
    ScriptedStream,
    Step,
    a_page,
    a_pod,
    added,
    bookmark,
    deleted,
    modified,
)

EXPIRED = Expired("too old resource version", code=410)
THROTTLED = TooManyRequests("slow down", code=429)
INVALID = Invalid("sendInitialEvents is forbidden for watch", code=422)
DONE = bookmark(2, completes=True)


class Run:
    """An informer whose reflector runs in this thread over a script, with streaming lists on."""

    def __init__(self, transform: Any = None, **options: Any) -> None:
        self.clock = AutoClock()
        self.stop = StopToken(clock=self.clock)
        self.source = ScriptedSource(self.stop)
        self.errors: list[Exception] = []
        self.snapshots: list[list[str]] = []
        self.informer: Informer[Pod] = Informer(
            self.source,
            clock=self.clock,
            random=Random(4),
            stop_token=self.stop,
            options=ReflectorOptions(**{"initial_read": "any", "consistency_check": "off", **options}),
            transform=transform,
            on_error=self.errors.append,
        )

    def watches(self, *answers: tuple[Step, ...] | ApiError) -> Run:
        self.source.watches.extend(answers)
        return self

    def go(self) -> Run:
        self.informer._reflector.run(self.stop)
        return self

    def look(self) -> None:
        self.snapshots.append([str(pod) for pod in self.informer.store.list()])

    @property
    def content(self) -> list[str]:
        return [str(pod) for pod in self.informer.store.list()]

    @property
    def streamed(self) -> list[bool]:
        return [options.send_initial_events for options in self.source.asked_watches]


def p(number: int, version: int | None = None) -> Pod:
    return a_pod(f"p{number}", version or number)


def test_W1_without_a_bookmark_nothing_is_synced_nor_visible() -> None:
    run = Run()
    run.watches((added(p(1)), run.look, lambda: run.stop.set("enough"))).go()
    assert run.snapshots == [[]]
    assert not run.informer.is_listed()
    assert [(o.resource_version, o.send_initial_events) for o in run.source.asked_watches] == [("", True)]


def test_W2_any_other_bookmark_does_not_count() -> None:
    run = Run()
    run.watches((added(p(1)), added(p(2)), bookmark(2), run.look, lambda: run.stop.set("enough"))).go()
    assert run.snapshots == [[]]
    assert not run.informer.is_listed()


def test_W3_the_bookmark_that_says_so_completes_the_list() -> None:
    run = Run()
    versions: list[str] = []
    run.watches((added(p(1)), added(p(2)), DONE, run.look, bookmark(3)))
    run.watches((lambda: versions.append(run.informer.store.last_resource_version),)).go()
    assert run.content == ["p1@1", "p2@2"]
    assert run.source.watch_versions == ["", "3"]


def test_W3_the_same_stream_goes_on_as_the_watch() -> None:
    run = Run().watches((added(p(1)), DONE, added(p(3)))).go()
    assert run.content == ["p1@1", "p3@3"]
    assert len(run.source.asked_watches) == 1
    assert run.source.asked_lists == []


def test_W4_all_kinds_of_events_apply_to_the_initial_set() -> None:
    changed = a_pod("p1", 3)
    run = Run().watches(
        (added(p(1)), added(p(2)), modified(changed), added(p(4)), deleted(a_pod("p4", 5)), bookmark(6, completes=True))
    )
    run.go()
    assert sorted(run.content) == ["p1@3", "p2@2"]


def test_W5_a_stream_that_ends_early_is_begun_again_and_leaves_nothing_visible() -> None:
    run = Run()
    run.watches((added(p(1)), run.look), (run.look, added(p(2)), DONE)).go()
    assert run.snapshots == [[], []]
    assert run.content == ["p2@2"]
    assert [(o.resource_version, o.send_initial_events) for o in run.source.asked_watches] == [("", True), ("", True)]
    assert run.clock.waits == []


def test_W6_after_a_complete_list_the_stream_is_resumed_as_a_plain_watch() -> None:
    run = Run().watches((added(p(1)), added(p(2)), DONE, added(p(3))), (added(p(4)),)).go()
    assert run.streamed == [True, False]
    assert run.source.watch_versions == ["", "3"]
    assert run.content == ["p1@1", "p2@2", "p3@3", "p4@4"]


def test_W7_an_expired_reconnect_keeps_the_store_until_the_next_list() -> None:
    run = Run()
    run.watches((added(p(1)), DONE, added(p(3))), EXPIRED, (run.look, added(p(5)), bookmark(5, completes=True))).go()
    assert run.snapshots == [["p1@1", "p3@3"]]
    assert run.content == ["p5@5"]
    assert [(o.resource_version, o.send_initial_events) for o in run.source.asked_watches] == [
        ("", True),
        ("3", False),
        ("3", True),
    ]


def test_W8_throttling_repeats_the_same_request() -> None:
    run = Run().watches(THROTTLED, THROTTLED, (added(p(1)), DONE)).go()
    assert [(o.resource_version, o.send_initial_events) for o in run.source.asked_watches] == [("", True)] * 3
    assert len(run.clock.waits) == 2
    assert run.content == ["p1@1"]


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(INVALID, id="W9 refused on connecting"),
        pytest.param((InternalError("RequestWatchProgress is disabled", code=500),), id="W9 refused in the stream"),
        pytest.param(ServerError("no", code=503), id="W9 any other error"),
    ],
)
def test_fall_back_to_list_and_watch(failure: Any, logs: list[Any]) -> None:
    run = Run().watches(failure, (added(p(2)), EXPIRED), (added(p(3)),))
    run.source.lists.extend([a_page(p(1), version=1), a_page(p(1), p(2), version=2)])
    run.go()
    assert (run.source.asked_lists[0].resource_version, run.source.asked_lists[0].limit) == ("0", 500)
    assert run.streamed == [True, False, False], "and never again"
    assert run.source.watch_versions == ["", "1", "2"]
    assert run.informer.readings().streaming_fallbacks == 1
    assert len([entry for entry in logs if "cannot stream" in entry["event"]]) == 1


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(Forbidden("no", code=403), id="a missing permission"),
        pytest.param((DecodeError("not json"),), id="a bad line"),
    ],
)
def test_what_says_nothing_about_streaming_does_not_turn_it_off(failure: Any) -> None:
    run = Run().watches(failure, (added(p(2)), EXPIRED), (DONE,))
    run.source.lists.append(a_page(p(1), version=1))
    run.go()
    assert run.streamed == [True, False, True]


def test_W11_with_streaming_off_there_is_only_list_and_watch() -> None:
    run = Run(uses_streaming_list=False).watches((added(p(2)),))
    run.source.lists.append(a_page(p(1), version=1))
    run.go()
    assert run.streamed == [False]
    assert run.content == ["p1@1", "p2@2"]


def test_W13_a_transform_sees_each_object_once() -> None:
    seen: list[str] = []

    def transform(pod: Pod) -> Pod:
        seen.append(str(pod))
        return pod

    Run(transform).watches((added(p(1)), added(p(2)), DONE, modified(a_pod("p1", 3)))).go()
    assert seen == ["p1@1", "p2@2", "p1@3"]


def test_W14_without_a_bookmark_no_version_is_published() -> None:
    run = Run()
    run.watches((added(p(1)), added(p(2)), lambda: run.stop.set("enough"))).go()
    assert run.informer._reflector.resource_version == ""
    assert run.informer.store.last_resource_version == ""


def test_two_streams_cut_short_are_enough() -> None:
    run = Run().watches((added(p(1)),), (IdleTimeout("silence"),), (added(p(2)),))
    run.source.lists.append(a_page(p(1), version=1))
    run.go()
    assert run.streamed == [True, True, False]
    assert run.content == ["p1@1", "p2@2"]


def test_a_success_forgives_earlier_streams() -> None:
    run = Run().watches((), (DONE, EXPIRED), (), (bookmark(9, completes=True),)).go()
    assert run.streamed == [True] * 4


@pytest.mark.parametrize("error", [EXPIRED, TooLargeResourceVersion("Too large resource version")])
def test_an_unavailable_version_is_dropped_once_at_once(error: ApiError) -> None:
    run = Run().watches((DONE, EXPIRED), error, (added(p(5)), bookmark(9, completes=True), EXPIRED), ()).go()
    assert [(o.resource_version, o.send_initial_events) for o in run.source.asked_watches] == [
        ("", True),
        ("2", True),
        ("", True),
        ("9", True),
    ]
    assert len(run.clock.waits) == 2, "one for each expired watch"


def test_expired_without_a_version_is_an_error() -> None:
    run = Run().watches(EXPIRED, (DONE,)).go()
    assert run.errors == [EXPIRED]
    assert len(run.clock.waits) == 1


def test_a_proxy_that_breaks_every_stream_before_its_bookmark_does_not_keep_the_informer_from_its_list() -> None:
    broken = (added(p(1)), ConnectionLost("reset"))
    run = Run().watches(broken, broken, (added(p(2)), EXPIRED), (DONE,))
    run.source.lists.append(a_page(p(1), version=1))
    run.go()
    assert run.streamed == [True, True, False, True], "listed once in between; breaking is no sign of missing support"
    assert run.informer.is_listed()


def test_undecodable_objects_of_a_stream_keep_their_last_good_version() -> None:
    bad = WatchEvent[Pod]("ADDED", None, "7", undecodable=Undecodable("ns", "p1", "no", uid="uid-p1"))
    run = Run().watches((added(p(1)), DONE, EXPIRED), (bad, added(p(8)), bookmark(8, completes=True))).go()
    assert sorted(run.content) == ["p1@1", "p8@8"]


def test_an_object_without_a_name_is_skipped() -> None:
    run = Run().watches((added(a_pod("", 1)), added(p(2)), DONE)).go()
    assert run.content == ["p2@2"]


# --- the watchdog, with a thread of its own --------------------------------------------------------------------------


@contextmanager
def a_waiting_reflector() -> Iterator[tuple[FakeClock, FakeListWatch[Pod], Informer[Pod]]]:
    clock = FakeClock()
    stop = StopToken(clock=clock)
    source: FakeListWatch[Pod] = FakeListWatch()
    informer: Informer[Pod] = Informer(source, clock=clock, random=Random(4), stop_token=stop)
    informer.start()
    try:
        yield clock, source, informer
    finally:
        assert informer.stop() == []
        assert informer.is_stopped()


def test_W10_a_missing_bookmark_is_told_with_the_wait_and_the_last_event(logs: list[Any]) -> None:
    with a_waiting_reflector() as (clock, source, _):
        source.open_watch()
        clock.await_waiters(1)
        clock.step(QUIET_SECONDS)
        clock.await_waiters(1)
    warnings = [entry for entry in logs if "still waiting" in entry["event"]]
    assert [(entry["waited_seconds"], entry["last_event"]) for entry in warnings] == [(10, "none so far")]


def test_W10_after_an_event_the_warning_tells_its_age(logs: list[Any]) -> None:
    clock = AutoClock()
    run_stop = StopToken(clock=clock)
    with BookmarkWatchdog(ScriptedStream(()), name="pods", clock=clock, stop=run_stop) as watchdog:
        clock.await_waiters(1)
        clock.step(4)
        watchdog.note_event()
        clock.step(6)
        clock.await_waiters(1)
    warnings = [entry for entry in logs if "still waiting" in entry["event"]]
    assert [(entry["waited_seconds"], entry["last_event"]) for entry in warnings] == [(10, "6 s ago")]


def test_a_bookmark_that_never_comes_is_given_up_after_a_minute_for_good() -> None:
    with a_waiting_reflector() as (clock, source, informer):
        source.script_list(a_page(p(1), version=1))
        stream = source.open_watch()
        for _ in range(6):
            clock.await_waiters(1)
            assert source.lists == ()
            clock.step(QUIET_SECONDS)
        source.await_watches(2)
        assert stream.stops >= 1
        assert len(source.lists) == 1
        assert [options.send_initial_events for options in source.watches] == [True, False]
        assert informer.readings().streaming_fallbacks == 1


def test_a_stream_that_keeps_bringing_objects_is_not_given_up() -> None:
    clock = FakeClock()
    stop = StopToken(clock=clock)
    with BookmarkWatchdog(ScriptedStream(()), name="pods", clock=clock, stop=stop) as watchdog:
        for _ in range(20):
            clock.await_waiters(1)
            watchdog.note_event()
            clock.step(5)
            watchdog.note_event()
            clock.step(5)
        clock.await_waiters(1)
        assert not watchdog.has_given_up


def test_a_stop_ends_the_wait_for_the_bookmark() -> None:
    with a_waiting_reflector() as (clock, source, _):
        source.open_watch().send(added(p(1)))
        clock.await_waiters(1)


# --- the self-check ---------------------------------------------------------------------------------------------------


def a_checked_run(mode: str, *listed: Pod) -> Run:
    run = Run(consistency_check=mode).watches((added(p(1)), added(p(2)), DONE))
    run.source.lists.append(a_page(*listed, version=2))
    return run


def test_a_consistent_streaming_list_passes_the_check_at_exactly_its_version() -> None:
    run = a_checked_run("raise", p(2), p(1)).go()
    options = run.source.asked_lists[0]
    assert (options.resource_version, options.resource_version_match) == ("2", "Exact")
    assert run.informer.readings().inconsistencies == 0


def test_an_inconsistent_one_raises_in_tests() -> None:
    with pytest.raises(InconsistentListError, match="p2"):
        a_checked_run("raise", p(1)).go()


def test_an_inconsistent_one_is_counted_in_production() -> None:
    run = a_checked_run("count", p(1), p(2, 1)).go()
    assert run.informer.readings().inconsistencies == 1
    assert run.content == ["p1@1", "p2@2"]


def test_a_check_that_is_not_possible_harms_nothing() -> None:
    run = Run(consistency_check="raise").watches((added(p(1)), DONE, added(p(3))))
    run.source.lists.append(EXPIRED)
    run.go()
    assert run.content == ["p1@1", "p3@3"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({}, "off"), ({"INFORMERS_CONSISTENCY_CHECK": "raise"}, "raise"), ({"INFORMERS_CONSISTENCY_CHECK": ""}, "off")],
)
def test_the_switch(environment: dict[str, str], expected: str) -> None:
    assert consistency_check_from_environment(environment) == expected


def test_a_wrong_switch_is_refused() -> None:
    with pytest.raises(ValueError, match="INFORMERS_CONSISTENCY_CHECK is 'yes'; expected one of off, count, raise"):
        consistency_check_from_environment({"INFORMERS_CONSISTENCY_CHECK": "yes"})


def test_events_before_the_bookmark_are_initial_and_later_ones_are_not() -> None:
    run = Run()
    recorder = Recorder()
    run.informer.add_handler(recorder, name="recorder", enqueue_keys=True)
    run.watches((added(p(1)), DONE, added(p(3)))).go()
    assert recorder.calls == ["initial p1@1", "add p3@3"]


def test_a_stop_between_two_attempts_asks_for_nothing_more() -> None:
    run = Run().watches((lambda: run.stop.set("enough"),), (DONE,))
    run.source.lists.append(a_page(p(1), version=1))
    run.go()
    assert run.streamed == [True]
    assert run.source.asked_lists == []


def test_a_list_that_is_complete_only_after_the_stop_is_not_taken() -> None:
    run = Run()
    run.watches((added(p(1)), lambda: run.stop.set("enough"), DONE, added(p(3)))).go()
    assert run.content == []
