"""The heap of delayed keys keeps one entry a key, and few places that nobody needs."""

from __future__ import annotations

from workqueue.delays import Delayed, Delays


def test_an_entry_that_is_moved_forward_again_and_again_does_not_grow_the_heap() -> None:
    delays: Delays[str] = Delays()
    for ready_at in range(10_000, 0, -1):
        delays.schedule("foo", float(ready_at), 0)
    assert len(delays) == 1
    assert len(delays._heap) < 100
    assert delays.pop_ready(1.0) == Delayed("foo", 1.0, 0)
    assert delays.next_ready_at() is None


def test_an_entry_that_is_cancelled_again_and_again_does_not_grow_the_heap() -> None:
    delays: Delays[str] = Delays()
    for _ in range(10_000):
        delays.schedule("foo", 1.0, 7)
        assert delays.cancel("foo") == 7
    assert len(delays._heap) < 100
    assert delays.cancel("foo") is None
    assert delays.pop_ready(1.0) is None


def test_the_higher_priority_and_the_earlier_time_win() -> None:
    delays: Delays[str] = Delays()
    delays.schedule("foo", 5.0, 1)
    delays.schedule("foo", 7.0, 2)
    delays.schedule("foo", 3.0, 0)
    assert delays.pop_ready(3.0) == Delayed("foo", 3.0, 2)


def test_scheduling_tells_whether_the_first_time_moved_forward() -> None:
    delays: Delays[str] = Delays()
    assert [delays.schedule(key, at, 0) for key, at in [("a", 5.0), ("b", 7.0), ("b", 4.0), ("b", 6.0)]] == [
        True,
        False,
        True,
        False,
    ]
