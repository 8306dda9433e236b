from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from clockwork import StopToken
from informers.backoff import BackoffOptions
from informers.errors import (
    ApiError,
    ConnectionLost,
    ConnectionRefused,
    DecodeError,
    Expired,
    Forbidden,
    IdleTimeout,
    InternalError,
    ServerError,
    Status,
    StatusCause,
    StatusDetails,
    TooLargeResourceVersion,
    TooManyRequests,
    from_status,
)
from informers.initial_list import Listed
from informers.list_watch import Page, WatchEvent
from informers.metrics import InformerMetrics
from informers.reflector import Reflector, ReflectorOptions
from informers.watch_end import ShortWatch
from test.builders.informers import (
    AutoClock,
    FixedRandom,
    Pod,
    ScriptedSource,
    Step,
    a_page,
    a_pod,
    added,
    bookmark,
    deleted,
    modified,
)

EXPIRED = Expired("too old resource version", code=410)
TOO_LARGE = TooLargeResourceVersion("Too large resource version: 20, current: 10", code=504)
INTERNAL = InternalError("etcd is having a bad time", code=500)
THROTTLED = TooManyRequests("slow down", code=429)
REFUSED = ConnectionRefused("connection refused")
LOST = ConnectionLost("connection reset by peer")


class Sink:
    """What the reflector brought, in order."""

    def __init__(self) -> None:
        self.brought: list[str] = []
        self.items: list[list[str]] = []
        self.fails_on = ""
        self.on_event: Callable[[], None] = lambda: None

    def replace(self, listed: Listed[Pod]) -> None:
        self.items.append([pod.metadata.name for pod in listed.items])
        self.brought.append(f"replace {','.join(map(str, listed.items))} at {listed.resource_version}")

    def apply(self, event: WatchEvent[Pod]) -> None:
        self.brought.append(f"{event.type} {event.object or ''}".strip() + f" at {event.resource_version}")
        self.on_event()
        if self.fails_on and event.object and event.object.metadata.name == self.fails_on:
            raise RuntimeError("a bug in the sink")


class Run:
    """A reflector over a script, run in this thread until the script ends."""

    def __init__(self, **options: object) -> None:
        self.clock = AutoClock()
        self.stop = StopToken(clock=self.clock)
        self.source = ScriptedSource(self.stop)
        self.sink = Sink()
        self.errors: list[Exception] = []
        self.metrics = InformerMetrics()
        defaults = {"initial_read": "any", "uses_streaming_list": False, "consistency_check": "off"}
        self.reflector: Reflector[Pod] = Reflector(
            self.source,
            self.sink,
            options=ReflectorOptions(**{**defaults, **options}),  # type: ignore[arg-type]
            clock=self.clock,
            random=Random(4),
            metrics=self.metrics,
            on_error=self.errors.append,
        )

    def lists(self, *answers: Page[Pod] | ApiError | Callable[[], Page[Pod]]) -> Run:
        self.source.lists.extend(answers)
        return self

    def watches(self, *answers: tuple[Step, ...] | ApiError) -> Run:
        self.source.watches.extend(answers)
        return self

    def go(self) -> Run:
        self.reflector.run(self.stop)
        return self

    def watch_ends(self) -> dict[str, int]:
        readings = self.metrics.read("", now=0, store_objects=0, index_errors=0, is_synced=False, handlers=())
        return dict(readings.watches)


def pods(*names: str) -> tuple[Pod, ...]:
    return tuple(a_pod(name) for name in names)


# --- which version a list carries -----------------------------------------------------------------------------------


def test_R1_the_first_list_is_at_0_in_pages_and_the_watch_follows_from_the_lists_version() -> None:
    run = Run().lists(a_page(version=10)).watches((added(a_pod("a", 11)),)).go()
    first = run.source.asked_lists[0]
    assert (first.resource_version, first.limit) == ("0", 500)
    watch = run.source.asked_watches[0]
    assert watch.resource_version == "10"
    assert 300 <= watch.timeout_seconds <= 600
    assert not watch.send_initial_events


def test_the_default_first_list_is_consistent() -> None:
    run = Run(initial_read="consistent").lists(a_page(version=10)).go()
    assert (run.source.asked_lists[0].resource_version, run.source.asked_lists[0].limit) == ("", 500)
    assert ReflectorOptions().initial_read == "consistent"


