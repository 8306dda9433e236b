"""Both orders against a plain model, over any sequence of calls: what is handed out, and what is counted."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clockwork import FakeClock
from workqueue import PriorityOrder, Queue

AGE_SECONDS = 4.0
KEYS = st.sampled_from("abcdef")
PRIORITIES = st.sampled_from([-100, 0, 1])
DELAYS = st.integers(0, 6).map(float)


@dataclass
class Entry:
    """A key that is ready: since when, and its place by arrival at its priority."""

    key: str
    priority: int
    since: float
    place: int


class QueueMachine(RuleBasedStateMachine):
    """Plays all workers itself: it calls `get()` only when the model knows that a key is ready."""

    has_priorities = False

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        order = PriorityOrder[str](AGE_SECONDS) if self.has_priorities else None
        self.queue: Queue[str] = Queue("test", clock=self.clock, order=order)
        self.places = 0
        self.ready: list[Entry] = []
        self.in_hand: dict[str, int] = {}
        self.dirty_in_hand: dict[str, int] = {}
        self.delayed: dict[str, tuple[float, int, int]] = {}  # ready at, place, priority
        self.adds = 0
        self.last_was_aged = False
        self.is_closed = False

    def place(self) -> int:
        self.places += 1
        return self.places

    # The model.

    def expect_dirty(self, key: str, priority: int, since: float) -> None:
        entry = next((entry for entry in self.ready if entry.key == key), None)
        if entry is not None:
            if priority > entry.priority:
                entry.priority, entry.place = priority, self.place()
        elif key in self.dirty_in_hand:
            self.dirty_in_hand[key] = max(priority, self.dirty_in_hand[key])
        elif key in self.in_hand:
            self.dirty_in_hand[key] = priority
            self.adds += 1
        else:
            self.ready.append(Entry(key, priority, since, self.place()))
            self.adds += 1

    def expect_add(self, key: str, priority: int) -> None:
        if self.is_closed:
            return
        if self.has_priorities and key in self.delayed:
            priority = max(priority, self.delayed.pop(key)[2])
        self.expect_dirty(key, priority, self.clock.monotonic())

    def expect_add_after(self, key: str, delay: float, priority: int) -> None:
        if delay <= 0:
            self.expect_add(key, priority)
        elif self.is_closed:
            return
        elif self.has_priorities and (key in self.dirty_in_hand or any(entry.key == key for entry in self.ready)):
            self.expect_dirty(key, priority, 0.0)
        else:
            new = (self.clock.monotonic() + delay, self.place(), priority)
            old = self.delayed.get(key, new)
            ready_at, place, _ = min(old, new)
            self.delayed[key] = (ready_at, place, max(old[2], priority))

    def expect_passing_delays(self) -> None:
        now = self.clock.monotonic()
        for ready_at, _, priority, key in sorted((*entry, key) for key, entry in self.delayed.items()):
            if ready_at <= now:
                del self.delayed[key]
                self.expect_dirty(key, priority, ready_at)

    def expect_next(self) -> str:
        if not self.has_priorities:
            return self.ready.pop(0).key
        oldest = self.ready[0]
        self.last_was_aged = not self.last_was_aged and self.clock.monotonic() - oldest.since >= AGE_SECONDS
        highest = min(self.ready, key=lambda entry: (-entry.priority, entry.place))
        entry = oldest if self.last_was_aged else highest
        self.ready.remove(entry)
        return entry.key

    # What may happen.

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key: str, priority: int) -> None:
        self.expect_add(key, priority)
        self.queue.add(key, priority=priority)

    @rule(key=KEYS, delay=DELAYS, priority=st.none() | PRIORITIES)
    def add_after(self, key: str, delay: float, priority: int | None) -> None:
        self.expect_add_after(key, delay, self.in_hand.get(key, 0) if priority is None else priority)
        self.queue.add_after(key, delay, priority=priority)

    @precondition(lambda self: self.ready)
    @rule()
    def get(self) -> None:
        priorities = {entry.key: entry.priority for entry in self.ready}
        expected = self.expect_next()
        assert self.queue.get() == expected
        assert expected not in self.in_hand, "P11: one key in two hands"
        self.in_hand[expected] = priorities[expected]

    @rule(key=KEYS)
    def done(self, key: str) -> None:
        self.queue.done(key)
        if self.in_hand.pop(key, None) is not None and key in self.dirty_in_hand:
            priority = self.dirty_in_hand.pop(key)
            self.ready.append(Entry(key, priority, self.clock.monotonic(), self.place()))

    @rule(seconds=st.integers(0, 5))
    def step(self, seconds: int) -> None:
        self.clock.step(float(seconds))
        self.expect_passing_delays()

    @precondition(lambda self: not self.is_closed and self.places > 10)
    @rule()
    def shut_down(self) -> None:
        assert self.queue.shutdown() == len(self.delayed)
        self.delayed.clear()
        self.is_closed = True

    @precondition(lambda self: self.is_closed and not self.ready)
    @rule()
    def get_from_a_closed_queue(self) -> None:
        assert self.queue.get() is None

    @invariant()
    def the_counts_agree(self) -> None:
        statistics = self.queue.statistics()
        assert len(self.queue) == len(self.ready)
        assert statistics.depth == len(self.ready) + len(self.dirty_in_hand)
        assert statistics.delayed == len(self.delayed)
        assert statistics.processing == len(self.in_hand)
        assert statistics.adds_total == self.adds

    def teardown(self) -> None:
        """Nothing is lost: once all delays have passed, each key that was asked for comes out."""
        if not self.is_closed:
            self.step(10)
        for key in list(self.in_hand):
            self.done(key)
        while self.ready:
            self.get()
            self.done(next(iter(self.in_hand)))
        assert self.queue.statistics().processing == 0
        assert self.queue.shutdown_with_drain(0.0) == 0
        assert self.queue.get() is None


class PriorityQueueMachine(QueueMachine):
    has_priorities = True


TestPlainQueue = QueueMachine.TestCase
TestPlainQueue.settings = settings(stateful_step_count=40, deadline=None)
TestPriorityQueueP11 = PriorityQueueMachine.TestCase
TestPriorityQueueP11.settings = settings(stateful_step_count=40, deadline=None)
