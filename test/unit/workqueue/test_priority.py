"""The priority order: who comes first, and that nobody starves."""

from __future__ import annotations

import threading

import pytest

from clockwork import FakeClock
from test.unit.workqueue.conftest import InBackground
from workqueue import INITIAL_PRIORITY, ExponentialLimiter, PriorityOrder, Queue

AGE_SECONDS = 60.0


@pytest.fixture
def queue(clock: FakeClock) -> Queue[str]:
    return Queue("test", clock=clock, order=PriorityOrder(AGE_SECONDS), limiter=ExponentialLimiter(1.0))


def take(queue: Queue[str], count: int | None = None) -> list[str]:
    """Get so many keys, or all that are ready, giving each back at once."""
    keys = []
    for _ in range(len(queue) if count is None else count):
        key = queue.get()
        assert key is not None
        queue.done(key)
        keys.append(key)
    return keys


@pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 1)])
def test_P1_a_key_added_twice_has_the_higher_priority(first: int, second: int, queue: Queue[str]) -> None:
    queue.add("foo", priority=first)
    queue.add("foo", priority=second)
    queue.add("lower", priority=1)
    queue.add("same", priority=2)
    assert take(queue) == ["foo", "same", "lower"]


def test_P2_a_raised_key_comes_first(queue: Queue[str]) -> None:
    for key in ("foo", "bar", "baz"):
        queue.add(key)
    queue.add("baz", priority=1)
    assert take(queue) == ["baz", "foo", "bar"]


def test_P3_a_raised_key_goes_to_the_end_of_its_new_level(queue: Queue[str]) -> None:
    queue.add("foo")
    queue.add("bar", priority=1)
    queue.add("foo", priority=1)
    assert take(queue) == ["bar", "foo"]


def test_P4_of_now_and_later_now_stays(queue: Queue[str], clock: FakeClock) -> None:
    queue.add("now first")
    queue.add_after("now first", 3600.0)
    queue.add_after("later first", 3600.0)
    queue.add("later first")
    assert queue.statistics().depth == 2
    assert queue.statistics().delayed == 0
    assert queue.statistics().adds_total == 2
    assert take(queue) == ["now first", "later first"]
    clock.step(3600.0)
    assert take(queue) == []


def test_P4_a_delayed_add_still_raises_the_priority(queue: Queue[str]) -> None:
    queue.add("first")
    queue.add("raised")
    queue.add_after("raised", 3600.0, priority=1)
    queue.add_after("raised later", 3600.0, priority=2)
    queue.add("raised later")
    assert take(queue) == ["raised later", "raised", "first"]


def test_P5_delayed_keys_are_not_in_the_length(queue: Queue[str], clock: FakeClock) -> None:
    queue.add_after("foo", 1.0)
    queue.add("bar")
    assert (len(queue), queue.statistics().depth) == (1, 1)
    clock.step(1.0)
    assert (len(queue), queue.statistics().depth) == (2, 2)


def test_P6_a_key_in_hand_waits_for_done(queue: Queue[str]) -> None:
    queue.add("foo")
    assert queue.get() == "foo"
    queue.add("foo")
    queue.add("bar", priority=INITIAL_PRIORITY)
    assert take(queue) == ["bar"]
    queue.done("foo")
    assert take(queue) == ["foo"]


def test_a_key_raised_in_hand_has_the_higher_priority_afterwards(queue: Queue[str]) -> None:
    queue.add("foo")
    assert queue.get() == "foo"
    queue.add("foo")
    queue.add("foo", priority=2)
    queue.add("bar", priority=1)
    queue.done("foo")
    assert take(queue) == ["foo", "bar"]


@pytest.mark.parametrize("round_number", range(50))
def test_P8_threads_that_add_and_get_all_end_at_a_shutdown(round_number: int, in_background: InBackground) -> None:
    queue: Queue[int] = Queue("test", order=PriorityOrder())
    begun = threading.Barrier(21)

    def add_and_get(number: int) -> None:
        begun.wait(10.0)
        while True:
            queue.add(number, priority=number % 3)
            queue.add_after(number, 0.0001)
            key = queue.get()
            if key is None:
                return
            queue.done(key)

    workers = [in_background(lambda number=number: add_and_get(number)) for number in range(20)]  # type: ignore[misc]
    begun.wait(10.0)
    queue.shutdown()
    for worker in workers:
        worker.result(10.0)


def test_P9_a_delayed_key_takes_its_place_when_its_delay_has_passed(queue: Queue[str], clock: FakeClock) -> None:
    queue.add_after("delayed", 1.0)
    queue.add_after("delayed and high", 1.0, priority=1)
    queue.add("early")
    queue.add("low", priority=-1)
    clock.step(1.0)
    queue.add("late")
    assert take(queue) == ["delayed and high", "early", "delayed", "late", "low"]


def test_P10_each_key_of_a_rate_limited_add_has_its_own_delay(queue: Queue[str], clock: FakeClock) -> None:
    queue.add_rate_limited("twice")
    clock.step(1.0)
    assert take(queue) == ["twice"]
    queue.add_rate_limited("twice", "once")
    clock.step(1.0)
    assert take(queue) == ["once"]
    clock.step(1.0)
    assert take(queue) == ["twice"]


@pytest.mark.parametrize("again", ["after a while", "after a failure"])
def test_a_key_added_again_by_its_worker_keeps_its_priority(again: str, queue: Queue[str], clock: FakeClock) -> None:
    queue.add("foo", priority=INITIAL_PRIORITY)
    assert queue.get() == "foo"
    if again == "after a while":
        queue.add_after("foo", 1.0)
    else:
        queue.add_rate_limited("foo")
    queue.done("foo")
    clock.step(1.0)
    queue.add("change")
    assert take(queue) == ["change", "foo"]


def test_P12_a_low_key_under_steady_load_is_served_as_soon_as_it_is_aged(queue: Queue[str], clock: FakeClock) -> None:
    queue.add("low", priority=INITIAL_PRIORITY)
    served_at = {}
    for second in range(100):
        queue.add(f"a{second}")
        queue.add(f"b{second}")
        for key in take(queue, 2):
            served_at[key] = second
        clock.step(1.0)
    assert served_at["low"] == AGE_SECONDS


def test_P12_aged_keys_leave_every_other_turn_to_the_highest_priority(queue: Queue[str], clock: FakeClock) -> None:
    for number in range(3):
        queue.add(f"low {number}", priority=INITIAL_PRIORITY)
    clock.step(AGE_SECONDS)
    for number in range(3):
        queue.add(f"change {number}")
    assert take(queue) == ["low 0", "change 0", "low 1", "change 1", "low 2", "change 2"]


def test_P12_a_key_raised_again_and_again_still_ages(queue: Queue[str], clock: FakeClock) -> None:
    for priority in range(60):
        queue.add("raised", priority=priority)
        clock.step(AGE_SECONDS / 60)
    queue.add("high", priority=1000)
    assert take(queue) == ["raised", "high"]