def test_R2_a_relist_is_not_older_than_what_was_seen() -> None:
    run = Run().lists(a_page(*pods("a", "b", "c", "d")), a_page(*pods(*"abcdefgh"), version=11)).watches(()).go()
    assert run.source.list_versions == ["0", "10"]
    assert run.sink.items == [list("abcd"), list("abcdefgh")]


def test_R3_an_expired_relist_is_retried_at_once_at_the_most_recent_version_and_only_then() -> None:
    run = Run().lists(a_page(version=10), EXPIRED, a_page(version=10), a_page(version=11)).watches((), ()).go()
    assert run.source.list_versions == ["0", "10", "", "10"]
    assert run.errors == [e for e in run.errors if isinstance(e, ShortWatch)]
    assert len(run.clock.waits) == 2, "one backoff between rounds, none before the retry"


def test_R4_an_exact_version_that_expired_in_older_wording() -> None:
    older = from_status(Status(code=410, reason="Gone", message="The resourceVersion for the provided list is too old"))
    run = Run().lists(a_page(version=10), older, a_page(version=11)).watches(()).go()
    assert run.source.list_versions == ["0", "10", ""]


def test_R5_too_large_a_version_is_recognised_in_its_three_forms_and_each_is_retried_once() -> None:
    cause = StatusDetails(causes=(StatusCause(reason="ResourceVersionTooLarge"),))
    forms = (
        Status(code=504, reason="Timeout", message="Timeout", details=cause),
        Status(code=504, reason="Timeout", message="Timeout: Too large resource version: 30, current: 20"),
        Status(code=500, message="Too large resource version"),
    )
    run = Run().lists(a_page(version=20)).watches((), (), ())
    for form, version in zip(forms, ("30", "40", "50"), strict=True):
        run.lists(from_status(form), a_page(version=version))
    run.go()
    assert run.source.list_versions == ["0", "20", "", "30", "", "40", ""]


def test_R6_expired_at_the_most_recent_version_too_is_one_error_and_a_backoff() -> None:
    run = Run().lists(a_page(), EXPIRED, EXPIRED, a_page(version=12)).watches(()).go()
    assert run.source.list_versions == ["0", "10", "", ""]
    assert [type(error) for error in run.errors] == [ShortWatch, Expired]
    assert all(wait >= 0.8 for wait in run.clock.waits)


def test_R6_a_consistent_first_list_that_expired_is_not_repeated_without_a_backoff() -> None:
    run = Run(initial_read="consistent").lists(EXPIRED, a_page()).go()
    assert run.source.list_versions == ["", ""]
    assert run.errors == [EXPIRED]
    assert len(run.clock.waits) == 1


def test_the_flag_stays_while_lists_fail_and_goes_with_the_next_success() -> None:
    run = Run().lists(a_page(), EXPIRED, INTERNAL, a_page(version=12), a_page(version=13)).watches((), ()).go()
    assert run.source.list_versions == ["0", "10", "", "", "12"]


def test_an_expired_watch_does_not_make_the_last_version_unavailable() -> None:
    run = Run().lists(a_page(), a_page(version=12)).watches((added(a_pod("a", 11)), EXPIRED)).go()
    assert run.source.list_versions == ["0", "11"]
    assert run.errors == [], "expired is routine"
    assert run.watch_ends() == {"expired": 1}


# --- pages ----------------------------------------------------------------------------------------------------------


def test_R7_an_explicit_page_size_pages_always_and_gives_one_replace() -> None:
    run = Run(page_size=4).lists(a_page(version=10))
    run.lists(
        a_page(*pods(*"abcd"), version=11, continue_="C1"),
        a_page(*pods(*"efgh"), version=11, continue_="C2"),
        a_page(*pods(*"ij"), version=11),
    )
    run.watches(()).go()
    assert [(options.limit, options.continue_) for options in run.source.asked_lists[1:]] == [
        (4, ""),
        (4, "C1"),
        (4, "C2"),
    ]
    assert run.sink.items == [[], list("abcdefghij")]


