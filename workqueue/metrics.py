"""client-go's metrics of work queues for Prometheus (informers.md 1.7.5)."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, get_args

from prometheus_client import CollectorRegistry, Histogram, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from workqueue.queue import Queue, Recorder, Statistics
from workqueue.worker import Ending, WorkerPool

_SECONDS = (1e-5, 1e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1000.0)


class _Histograms:
    def __init__(self, waited: Histogram, worked: Histogram) -> None:
        self.waited = waited.observe
        self.worked = worked.observe


class QueueCollector(Collector):
    """The metrics of all queues and worker pools of a process, each named by the label `name`.

    Counts and ages are read from the queues when they are scraped; only the two durations are recorded as they
    happen. Queues of one name would be told apart by nothing, so a second one raises ValueError. Thread-safe.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._lock = threading.Lock()
        self._queues: dict[str, Queue[Any]] = {}
        self._pools: dict[str, WorkerPool[Any]] = {}
        self._waited = Histogram(
            "workqueue_queue_duration_seconds",
            "Time that keys waited, from being added until being handed out",
            ["name"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._worked = Histogram(
            "workqueue_work_duration_seconds",
            "Time that keys were worked on, from being handed out until being done",
            ["name"],
            buckets=_SECONDS,
            registry=registry,
        )
        registry.register(self)

    def recorder(self, name: str) -> Recorder:
        """Return the recorder for the queue of that name, to be given to its constructor."""
        return _Histograms(self._waited.labels(name), self._worked.labels(name))

    def watch(self, queue: Queue[Any]) -> None:
        """Export the queue's statistics."""
        with self._lock:
            if queue.name in self._queues:
                raise ValueError(f"a queue named {queue.name!r} is already watched: give each queue its own name")
            self._queues[queue.name] = queue

    def watch_workers(self, pool: WorkerPool[Any]) -> None:
        """Export how the pool's attempts ended, in `workqueue_attempts_total`, which client-go does not have."""
        with self._lock:
            self._pools[pool.name] = pool

    def describe(self) -> Iterable[Metric]:
        """Return the families without samples, so that registering asks no queue."""
        return self._families({}, {})

    def collect(self) -> Iterable[Metric]:
        """Return the state of all queues now."""
        with self._lock:
            queues = dict(self._queues)
            pools = dict(self._pools)
        statistics = {name: queue.statistics() for name, queue in queues.items()}
        return self._families(statistics, {name: pool.endings() for name, pool in pools.items()})

    def _families(self, statistics: dict[str, Statistics], endings: dict[str, Any]) -> Iterable[Metric]:
        depth = _gauge("depth", "Keys that want a look")
        delayed = _gauge("delayed", "Keys whose delay has not passed")
        unfinished = _gauge("unfinished_work_seconds", "Ages of all the work in hand, added up")
        longest = _gauge("longest_running_processor_seconds", "Age of the oldest work in hand")
        adds = CounterMetricFamily("workqueue_adds", "Adds that were not merged into an earlier one", labels=["name"])
        retries = CounterMetricFamily("workqueue_retries", "Keys added again after a failure", labels=["name"])
        attempts = CounterMetricFamily("workqueue_attempts", "Attempts by how they ended", labels=["name", "ending"])
        for name, state in statistics.items():
            depth.add_metric([name], state.depth)
            delayed.add_metric([name], state.delayed)
            unfinished.add_metric([name], state.unfinished_work_seconds)
            longest.add_metric([name], state.longest_running_processor_seconds)
            adds.add_metric([name], state.adds_total)
            retries.add_metric([name], state.retries_total)
        for name, counts in endings.items():
            for ending in get_args(Ending):
                attempts.add_metric([name, ending], counts.get(ending, 0))
        return [depth, delayed, unfinished, longest, adds, retries, attempts]


def _gauge(name: str, documentation: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"workqueue_{name}", documentation, labels=["name"])
