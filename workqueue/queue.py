"""The queue of keys that want a look (informers.md 1.7)."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol

from clockwork import Clock, SystemClock
from workqueue.delays import Delays
from workqueue.limiters import Limiter, default_limiter
from workqueue.order import FirstInFirstOut, K, ReadyOrder

# About 30 years, well below what a lock's timeout can hold.
_LONGEST_DELAY_SECONDS = 1e9


class Recorder(Protocol):
    """Is told of durations, in seconds, as they are known. Called from any thread, never under the queue's lock."""

    def waited(self, seconds: float) -> None:
        """A key has been handed out so long after it was added, or after its delay had passed."""
        ...

    def worked(self, seconds: float) -> None:
        """A key is done so long after it was handed out."""
        ...


@dataclass(frozen=True, slots=True)
class Statistics:
    """A queue at one instant.

    `depth` counts the keys that want a look: the ready ones, and those added again while they are processed.
    `adds_total` counts the adds that changed it, `retries_total` the rate-limited adds. Durations are in seconds.
    """

    depth: int
    delayed: int
    processing: int
    adds_total: int
    retries_total: int
    unfinished_work_seconds: float
    longest_running_processor_seconds: float


class _Pending(NamedTuple):
    since: float
    priority: int


class Queue(Generic[K]):
    """A queue of hashable keys, for many producers and many workers; every method is safe from any thread.

    Promised: one key is never handed to two workers at once. An add is followed by a hand-out that begins after it,
    unless the queue is shut down first. Any number of adds of a key before it is handed out make one hand-out, any
    number while it is processed make one more. Keys come in the order of `order`; without one, first in, first out.

    Not promised: how often a key is handed out, that a delay is kept to the instant (a busy worker comes later), or
    anything about a key that a worker took and never gave back with `done()`: it is lost.

    `limiter` says how long `add_rate_limited()` waits; without one it is `default_limiter()`. `None` is not a key.
    """

    def __init__(
        self,
        name: str,
        *,
        clock: Clock | None = None,
        limiter: Limiter[K] | None = None,
        order: ReadyOrder[K] | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.name = name
        self._clock = clock or SystemClock()
        self._limiter: Limiter[K] = limiter or default_limiter(clock=self._clock)
        self._recorder = recorder

        self._lock = threading.Lock()
        # A key that waits for `done` is in _dirty but not in _order; every key of _order is in _dirty.
        self._order: ReadyOrder[K] = order if order is not None else FirstInFirstOut()
        self._dirty: dict[K, _Pending] = {}
        self._processing: dict[K, _Pending] = {}
        self._delays: Delays[K] = Delays()
        self._adds = 0
        self._retries = 0

        self._available = threading.Condition(self._lock)
        self._idle = 0  # workers that wait on _available
        self._drained = threading.Condition(self._lock)
        self._closing = False
        self._draining = False

    def add(self, key: K, *, priority: int = 0) -> None:
        """Ask for a look at the key as soon as a worker is free; without effect once the queue is shut down."""
        with self._lock:
            self._add(key, priority)

    def add_after(self, key: K, delay_seconds: float, *, priority: int | None = None) -> None:
        """Ask for a look at the key in `delay_seconds`, at once if that is not positive.

        Of two delays of one key the earlier stays. An `add()` meanwhile leaves the delay alone, for it is a promise to
        look again, unless the order merges them. Without `priority` the key keeps the one with which it is being
        processed, else has 0. A delay costs no thread.
        """
        with self._lock:
            self._add_after(key, delay_seconds, priority)

    def add_rate_limited(self, *keys: K, priority: int | None = None) -> None:
        """Ask for another look at each key after the delay that the limiter gives to that key."""
        for key in keys:
            delay_seconds = self._limiter.when(key)
            with self._lock:
                self._retries += 1
                self._add_after(key, delay_seconds, priority)

    def forget(self, key: K) -> None:
        """Clear the key's failures, so that its next rate-limited add waits the shortest time. It is not `done()`."""
        self._limiter.forget(key)

    def failures(self, key: K) -> int:
        """Return how many rate-limited adds of the key the limiter remembers."""
        return self._limiter.failures(key)

    def get(self) -> K | None:
        """Wait for a key and hand it out; return None when the queue is shut down and nothing is ready.

        The caller must give the key back with `done()`, whatever happens.
        """
        with self._lock:
            while True:
                now = self._clock.monotonic()
                self._take_ready(now)
                if len(self._order):
                    break
                if self._closing:
                    return None
                self._wait_idle(now)
            key = self._order.pop(now)
            pending = self._dirty.pop(key)
            self._processing[key] = _Pending(now, pending.priority)
        if self._recorder is not None:
            self._recorder.waited(now - pending.since)
        return key

    def done(self, key: K) -> None:
        """Give a key back; if it was added meanwhile it is ready again. A key that was not handed out is ignored."""
        with self._lock:
            now = self._clock.monotonic()
            self._take_ready(now)
            handed_out = self._processing.pop(key, None)
            if handed_out is None:
                return
            pending = self._dirty.get(key)
            if pending is not None:
                self._push(key, pending.priority, now)
            elif self._closing:
                self._drained.notify_all()
        if self._recorder is not None:
            self._recorder.worked(now - handed_out.since)

    def shutdown(self, *, drop_queued: bool = False) -> int:
        """Take no more keys, and release whoever waits in `shutdown_with_drain()`. Idempotent.

        Workers still get what is queued, unless `drop_queued`, then None. Delayed keys are dropped. Return how many
        keys this call dropped.
        """
        with self._lock:
            self._draining = False
            dropped = self._close()
            if drop_queued:
                dropped += self._drop_queued()
            return dropped

    def shutdown_with_drain(self, timeout_seconds: float) -> int:
        """Take no more keys, and wait until the queue is empty and every key that was handed out is done.

        That includes keys that were added while processed. Delayed keys are dropped at once, and when the time runs
        out so are the queued ones; a later `shutdown()` ends the wait and drops none of those. Return how many keys
        were dropped; keys still in workers' hands are not among them.
        """
        with self._lock:
            self._draining = True
            dropped = self._close()
            deadline = self._clock.monotonic() + timeout_seconds
            while self._draining and (self._processing or len(self._order)):
                remaining = deadline - self._clock.monotonic()
                if remaining <= 0:
                    return dropped + self._drop_queued()
                self._clock.wait(self._drained, remaining)
            return dropped

    def __len__(self) -> int:
        """Return the number of keys that a worker could have now."""
        with self._lock:
            self._take_ready(self._clock.monotonic())
            return len(self._order)

    def statistics(self) -> Statistics:
        """Return the state of the queue, all of one instant."""
        with self._lock:
            now = self._clock.monotonic()
            self._take_ready(now)
            ages = [now - handed_out.since for handed_out in self._processing.values()]
            return Statistics(
                depth=len(self._dirty),
                delayed=len(self._delays),
                processing=len(ages),
                adds_total=self._adds,
                retries_total=self._retries,
                unfinished_work_seconds=sum(ages),
                longest_running_processor_seconds=max(ages, default=0.0),
            )

    # What follows is called with the lock held.

    def _add(self, key: K, priority: int) -> None:
        if self._closing:
            return
        now = self._clock.monotonic()
        self._take_ready(now)
        if self._order.merges_delayed:
            delayed_priority = self._delays.cancel(key)
            if delayed_priority is not None:
                priority = max(priority, delayed_priority)
        self._mark_dirty(key, priority, now)

    def _add_after(self, key: K, delay_seconds: float, priority: int | None) -> None:
        if priority is None:
            priority = self._processing[key].priority if key in self._processing else 0
        # Asked this way round, a delay that is not a number means now and does no harm to the heap.
        if not delay_seconds > 0:
            self._add(key, priority)
        elif not self._closing:
            now = self._clock.monotonic()
            self._take_ready(now)
            if self._order.merges_delayed and key in self._dirty:
                self._mark_dirty(key, priority, now)
            elif self._delays.schedule(key, now + min(delay_seconds, _LONGEST_DELAY_SECONDS), priority):
                # Every idle worker waits until the first ready time, so that whichever is left alone keeps it.
                self._available.notify_all()

    def _take_ready(self, now: float) -> None:
        """Add the keys whose delay has passed.

        Every operation begins with this, so that they take their place in the order before what comes later.
        """
        while len(self._delays) and (delayed := self._delays.pop_ready(now)) is not None:
            self._mark_dirty(delayed.key, delayed.priority, delayed.ready_at)

    def _mark_dirty(self, key: K, priority: int, now: float) -> None:
        pending = self._dirty.get(key)
        if pending is None:
            self._dirty[key] = _Pending(now, priority)
            self._adds += 1
            if key not in self._processing:
                self._push(key, priority, now)
        elif priority > pending.priority:
            self._dirty[key] = pending._replace(priority=priority)
            if key not in self._processing:
                self._order.raise_to(key, priority)

    def _push(self, key: K, priority: int, since: float) -> None:
        self._order.push(key, priority, since)
        if self._idle:
            self._available.notify()

    def _wait_idle(self, now: float) -> None:
        ready_at = self._delays.next_ready_at()
        self._idle += 1
        try:
            self._clock.wait(self._available, None if ready_at is None else ready_at - now)
        finally:
            self._idle -= 1

    def _close(self) -> int:
        self._take_ready(self._clock.monotonic())
        self._closing = True
        self._available.notify_all()
        self._drained.notify_all()
        return self._delays.clear()

    def _drop_queued(self) -> int:
        dropped = len(self._dirty)
        self._dirty.clear()
        self._order.clear()
        self._drained.notify_all()
        return dropped