def test_R8_without_one_a_relist_at_a_version_has_no_limit() -> None:
    run = Run().lists(a_page(version=10), a_page(version=11)).watches(()).go()
    assert [(options.resource_version, options.limit) for options in run.source.asked_lists] == [("0", 500), ("10", 0)]


def test_R9_a_list_at_0_that_came_in_pages_makes_all_later_lists_paginated() -> None:
    run = Run().lists(a_page(*pods("a"), continue_="C1"), a_page(*pods("b")), a_page(version=11)).watches(()).go()
    relist = run.source.asked_lists[2]
    assert (relist.resource_version, relist.limit) == ("10", 500)


def test_R7_a_limit_beside_a_version_says_that_newer_is_welcome() -> None:
    run = Run(page_size=4).lists(a_page(version=10), a_page(version=11), a_page(version=12)).watches((), ()).go()
    asked = [(each.resource_version, each.resource_version_match) for each in run.source.asked_lists]
    assert asked == [("0", ""), ("10", "NotOlderThan"), ("11", "NotOlderThan")]


def test_R9_a_consistent_list_in_pages_proves_nothing_about_the_watch_cache() -> None:
    run = Run(initial_read="consistent").lists(a_page(*pods("a"), continue_="C1"), a_page(*pods("b")), a_page())
    run.watches(()).go()
    assert run.source.asked_lists[2].limit == 0


def test_R10_later_pages_carry_neither_a_version_nor_a_match() -> None:
    run = Run().lists(a_page(*pods("a"), continue_="C1"), a_page(*pods("b"))).go()
    second = run.source.asked_lists[1]
    assert (second.resource_version, second.resource_version_match, second.continue_) == ("", "", "C1")


def test_R11_an_expired_second_page_is_made_up_by_one_whole_list_at_the_original_version() -> None:
    run = Run().lists(a_page(*pods("a"), continue_="C1"), EXPIRED, a_page(*pods("a", "b", "c"), version=12))
    run.lists(a_page(version=13)).watches(()).go()
    third, relist = run.source.asked_lists[2:]
    assert (third.resource_version, third.limit, third.continue_) == ("0", 0, "")
    assert run.sink.items[0] == ["a", "b", "c"]
    assert relist.limit == 500, "it did see a continue token, so it counts as paginated"


def test_R12_an_expired_first_page_has_no_whole_list_in_the_pager() -> None:
    run = Run().lists(EXPIRED, a_page(*pods("a"))).go()
    assert [(options.resource_version, options.limit) for options in run.source.asked_lists] == [("0", 500), ("", 500)]


def test_R13_stopping_between_pages_brings_nothing_and_reports_nothing() -> None:
    run = Run().lists(a_page(*pods("a"), continue_="C1"))
    run.go()
    assert run.sink.brought == []
    assert run.errors == []


# --- the watch ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("configured", "low", "high"),
    [
        pytest.param(None, 300, 600, id="R14 none"),
        pytest.param(1, 300, 600, id="R14 too small is ignored"),
        pytest.param(1800, 1800, 3600, id="R14 larger is honoured"),
    ],
)
def test_watch_timeout(configured: int | None, low: int, high: int) -> None:
    options = {} if configured is None else {"watch_timeout_seconds": configured}
    run = Run(**options).lists(a_page()).watches(*[(added(a_pod("a", n + 11)),) for n in range(200)]).go()
    asked = [watch.timeout_seconds for watch in run.source.asked_watches]
    assert low <= min(asked) < max(asked) <= high
    assert len(set(asked)) > 100, "drawn anew for each watch"


def test_R15_the_version_follows_every_event() -> None:
    run = Run().lists(a_page(version=5))
    versions: list[str] = []
    pod = a_pod("a", 10)
    steps: list[Step] = [added(pod), modified(a_pod("a", 20)), deleted(a_pod("a", 30)), bookmark(40)]
    noted: list[Step] = []
    for step in steps:
        noted += [step, lambda: versions.append(run.reflector.resource_version)]
    run.watches(tuple(noted)).go()
    assert versions == ["10", "20", "30", "40"]
    assert run.sink.brought[1:] == ["ADDED a@10 at 10", "MODIFIED a@20 at 20", "DELETED a@30 at 30", "BOOKMARK at 40"]


