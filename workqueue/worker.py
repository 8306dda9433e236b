"""The loop that takes keys from a queue and has them reconciled, in several threads (informers.md 1.8)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, assert_never

import structlog

from clockwork import Clock, OwnedThread, StopToken, SystemClock, join_all
from workqueue.order import K
from workqueue.queue import Queue

_log = structlog.get_logger(__name__)

# After a failure of the loop itself the limiter may be what is broken, so it is not asked.
_CRASH_DELAY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing is left to do until the key is added again."""


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """All went well, and the key wants another look in so many seconds."""

    seconds: float


Result = Done | RequeueAfter


class TerminalError(Exception):
    """A failure that trying again cannot mend: counted and logged, not retried."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a reconcile function is told besides its key.

    `number` is 1 for the first try, one more after each failure in a row. A thread cannot be killed, so the function
    itself must end by `deadline`, in seconds of `clock.monotonic()`, and soon after `stop` is set.
    """

    number: int
    deadline: float
    stop: StopToken
    clock: Clock

    def remaining_seconds(self) -> float:
        """Return the time left until the deadline, 0 when it has passed."""
        return max(0.0, self.deadline - self.clock.monotonic())


Reconcile = Callable[[K, Attempt], Result]
Ending = Literal["done", "requeued", "failed", "terminal", "crashed"]


class WorkerPool(Generic[K]):
    """`size` threads that reconcile the keys of one queue, one key at a time each. Every method is thread-safe.

    `Done` and `RequeueAfter` clear the key's failures. An exception is counted, logged and retried after the
    limiter's delay, a `TerminalError` is not retried. Anything else that escapes, of `reconcile` or of the loop
    itself, is a bug: it is counted as crashed, logged, and the key comes back after a second; only SystemExit ends
    the thread, and goes to `on_error`. A key is always given back to the queue.

    When `stop` is set, no new work is begun and what is queued is dropped; a reconcile under way is let finish.
    The owner calls `start()` once, then `stop()` and `join()`.
    """

    def __init__(
        self,
        queue: Queue[K],
        reconcile: Reconcile[K],
        *,
        size: int,
        stop: StopToken,
        deadline_seconds: float = 60.0,
        clock: Clock | None = None,
        on_error: Callable[[BaseException], None] | None = None,
    ) -> None:
        self._queue = queue
        self._reconcile = reconcile
        self._stop = stop.child()
        self._deadline_seconds = deadline_seconds
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._endings: Counter[Ending] = Counter()
        self._threads = [
            OwnedThread(f"{queue.name}-worker-{number}", self._run, on_error=on_error) for number in range(size)
        ]

    @property
    def name(self) -> str:
        """The queue's name."""
        return self._queue.name

    def start(self) -> None:
        """Start the threads; a second start raises RuntimeError."""
        for thread in self._threads:
            thread.start()
        self._stop.on_set(self._drop_queued)

    def stop(self, *, drain_seconds: float = 0.0) -> int:
        """Take no more keys, work for at most `drain_seconds` on those that are queued or in hand, then stop.

        Return how many keys were dropped. What is still in hand then sees its stop token set; `join()` waits for it.
        """
        dropped = self._queue.shutdown_with_drain(drain_seconds) + self._queue.shutdown(drop_queued=True)
        self._stop.set("the workers were stopped")
        return dropped

    def join(self, timeout_seconds: float) -> list[str]:
        """Wait for the threads to end, for so many real seconds together; return the names of those still alive."""
        alive = join_all(self._threads, timeout_seconds)
        if not alive:
            self._stop.close()
        return alive

    def endings(self) -> Mapping[Ending, int]:
        """Return how many attempts have ended in which way."""
        with self._lock:
            return dict(self._endings)

    def _drop_queued(self) -> None:
        dropped = self._queue.shutdown(drop_queued=True)
        if dropped:
            _log.info("keys were dropped at the stop", queue=self.name, dropped=dropped, reason=self._stop.reason)

    def _run(self) -> None:
        while (key := self._queue.get()) is not None:
            try:
                if not self._stop.is_set():
                    self._work(key)
            except SystemExit:
                raise
            except BaseException:  # noqa: BLE001 - a worker outlives every bug
                self._count("crashed")
                _log.critical("a worker crashed: please report this bug", queue=self.name, key=str(key), exc_info=True)
                self._queue.add_after(key, _CRASH_DELAY_SECONDS)
            finally:
                self._queue.done(key)

    def _work(self, key: K) -> None:
        number = self._queue.failures(key) + 1
        deadline = self._clock.monotonic() + self._deadline_seconds
        log = _log.bind(queue=self.name, key=str(key), attempt=number)
        try:
            result = self._reconcile(key, Attempt(number, deadline, self._stop, self._clock))
        except TerminalError as error:
            self._queue.forget(key)
            self._count("terminal")
            log.error("reconciling failed for good; it is tried again when the object changes", error=str(error))  # noqa: TRY400 - an expected failure: its message says all
        except Exception:
            self._queue.add_rate_limited(key)
            self._count("failed")
            log.warning("reconciling failed; it will be tried again", exc_info=True)
        else:
            self._finish(key, result)

    def _finish(self, key: K, result: Result) -> None:
        match result:
            case Done():
                self._queue.forget(key)
                self._count("done")
            case RequeueAfter(seconds):
                self._queue.forget(key)
                self._queue.add_after(key, seconds)
                self._count("requeued")
            case _:
                assert_never(result)

    def _count(self, ending: Ending) -> None:
        with self._lock:
            self._endings[ending] += 1
