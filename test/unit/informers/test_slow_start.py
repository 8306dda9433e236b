"""Batches that double until something fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork import FakeClock
from informers.expectations import Expectations
from informers.owner import Owner
from informers.slow_start import Failure, SlowStart, Success, start_slowly

OWNER = Owner("team/job", "uid-1")


class Inline(Executor):
    """Runs each call at once, and notes the size of each batch."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise NotImplementedError

    def map(self, fn: Callable[..., Any], *iterables: Any, **_: Any) -> Iterator[Any]:
        (batch,) = iterables
        self.batches.append(len(batch))
        return map(fn, batch)


def failing_at(*bad: int) -> Callable[[int], int]:
    def call(item: int) -> int:
        if item in bad:
            raise ValueError(item)
        return -item

    return call


def test_X7_ten_calls_that_succeed_go_in_batches_of_1_2_4_3() -> None:
    executor = Inline()
    outcome = start_slowly(range(10), failing_at(), executor=executor)
    assert executor.batches == [1, 2, 4, 3]
    assert outcome.successes == tuple(Success(item, -item) for item in range(10))
    assert outcome.failures == ()
    assert outcome.not_attempted == ()


def test_X7_after_a_failure_in_the_second_batch_the_rest_is_not_attempted_and_nothing_stays_expected() -> None:
    expectations = Expectations(clock=FakeClock())
    expectations.expect(OWNER, creates=10)
    outcome = start_slowly(range(10), failing_at(1), executor=Inline())
    assert [success.item for success in outcome.successes] == [0, 2]
    assert [(failure.item, str(failure.error)) for failure in outcome.failures] == [(1, "1")]
    assert outcome.not_attempted == tuple(range(3, 10))

    expectations.take_back_creates(OWNER, len(outcome.failures) + len(outcome.not_attempted))
    for success in outcome.successes:
        assert not expectations.is_satisfied(OWNER)
        expectations.child_added(OWNER, str(success.item), is_terminating=False)
    assert expectations.is_satisfied(OWNER)


def test_a_refusal_stops_like_a_failure_but_is_a_result() -> None:
    outcome = start_slowly(range(10), failing_at(), executor=Inline(), is_refusal=lambda result: result == -1)
    assert outcome.successes == (Success(0, 0), Success(1, -1), Success(2, -2))
    assert outcome.not_attempted == tuple(range(3, 10))


def test_a_batch_has_a_largest_size() -> None:
    executor = Inline()
    start_slowly(range(10), failing_at(), executor=executor, largest_batch=3)
    assert executor.batches == [1, 2, 3, 3, 1]


def test_nothing_to_do_is_nothing_done() -> None:
    executor = Inline()
    outcome: SlowStart[int, int] = start_slowly([], failing_at(), executor=executor)
    assert (outcome.successes, outcome.failures, outcome.not_attempted) == ((), (), ())
    assert executor.batches == []


def test_the_calls_of_a_batch_run_in_parallel() -> None:
    both_run = threading.Barrier(2)

    def call(item: int) -> None:
        if item > 0:
            both_run.wait(30.0)

    with ThreadPoolExecutor(2) as executor:
        outcome = start_slowly(range(3), call, executor=executor)
    assert len(outcome.successes) == 3


def test_what_is_no_exception_is_raised() -> None:
    def call(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start_slowly(range(3), call, executor=Inline())


@given(count=st.integers(0, 60), bad=st.sets(st.integers(0, 60)), largest=st.integers(1, 20))
def test_every_item_is_accounted_for_once_and_in_order(count: int, bad: set[int], largest: int) -> None:
    outcome = start_slowly(range(count), failing_at(*bad), executor=Inline(), largest_batch=largest)
    ended: list[Success[int, int] | Failure[int]] = [*outcome.successes, *outcome.failures]
    assert sorted(one.item for one in ended) == list(range(count - len(outcome.not_attempted)))
    assert outcome.not_attempted == tuple(range(len(ended), count))
    assert all(failure.item in bad for failure in outcome.failures)
    assert not outcome.not_attempted or outcome.failures
    assert len(outcome.failures) <= largest
