"""What Prometheus is told of a queue."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from clockwork import FakeClock, StopToken
from workqueue import Done, Queue, QueueCollector, WorkerPool


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def collector(registry: CollectorRegistry) -> QueueCollector:
    return QueueCollector(registry)


@pytest.fixture
def queue(clock: FakeClock, collector: QueueCollector) -> Queue[str]:
    queue: Queue[str] = Queue("jobs", clock=clock, recorder=collector.recorder("jobs"))
    collector.watch(queue)
    return queue


def value(registry: CollectorRegistry, name: str) -> float | None:
    return registry.get_sample_value(f"workqueue_{name}", {"name": "jobs"})


def values(registry: CollectorRegistry, *names: str) -> list[float | None]:
    return [value(registry, name) for name in names]


def test_M1_a_key_is_counted_and_timed_on_its_way(
    queue: Queue[str], clock: FakeClock, registry: CollectorRegistry
) -> None:
    queue.add("foo")
    assert values(registry, "adds_total", "depth") == [1, 1]

    clock.step(50e-6)
    queue.get()
    assert value(registry, "depth") == 0
    assert value(registry, "queue_duration_seconds_count") == 1
    assert value(registry, "queue_duration_seconds_sum") == pytest.approx(5e-5)

    for _ in range(5):
        queue.add("foo")
    assert values(registry, "adds_total", "depth") == [2, 1]

    clock.step(25e-6)
    queue.done("foo")
    assert value(registry, "work_duration_seconds_count") == 1
    assert value(registry, "work_duration_seconds_sum") == pytest.approx(2.5e-5)
    assert values(registry, "adds_total", "depth") == [2, 1]

    queue.get()
    assert values(registry, "unfinished_work_seconds", "longest_running_processor_seconds") == [0, 0]
    clock.step(1e-3)
    assert values(registry, "unfinished_work_seconds", "longest_running_processor_seconds") == pytest.approx(
        [1e-3, 1e-3]
    )


def test_M1_adds_of_a_queued_key_do_not_count(queue: Queue[str], registry: CollectorRegistry) -> None:
    for _ in range(5):
        queue.add("foo")
    assert values(registry, "adds_total", "depth") == [1, 1]


def test_unfinished_work_is_the_sum_and_longest_the_oldest(
    queue: Queue[str], clock: FakeClock, registry: CollectorRegistry
) -> None:
    for key in ("old", "young"):
        queue.add(key)
        queue.get()
        clock.step(1.0)
    assert values(registry, "unfinished_work_seconds", "longest_running_processor_seconds") == [3.0, 2.0]


def test_a_delayed_key_waits_from_the_end_of_its_delay(
    queue: Queue[str], clock: FakeClock, registry: CollectorRegistry
) -> None:
    queue.add_after("foo", 10.0)
    assert values(registry, "depth", "delayed", "adds_total") == [0, 1, 0]
    clock.step(12.0)
    assert values(registry, "depth", "delayed", "adds_total") == [1, 0, 1]
    queue.get()
    assert value(registry, "queue_duration_seconds_sum") == 2.0


def test_retries_are_counted(queue: Queue[str], registry: CollectorRegistry) -> None:
    queue.add_rate_limited("foo")
    queue.add_after("bar", 1.0)
    assert value(registry, "retries_total") == 1


def test_two_queues_of_one_name_are_refused(queue: Queue[str], collector: QueueCollector) -> None:
    with pytest.raises(ValueError, match="'jobs' is already watched"):
        collector.watch(queue)


def test_attempts_are_counted_by_their_ending(
    queue: Queue[str], collector: QueueCollector, registry: CollectorRegistry
) -> None:
    pool = WorkerPool(queue, lambda _key, _attempt: Done(), size=1, stop=StopToken())
    collector.watch_workers(pool)
    queue.add("foo")
    pool.start()
    pool.stop(drain_seconds=10.0)
    assert pool.join(10.0) == []
    endings = {
        ending: registry.get_sample_value("workqueue_attempts_total", {"name": "jobs", "ending": ending})
        for ending in ("done", "requeued", "failed", "terminal", "crashed")
    }
    assert endings == {"done": 1, "requeued": 0, "failed": 0, "terminal": 0, "crashed": 0}


def test_the_names_are_those_of_client_go(queue: Queue[str], registry: CollectorRegistry) -> None:
    names = {metric.name for metric in registry.collect()}
    assert names >= {
        "workqueue_depth",
        "workqueue_adds",  # exported with the suffix _total, as every counter
        "workqueue_queue_duration_seconds",
        "workqueue_work_duration_seconds",
        "workqueue_unfinished_work_seconds",
        "workqueue_longest_running_processor_seconds",
        "workqueue_retries",
    }
