"""What a queue promises whatever its order: no key twice at once, no key lost, an orderly end."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from typing import Any

import pytest

from clockwork import FakeClock
from test.unit.workqueue.conftest import InBackground
from workqueue import ExponentialLimiter, PriorityOrder, Queue, ReadyOrder

LIMIT_SECONDS = 30.0


def take(queue: Queue[str]) -> str | None:
    """Get a key and give it back."""
    key = queue.get()
    if key is not None:
        queue.done(key)
    return key


def take_all(queue: Queue[str]) -> list[str]:
    return [key for _ in range(len(queue)) if (key := take(queue)) is not None]


def shut_down(queue: Queue[int]) -> int:
    return queue.shutdown()


def shut_down_with_drain(queue: Queue[int]) -> int:
    return queue.shutdown_with_drain(1000.0)


def produce(queue: Queue[int], keys: Iterable[int]) -> None:
    for key in keys:
        queue.add(key)


def consume(queue: Queue[int], process: Callable[[int], None]) -> None:
    """Work until the queue ends."""
    while (key := queue.get()) is not None:
        try:
            process(key)
        finally:
            queue.done(key)


@pytest.mark.parametrize("end", [shut_down, shut_down_with_drain])
@pytest.mark.parametrize("order", [None, PriorityOrder()], ids=["fifo", "priority"])
def test_Q1_many_producers_and_consumers_lose_nothing_and_see_nothing_late(
    end: Callable[[Queue[int]], int],
    order: ReadyOrder[int] | None,
    clock: FakeClock,
    in_background: InBackground,
) -> None:
    queue: Queue[int] = Queue("test", clock=clock, order=order)
    seen: list[int] = []
    consumers = [in_background(lambda: consume(queue, seen.append)) for _ in range(10)]
    producers = [in_background(partial(produce, queue, range(50 * i, 50 * i + 50))) for i in range(50)]
    for producer in producers:
        producer.result(LIMIT_SECONDS)
    assert end(queue) == 0
    queue.add(-1)
    for consumer in consumers:
        consumer.result(LIMIT_SECONDS)
    assert sorted(seen) == list(range(2500))
    assert len(queue) == 0


def test_Q2_a_key_added_while_it_is_processed_is_processed_once_more(in_background: InBackground) -> None:
    queue: Queue[int] = Queue("test", clock=FakeClock())
    keys = range(100)
    again = set(keys)
    seen: list[int] = []
    all_seen = threading.Event()

    def process(key: int) -> None:
        if key in again:
            again.discard(key)
            queue.add(key)
        seen.append(key)
        if len(seen) == 200:
            all_seen.set()

    produce(queue, keys)
    consumers = [in_background(lambda: consume(queue, process)) for _ in range(5)]
    assert all_seen.wait(LIMIT_SECONDS)
    assert queue.shutdown_with_drain(1000.0) == 0
    for consumer in consumers:
        consumer.result(LIMIT_SECONDS)
    assert sorted(seen) == sorted([*keys, *keys])


def test_Q3_the_length_counts_a_key_once(queue: Queue[str]) -> None:
    lengths = []
    for key in ("foo", "bar", "foo"):
        queue.add(key)
        lengths.append(len(queue))
    assert lengths == [1, 2, 2]


def test_Q4_a_key_added_in_hand_comes_back_after_done(queue: Queue[str]) -> None:
    queue.add("foo")
    assert queue.get() == "foo"
    queue.add("foo")
    assert len(queue) == 0
    queue.done("foo")
    assert take(queue) == "foo"
    assert len(queue) == 0


def test_Q5_a_key_added_twice_is_handed_out_once(queue: Queue[str]) -> None:
    queue.add("bar")
    queue.add("bar")
    assert take_all(queue) == ["bar"]
    assert queue.statistics().adds_total == 1


def test_keys_come_first_in_first_out(queue: Queue[str]) -> None:
    for key in ("c", "a", "b", "a"):
        queue.add(key)
    assert take_all(queue) == ["c", "a", "b"]


def test_Q7_a_drain_waits_for_every_key_in_hand(
    queue: Queue[str], clock: FakeClock, in_background: InBackground
) -> None:
    queue.add("foo")
    queue.add("bar")
    assert [queue.get(), queue.get()] == ["foo", "bar"]
    drain = in_background(lambda: queue.shutdown_with_drain(10.0))
    clock.await_waiters(1)
    assert queue.get() is None
    queue.done("foo")
    clock.await_waiters(1)
    assert not drain.done()
    queue.done("bar")
    assert drain.result(LIMIT_SECONDS) == 0


def test_a_drain_waits_for_keys_that_became_dirty_in_hand(
    queue: Queue[str], clock: FakeClock, in_background: InBackground
) -> None:
    queue.add("foo")
    assert queue.get() == "foo"
    queue.add("foo")
    drain = in_background(lambda: queue.shutdown_with_drain(10.0))
    clock.await_waiters(1)
    queue.done("foo")
    assert queue.get() == "foo"
    clock.await_waiters(1)
    assert not drain.done()
    queue.done("foo")
    assert drain.result(LIMIT_SECONDS) == 0


def test_Q8_a_plain_shutdown_does_not_wait_for_keys_in_hand(queue: Queue[str]) -> None:
    queue.add("foo")
    assert queue.get() == "foo"
    assert queue.shutdown() == 0
    assert queue.get() is None


def test_Q9_a_shutdown_ends_a_drain_at_once(queue: Queue[str], clock: FakeClock, in_background: InBackground) -> None:
    queue.add("foo")
    queue.add("bar")
    assert queue.get() == "foo"
    drain = in_background(lambda: queue.shutdown_with_drain(10.0))
    clock.await_waiters(1)
    queue.shutdown()
    assert drain.result(LIMIT_SECONDS) == 0
    assert take(queue) == "bar", "what was queued is still served"


class Key:
    """A key that can be watched by a weak reference."""


def test_Q11_a_key_is_released_after_done(clock: FakeClock) -> None:
    queue: Queue[Key] = Queue("test", clock=clock)
    key = Key()
    released = weakref.ref(key)
    queue.add(key)
    queue.add_after(key, 2.0)
    queue.add_after(key, 1.0)
    del key
    queue.done(queue.get() or Key())
    clock.step(2.0)
    queue.done(queue.get() or Key())
    gc.collect()
    assert released() is None


@pytest.mark.parametrize("key", ["unknown", "queued"])
def test_Q12_done_of_a_key_that_is_not_in_hand_changes_nothing(key: str, queue: Queue[str]) -> None:
    queue.add("queued")
    before = queue.statistics()
    queue.done(key)
    assert queue.statistics() == before
    assert take_all(queue) == ["queued"]


def test_Q14_a_drain_waits_for_queued_keys_though_none_is_in_hand(
    queue: Queue[str], clock: FakeClock, in_background: InBackground
) -> None:
    queue.add("foo")
    drain = in_background(lambda: queue.shutdown_with_drain(10.0))
    clock.await_waiters(1)
    assert not drain.done()
    assert take(queue) == "foo"
    assert drain.result(LIMIT_SECONDS) == 0


def test_a_drain_of_an_idle_queue_returns_at_once(queue: Queue[str]) -> None:
    assert queue.shutdown_with_drain(10.0) == 0


def test_a_drain_gives_up_at_its_deadline_and_counts_what_it_dropped(
    queue: Queue[str], clock: FakeClock, in_background: InBackground
) -> None:
    queue.add("in hand and dirty")
    assert queue.get() == "in hand and dirty"
    queue.add("in hand and dirty")
    queue.add("queued")
    queue.add_after("delayed", 1000.0)
    drain = in_background(lambda: queue.shutdown_with_drain(10.0))
    clock.await_waiters(1)
    clock.step(10.0)
    assert drain.result(LIMIT_SECONDS) == 3
    queue.done("in hand and dirty")
    assert queue.get() is None


def test_a_shutdown_can_drop_what_is_queued(queue: Queue[str]) -> None:
    queue.add("queued")
    queue.add_after("delayed", 1.0)
    assert queue.shutdown(drop_queued=True) == 2
    assert queue.get() is None
    assert queue.shutdown(drop_queued=True) == 0


def test_a_shutdown_wakes_a_worker_that_waits_for_a_key(queue: Queue[str], in_background: InBackground) -> None:
    worker = in_background(queue.get)
    queue.shutdown()
    assert worker.result(LIMIT_SECONDS) is None


# Delays


def test_D1_a_delayed_key_comes_when_its_time_has_come(queue: Queue[str], clock: FakeClock) -> None:
    queue.add_after("foo", 0.050)
    clock.step(0.049)
    assert len(queue) == 0
    clock.step(0.011)
    assert take_all(queue) == ["foo"]


def test_D1_a_waiting_worker_is_woken_when_the_time_has_come(
    queue: Queue[str], clock: FakeClock, in_background: InBackground
) -> None:
    queue.add_after("foo", 0.050)
    worker = in_background(lambda: take(queue))
    clock.await_waiters(1)
    clock.step(0.060)
    assert worker.result(LIMIT_SECONDS) == "foo"


@pytest.mark.parametrize(
    ("delays", "expected"),
    [
        pytest.param((50, 70), 50, id="D2 a later delay of the same key is dropped"),
        pytest.param((50, 30), 30, id="D2 an earlier delay of the same key replaces the first"),
        pytest.param((50, 30, 70, 40), 30, id="D2 the earliest of many stays"),
    ],
)
def test_D2_a_key_has_one_delay(delays: tuple[int, ...], expected: int, queue: Queue[str], clock: FakeClock) -> None:
    for delay in delays:
        queue.add_after("foo", delay)
    clock.step(expected - 1)
    assert take_all(queue) == []
    clock.step(1)
    assert take_all(queue) == ["foo"]
    clock.step(1000)
    assert take_all(queue) == []


def test_D2_a_waiting_worker_learns_of_an_earlier_delay(
    queue: Queue[str], clock: FakeClock, in_background: InBackground
) -> None:
    queue.add_after("late", 70.0)
    worker = in_background(lambda: take(queue))
    clock.await_waiters(1)
    queue.add_after("early", 30.0)
    clock.await_waiters(1)
    clock.step(30.0)
    assert worker.result(LIMIT_SECONDS) == "early"


def test_a_delay_is_kept_when_the_worker_that_learned_of_it_takes_another_key(
    queue: Queue[str], clock: FakeClock, in_background: InBackground
) -> None:
    queue.add_after("late", 1000.0)
    workers = [in_background(lambda: take(queue)) for _ in range(2)]
    clock.await_waiters(2)
    queue.add_after("early", 30.0)
    queue.add("now")
    first = wait_for_any(workers)
    assert first.result() == "now"
    clock.await_waiters(1)
    clock.step(30.0)
    workers.remove(first)
    assert workers[0].result(LIMIT_SECONDS) == "early"


def wait_for_any(futures: list[Future[Any]]) -> Future[Any]:
    done, _ = wait(futures, LIMIT_SECONDS, FIRST_COMPLETED)
    (first,) = done
    return first


def test_D3_delayed_keys_come_by_ready_time(queue: Queue[str], clock: FakeClock) -> None:
    queue.add_after("one", 1.0)
    queue.add_after("first", 0.050)
    clock.step(0.060)
    assert take_all(queue) == ["first"]
    queue.add_after("two", 2.0)
    clock.step(1.0)
    assert take_all(queue) == ["one"]
    clock.step(1.0)
    assert take_all(queue) == ["two"]


def test_D4_delays_that_passed_together_keep_their_order(queue: Queue[str], clock: FakeClock) -> None:
    for delay in (1.0, 0.5, 0.25):
        queue.add_after(str(delay), delay)
    clock.step(2.0)
    assert take_all(queue) == ["0.25", "0.5", "1.0"]


@pytest.mark.parametrize("delay", [0.0, -1.0, float("nan")])
def test_D5_a_delay_that_is_not_positive_means_now(delay: float, queue: Queue[str]) -> None:
    queue.add_after("later", 1.0)
    queue.add_after("foo", delay)
    assert take_all(queue) == ["foo"]


def test_a_delay_without_end_never_comes_and_is_no_longer_than_a_thread_can_wait(
    queue: Queue[str], clock: FakeClock, in_background: InBackground
) -> None:
    queue.add_after("foo", float("inf"))
    worker = in_background(queue.get)
    clock.await_waiters(1)
    deadline = clock.next_deadline()
    assert deadline is not None
    assert deadline < threading.TIMEOUT_MAX
    assert queue.shutdown() == 1
    assert worker.result(LIMIT_SECONDS) is None


@pytest.mark.parametrize("delay", [0.0, 1.0])
def test_D5_after_a_shutdown_nothing_is_taken(delay: float, queue: Queue[str], clock: FakeClock) -> None:
    queue.shutdown()
    queue.add_after("foo", delay)
    queue.add("bar")
    queue.add_rate_limited("baz")
    clock.step(1000.0)
    assert queue.get() is None
    assert queue.statistics().delayed == 0


@pytest.mark.parametrize("end", [shut_down, shut_down_with_drain])
def test_D6_a_shutdown_drops_and_counts_the_delayed_keys_at_once(
    end: Callable[[Queue[int]], int], clock: FakeClock, in_background: InBackground
) -> None:
    queue: Queue[int] = Queue("test", clock=clock)
    for key in range(1000):
        queue.add_after(key, 1.0 + key)
    worker = in_background(queue.get)
    clock.await_waiters(1)
    assert end(queue) == 1000
    assert worker.result(LIMIT_SECONDS) is None


def test_a_delayed_key_that_is_added_now_comes_twice(queue: Queue[str], clock: FakeClock) -> None:
    """The delay is a promise to look again (1.7.3)."""
    queue.add_after("foo", 1.0)
    queue.add("foo")
    assert take_all(queue) == ["foo"]
    clock.step(1.0)
    assert take_all(queue) == ["foo"]


def test_a_key_whose_delay_passes_while_it_is_queued_comes_once(queue: Queue[str], clock: FakeClock) -> None:
    queue.add_after("foo", 1.0)
    queue.add("foo")
    clock.step(1.0)
    assert take_all(queue) == ["foo"]


def test_a_key_whose_delay_passed_comes_before_keys_added_later(queue: Queue[str], clock: FakeClock) -> None:
    queue.add_after("first", 1.0)
    clock.step(2.0)
    queue.add("second")
    assert take_all(queue) == ["first", "second"]


def test_L6_a_rate_limited_key_waits_longer_each_time_until_it_is_forgotten(clock: FakeClock) -> None:
    queue: Queue[str] = Queue("test", clock=clock, limiter=ExponentialLimiter(1.0, 1000.0))
    for seconds in (1.0, 2.0):
        queue.add_rate_limited("foo")
        clock.step(seconds - 0.5)
        assert take_all(queue) == []
        clock.step(0.5)
        assert take_all(queue) == ["foo"]
    assert queue.failures("foo") == 2
    queue.forget("foo")
    assert queue.failures("foo") == 0
    queue.add_rate_limited("foo")
    clock.step(1.0)
    assert take_all(queue) == ["foo"]
    assert queue.statistics().retries_total == 3


def test_forget_is_not_done(queue: Queue[str]) -> None:
    queue.add("foo")
    queue.get()
    queue.forget("foo")
    queue.add("foo")
    assert len(queue) == 0


def test_a_key_whose_delay_passes_in_hand_comes_once_more_after_done(queue: Queue[str], clock: FakeClock) -> None:
    queue.add("foo")
    queue.add_after("foo", 1.0)
    assert queue.get() == "foo"
    clock.step(1.0)
    queue.done("foo")
    assert take_all(queue) == ["foo"]
    assert len(queue) == 0