@pytest.mark.parametrize("version", ["", "0"])
def test_synthetic_events_of_a_watch_without_a_version_publish_none(version: str) -> None:
    run = Run().lists(a_page(version=version))
    versions: list[str] = []

    def note() -> None:
        versions.append(run.reflector.resource_version)

    run.watches(
        (added(a_pod("a", 30)), note, added(a_pod("b", 20)), note, bookmark(31), note, added(a_pod("c", 32)), note)
    )
    run.go()
    assert versions == [version, version, "31", "32"]
    assert run.sink.brought[1:] == ["ADDED a@30 at ", "ADDED b@20 at ", "BOOKMARK at 31", "ADDED c@32 at 32"]


FAST = BackoffOptions(base_seconds=0.001, cap_seconds=0.050)


@pytest.mark.parametrize(("failures", "low", "high"), [(5, 0.031, 0.064), (40, 1.763, 4.0)])
def test_R18_a_refused_watch_backs_off_exponentially_and_never_relists(failures: int, low: float, high: float) -> None:
    run = Run(backoff=FAST).lists(a_page()).watches(*[REFUSED] * failures, (added(a_pod("a", 11)),)).go()
    assert low <= sum(run.clock.waits) <= high
    assert len(run.source.asked_lists) == 1
    assert set(run.source.watch_versions) == {"10"}


def test_R20_a_throttled_watch_is_repeated_without_a_list() -> None:
    run = Run().lists(a_page()).watches(*[THROTTLED] * 4, (added(a_pod("a", 11)), run_stop := added(a_pod("b", 12))))
    run.sink.on_event = lambda: (
        run.stop.set("done") if run.sink.brought[-1].startswith(f"ADDED {run_stop.object}") else None
    )
    run.go()
    assert (len(run.source.asked_lists), len(run.source.asked_watches)) == (1, 5)


def test_R21_throttling_inside_a_watch_also_backs_off_without_a_list() -> None:
    run = Run().lists(a_page()).watches(THROTTLED, (THROTTLED,), (added(a_pod("a", 11)),)).go()
    assert len(run.clock.waits) == 2
    assert len(run.source.asked_lists) == 1
    assert run.watch_ends()["throttled"] == 2


@pytest.mark.parametrize(
    ("budget_seconds", "quiet_before", "retries"),
    [
        pytest.param(0, None, 0, id="R22 no budget, no retry"),
        pytest.param(30, None, 31, id="R22 thirty seconds of one failure a second"),
        pytest.param(30, 10, 40, id="R22 a quiet minute before the tenth begins a new budget"),
    ],
)
def test_internal_errors_in_a_watch(budget_seconds: float, quiet_before: int | None, retries: int) -> None:
    run = Run(internal_error_budget_seconds=budget_seconds).lists(a_page())

    def failing(number: int) -> tuple[Step, ...]:
        return (lambda: run.clock.step(60 if number == quiet_before else 1), INTERNAL)

    run.watches(*[failing(number) for number in range(1, 100)])
    run.go()
    assert len(run.source.asked_watches) - 1 == retries


def test_an_internal_error_on_connecting_is_no_retry_of_the_watch() -> None:
    run = Run(internal_error_budget_seconds=30).lists(a_page(), a_page(version=11)).watches(INTERNAL).go()
    assert run.source.list_versions == ["0", "10"]


def test_R24_a_very_short_watch_is_an_error_and_no_spin() -> None:
    run = Run().lists(*[a_page()] * 4).watches((), (), ()).go()
    assert len(run.source.asked_lists) == 4
    assert [type(error) for error in run.errors] == [ShortWatch] * 3
    assert [wait >= 0.8 * 2**n for n, wait in enumerate(run.clock.waits)] == [True] * 3


def test_R25_a_watch_that_ends_in_order_is_repeated_at_once_from_the_last_version() -> None:
    run = Run().lists(a_page()).watches((added(a_pod("a", 11)),), (bookmark(15),), ()).go()
    assert run.source.watch_versions == ["10", "11", "15"]
    assert len(run.source.asked_lists) == 1


