"""How fast the work queue is, and how soon an idle worker wakes: `python -m test.bench.queue`."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry

from clockwork import OwnedThread
from workqueue import PriorityOrder, Queue, QueueCollector

CYCLES = 100_000
WAKES = 1_000


def build_plain() -> Queue[int]:
    return Queue("plain")


def build_measured() -> Queue[int]:
    return Queue("measured", recorder=QueueCollector(CollectorRegistry()).recorder("measured"))


def build_priority() -> Queue[int]:
    return Queue("priority", order=PriorityOrder())


def build_delaying() -> Queue[int]:
    queue: Queue[int] = Queue("delaying")
    for key in range(10_000):
        queue.add_after(-1 - key, 3600.0)
    return queue


QUEUES: dict[str, Callable[[], Queue[int]]] = {
    "first in, first out": build_plain,
    "with metrics": build_measured,
    "with 10,000 delayed keys": build_delaying,
    "by priority": build_priority,
}


def measure_cycles_per_second(queue: Queue[int]) -> float:
    """Add, get and give back one key after another in this thread."""
    begun = time.perf_counter()
    for number in range(CYCLES):
        queue.add(number)
        key = queue.get()
        assert key is not None
        queue.done(key)
    return CYCLES / (time.perf_counter() - begun)


def measure_wakes_seconds(queue: Queue[int]) -> list[float]:
    """Add a key while the one worker waits, and take the time until it has it."""
    waits: list[float] = []
    got = threading.Semaphore(0)
    added_at = 0.0

    def work() -> None:
        while (key := queue.get()) is not None:
            waits.append(time.perf_counter() - added_at)
            queue.done(key)
            got.release()

    worker = OwnedThread("bench-worker", work).start()
    for number in range(WAKES):
        time.sleep(0.001)  # until the worker waits again
        added_at = time.perf_counter()
        queue.add(number)
        got.acquire()
    queue.shutdown()
    worker.join()
    return waits


def main() -> None:
    """Print one line a queue."""
    print(f"{'queue':28}{'cycles/s':>12}{'wake median':>14}{'wake p99':>12}")
    for name, build in QUEUES.items():
        cycles = measure_cycles_per_second(build())
        waits = measure_wakes_seconds(build())
        median, p99 = statistics.median(waits), statistics.quantiles(waits, n=100)[98]
        print(f"{name:28}{cycles:12,.0f}{1000 * median:11.3f} ms{1000 * p99:9.3f} ms")


if __name__ == "__main__":
    main()
