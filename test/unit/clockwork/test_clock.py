"""The machine's clock and the one for tests (informers.md 0.1)."""

from __future__ import annotations

import math
import threading

import pytest

from clockwork import FakeClock, OwnedThread, StopToken, SystemClock


@pytest.mark.parametrize("seconds", [threading.TIMEOUT_MAX * 2, 1e30, math.inf])
def test_a_wait_longer_than_a_lock_can_wait_is_a_wait(seconds: float) -> None:
    stop = StopToken(clock=SystemClock())
    answers: list[bool] = []
    waiter = OwnedThread("waiter", lambda: answers.append(stop.wait(seconds))).start()
    stop.set("enough")
    assert waiter.join(10)
    assert waiter.error is None
    assert answers == [True]


def test_a_negative_timeout_is_over_at_once() -> None:
    condition = threading.Condition(threading.Lock())
    with condition:
        assert not SystemClock().wait(condition, -1.0)


def test_wall_time_is_utc_and_boottime_moves_with_monotonic_time() -> None:
    clock = SystemClock()
    assert str(clock.wall().tzinfo) == "UTC"
    assert clock.boottime() <= clock.boottime()


def test_a_fake_clock_moves_only_when_told_and_never_back() -> None:
    clock = FakeClock()
    clock.step(5)
    assert clock.monotonic() == clock.boottime() == 5
    with pytest.raises(ValueError, match="cannot go back"):
        clock.step(-1)


def test_waiters_are_woken_in_the_order_of_their_deadlines_and_counted_meanwhile() -> None:
    clock = FakeClock()
    stop = StopToken(clock=clock)

    def start_waiting(seconds: float) -> OwnedThread:
        def wait() -> None:
            stop.wait(seconds)

        return OwnedThread(f"waits {seconds}", wait).start()

    threads = [start_waiting(seconds) for seconds in (3.0, 1.0, 2.0)]
    clock.await_waiters(3)
    assert clock.next_deadline() == 1
    clock.step(1)
    assert threads[1].join(10)
    assert clock.waiters() == 2
    clock.step(2)
    assert all(thread.join(10) for thread in threads)
    assert clock.next_deadline() is None