def test_R25_a_second_without_events_is_no_short_watch() -> None:
    run = Run().lists(a_page())
    run.watches((lambda: run.clock.step(1),), (added(a_pod("a", 11)),)).go()
    assert run.errors == []
    assert run.clock.waits == []


def test_R26_a_stop_before_the_watch_is_connected_ends_the_run() -> None:
    run = Run()

    def stop_after_listing() -> Page[Pod]:
        run.stop.set("enough")
        return a_page(*pods("a"))

    run.lists(stop_after_listing).watches((added(a_pod("b", 11)),)).go()
    assert run.source.asked_watches == []
    assert run.sink.brought == [], "nor is the list taken"
    assert run.errors == []


def test_R26_after_a_stop_no_event_is_delivered_and_the_stream_is_left_once() -> None:
    run = Run().lists(a_page())
    run.watches((added(a_pod("a", 11)), lambda: run.stop.set("enough"), added(a_pod("b", 12)))).go()
    assert run.sink.brought[1:] == ["ADDED a@11 at 11"]
    assert [stream.exits for stream in run.source.streams] == [1]
    assert run.errors == []


def test_R26_an_error_that_comes_of_stopping_is_not_reported() -> None:
    run = Run().lists(a_page())
    run.watches((lambda: run.stop.set("enough"), LOST)).go()
    assert run.errors == []
    assert run.watch_ends() == {}


@pytest.mark.parametrize(
    ("answers", "watches"),
    [
        pytest.param((Forbidden("no", code=403),), (), id="R27 a list that is denied"),
        pytest.param((ServerError("no", code=503),), (), id="R27 a list that fails"),
        pytest.param((DecodeError("no list"),), (), id="R28 R27 a list that is not a list"),
        pytest.param((), (Forbidden("no", code=403),), id="R27 a watch that is denied"),
        pytest.param((), ((ServerError("corrupt object", code=500),),), id="R27 an error inside a watch"),
    ],
)
def test_errors_reach_the_handler_once_as_they_are(
    answers: tuple[ApiError, ...], watches: tuple[tuple[Step, ...] | ApiError, ...]
) -> None:
    error = answers[0] if answers else watches[0] if isinstance(watches[0], ApiError) else watches[0][0]
    run = Run().lists(*answers, a_page(), a_page()).watches(*watches).go()
    assert [each is error for each in run.errors] == [True]
    assert len(run.clock.waits) == 1


@pytest.mark.parametrize(
    ("watch", "relists", "delays"),
    [
        pytest.param((EXPIRED,), True, 1, id="expired relists after the backoff"),
        pytest.param((ServerError("store read error", code=500),), True, 1, id="any other error relists"),
        pytest.param((INTERNAL,), True, 1, id="an internal error without budget relists"),
        pytest.param((DecodeError("not json"),), True, 1, id="a line that does not decode relists"),
        pytest.param(Forbidden("no", code=403), True, 1, id="any other error on connecting relists"),
        pytest.param(EXPIRED, True, 1, id="expired on connecting relists"),
        pytest.param((IdleTimeout("silence"),), False, 0, id="one silence is followed at once"),
        pytest.param((LOST,), False, 0, id="one lost connection is followed at once"),
        pytest.param(LOST, False, 0, id="a connection that could not be made says nothing against the version"),
    ],
)
def test_what_follows_the_end_of_a_watch(watch: tuple[Step, ...] | ApiError, relists: bool, delays: int) -> None:
    run = Run().lists(a_page(), a_page(version=10)).watches(watch, (added(a_pod("a", 11)),)).go()
    assert len(run.source.asked_lists) == 1 + relists
    assert len(run.clock.waits) == delays
    assert run.source.watch_versions[:2] == ["10", "10"]


@pytest.mark.parametrize("is_in_stream", [True, False])
def test_the_server_may_ask_for_a_longer_delay(is_in_stream: bool) -> None:
    patient = TooManyRequests("come back later", code=429, retry_after=45.0)
    run = Run().lists(a_page()).watches((patient,) if is_in_stream else patient, THROTTLED).go()
    assert run.clock.waits[0] == 45
    assert run.clock.waits[1] < 10, "once"


def test_repeated_losses_back_off_until_an_event_comes() -> None:
    run = Run().lists(a_page())
    run.watches((LOST,), (LOST,), (LOST,), (added(a_pod("a", 11)), LOST), (LOST,)).go()
    assert len(run.clock.waits) == 3, "before the third, the fourth and the last watch"
    assert len(run.source.asked_lists) == 1


def test_decode_errors_are_counted_loudly() -> None:
    run = Run().lists(a_page(), DecodeError("no page"), a_page()).watches((DecodeError("not json"),)).go()
    assert run.metrics.read("", now=0, store_objects=0, index_errors=0, is_synced=False, handlers=()).decode_errors == 2


# --- the loop -------------------------------------------------------------------------------------------------------


def test_stop_interrupts_the_delay_and_a_run_never_starts_after_it() -> None:
    run = Run()
    run.stop.set("before the start")
    run.lists(a_page()).go()
    assert run.source.asked_lists == []


def test_a_long_healthy_watch_starts_the_backoff_again_from_its_base() -> None:
    run = Run()
    run.lists(INTERNAL, INTERNAL, INTERNAL, a_page(), a_page())
    run.watches((lambda: run.clock.step(400), EXPIRED)).go()
    assert run.clock.waits[2] >= 3.2
    assert run.clock.waits[3] < 1.6


def test_F11_a_failing_sink_costs_a_new_list_and_not_the_reflector() -> None:
    run = Run().lists(a_page(), a_page(*pods("bad"), version=12)).watches((added(a_pod("bad", 11)),))
    run.sink.fails_on = "bad"
    run.go()
    assert run.sink.items == [[], ["bad"]]
    assert [str(error) for error in run.errors] == ["a bug in the sink"]


def test_a_failing_error_handler_does_not_end_the_reflector() -> None:
    run = Run().lists(INTERNAL, a_page())

    def fail(_: Exception) -> None:
        raise RuntimeError("a bug in the handler")

    run.reflector._on_error = fail
    run.go()
    assert run.sink.items == [[]]


def test_the_last_error_is_kept_until_the_next_success() -> None:
    run = Run().lists(INTERNAL)
    seen: list[Exception | None] = []

    def answer() -> Page[Pod]:
        seen.append(run.reflector.last_error)
        return a_page()

    run.lists(answer).watches((lambda: seen.append(run.reflector.last_error),)).go()
    assert seen == [INTERNAL, None]


def test_R34_a_thousand_reflectors_relist_spread_over_the_window_after_a_restart() -> None:
    times = []
    for seed in range(1000):
        run = Run().lists(REFUSED, a_page())
        run.reflector._round_backoff._random = Random(seed)
        run.go()
        times.append(run.clock.waits[0])
    buckets = [sum(0.8 + 0.1 * n <= time < 0.9 + 0.1 * n for time in times) for n in range(8)]
    assert sum(buckets) == 1000
    assert max(buckets) <= 250


def test_metrics_tell_lists_watches_and_the_age_of_the_last_event() -> None:
    run = Run().lists(INTERNAL, a_page(*pods("a", "b")), EXPIRED, EXPIRED)
    run.watches((lambda: run.clock.step(5), added(a_pod("c", 11)), bookmark(12), EXPIRED)).go()
    now = run.clock.monotonic() + 7
    readings = run.metrics.read("pods", now=now, store_objects=0, index_errors=0, is_synced=False, handlers=())
    assert readings.lists == {"error": 1, "ok": 1, "expired": 1}
    assert readings.list_items == 2
    assert readings.watches == {"expired": 1}
    assert readings.watch_time.seconds == 5
    assert readings.events == {"ADDED": 1, "BOOKMARK": 1}
    assert readings.last_event_age_seconds is not None
    assert readings.last_event_age_seconds == pytest.approx(7 + sum(run.clock.waits[1:]))


def test_no_event_has_no_age() -> None:
    readings = InformerMetrics().read("", now=3, store_objects=0, index_errors=0, is_synced=False, handlers=())
    assert readings.last_event_age_seconds is None


def test_the_backoff_of_rounds_is_jittered() -> None:
    run = Run().lists(INTERNAL, INTERNAL, a_page())
    run.reflector._round_backoff._random = FixedRandom(0.5)
    run.go()
    assert run.clock.waits == pytest.approx([1.2, 2.4])
