"""The operator's own series, and its view of the libraries', for Prometheus (B261-B267)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from informers.metrics import InformerReadings
from mpi_operator.events import Counts
from mpi_operator.http_server import Page, Pages

_REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class JobInfo(msgspec.Struct, frozen=True):
    """An accepted MPIJob as the info series show it: its launcher Job's name, and the launcher pods it has now."""

    namespace: str
    launcher: str
    launcher_pods: tuple[str, ...] = ()


class Metrics:
    """Every series that is pushed, and the registry of all. Safe from any thread.

    The job counters count transitions since this process began: each is counted once its status write has succeeded,
    by the one process that wrote it. It is a `leader_election.Metrics` too.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.jobs_created = self._counter("mpi_operator_jobs_created_total", "Counts number of MPI jobs created")
        self.jobs_successful = self._counter(
            "mpi_operator_jobs_successful_total", "Counts number of MPI jobs successful"
        )
        self.jobs_failed = self._counter("mpi_operator_jobs_failed_total", "Counts number of MPI jobs failed")
        self.jobs_undecodable = self._counter(
            "mpi_operator_jobs_undecodable_total", "Counts versions of MPI jobs that could not be read"
        )
        self.syncs = self._counter("mpi_operator_syncs_total", "Counts syncs of MPI jobs by their result", "result")
        self.child_writes = self._counter(
            "mpi_operator_child_writes_total", "Counts writes of children", "verb", "kind", "result"
        )
        self._requests = self._counter(
            "mpi_operator_api_requests_total", "Counts requests to the API server", "verb", "resource", "code"
        )
        self._request_seconds = Histogram(
            "mpi_operator_api_request_duration_seconds",
            "Time from sending a request to the API server to its answer",
            ["verb"],
            buckets=_REQUEST_SECONDS,
            registry=self.registry,
        )
        self.throttled_seconds = self._counter(
            "mpi_operator_api_throttled_seconds_total", "Counts seconds that requests waited for --kube-api-qps"
        )
        self._is_leader = Gauge(
            "mpi_operator_is_leader",
            "Is this client the leader of this mpi-operator client set?",
            registry=self.registry,
        )
        self._is_leader.set(0)
        self._transitions = Gauge(
            "mpi_operator_leader_transitions", "Transitions of the Lease as last seen", registry=self.registry
        )
        self._slow_renewals = self._counter(
            "mpi_operator_leader_slow_renewals_total", "Counts renewals that had to read the Lease first"
        )

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(name, documentation, labels, registry=self.registry)

    def record_request(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """Count one request; `code` 0 means that there was no answer."""
        self._requests.labels(verb, resource, str(code)).inc()
        self._request_seconds.labels(verb).observe(seconds)

    def set_leader(self, name: str, *, is_leader: bool) -> None:  # noqa: ARG002 - there is one Lease
        """Set the gauge that is 1 from the start of leading to its end (B266)."""
        self._is_leader.set(int(is_leader))

    def set_transitions(self, name: str, transitions: int) -> None:  # noqa: ARG002 - there is one Lease
        """Set the gauge of the Lease's transitions."""
        self._transitions.set(transitions)

    def count_slow_renewal(self, name: str) -> None:  # noqa: ARG002 - there is one Lease
        """Count a renewal that had to read the Lease first."""
        self._slow_renewals.inc()


class JobInfoCollector(Collector):
    """The info series of the jobs that exist, read at each scrape, so that none is lost nor left over.

    `read` returns the jobs of this process: nothing unless it leads.
    """

    def __init__(self, read: Callable[[], Iterable[JobInfo]]) -> None:
        self._read = read

    def describe(self) -> Iterable[Metric]:
        """Return the families without samples, so that registering reads nothing."""
        return self._families(())

    def collect(self) -> Iterable[Metric]:
        """Return a sample for each job, and one for each launcher pod."""
        return self._families(self._read())

    def _families(self, jobs: Iterable[JobInfo]) -> Iterable[Metric]:
        info = GaugeMetricFamily("mpi_operator_job_info", "Information about MPIJob", labels=["launcher", "namespace"])
        pods = GaugeMetricFamily(
            "mpi_operator_job_launcher_pod_info",
            "Names the pods of a launcher, to be joined with other series of pods",
            labels=["launcher", "namespace", "pod"],
        )
        for job in jobs:
            info.add_metric([job.launcher, job.namespace], 1)
            for pod in job.launcher_pods:
                pods.add_metric([job.launcher, job.namespace, pod], 1)
        return (info, pods)


class EventCollector(Collector):
    """What became of the events about jobs, read at each scrape."""

    def __init__(self, read: Callable[[], Counts]) -> None:
        self._read = read

    def describe(self) -> Iterable[Metric]:
        """Return the family without samples."""
        return self._families({})

    def collect(self) -> Iterable[Metric]:
        """Return the counts of now."""
        return self._families(msgspec.structs.asdict(self._read()))

    def _families(self, counts: Mapping[str, int]) -> Iterable[Metric]:
        family = CounterMetricFamily("mpi_operator_events", "Counts events by what became of them", labels=["result"])
        for result, count in counts.items():
            family.add_metric([result], count)
        return (family,)


class InformerCollector(Collector):
    """The readings of all informers, taken at each scrape (informers.md 1.2.10)."""

    def __init__(self, read: Callable[[], Iterable[InformerReadings]]) -> None:
        self._read = read

    def describe(self) -> Iterable[Metric]:
        """Return the families without samples."""
        return self._families(())

    def collect(self) -> Iterable[Metric]:
        """Return every informer's readings of now."""
        return self._families(tuple(self._read()))

    def _families(self, all_readings: Iterable[InformerReadings]) -> Iterable[Metric]:
        lists = _counter("lists", "Lists by their result", "result")
        watches = _counter("watches", "Watches by their end", "end")
        events = _counter("events", "Watch events by their type", "type")
        faults = _counter("decode_errors", "Objects that could not be read")
        list_seconds = SummaryMetricFamily("informer_list_seconds", "Time that lists took", labels=["informer"])
        watch_seconds = SummaryMetricFamily("informer_watch_seconds", "Time that watches lasted", labels=["informer"])
        objects = _gauge("store_objects", "Objects in the cache")
        synced = _gauge("synced", "Whether the cache holds a whole list")
        age = _gauge("last_event_age_seconds", "Time since the last event or bookmark: a hanging watch lets it grow")
        for readings in all_readings:
            name = [readings.name]
            for family, counts in ((lists, readings.lists), (watches, readings.watches), (events, readings.events)):
                _add_counts(family, readings.name, counts)
            faults.add_metric(name, readings.decode_errors)
            list_seconds.add_metric(name, readings.list_time.count, readings.list_time.seconds)
            watch_seconds.add_metric(name, readings.watch_time.count, readings.watch_time.seconds)
            objects.add_metric(name, readings.store_objects)
            synced.add_metric(name, int(readings.is_synced))
            if readings.last_event_age_seconds is not None:
                age.add_metric(name, readings.last_event_age_seconds)
        return (lists, watches, events, faults, list_seconds, watch_seconds, objects, synced, age)


def _counter(name: str, documentation: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"informer_{name}", documentation, labels=["informer", *labels])


def _gauge(name: str, documentation: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"informer_{name}", documentation, labels=["informer"])


def _add_counts(family: CounterMetricFamily, informer: str, counts: Mapping[str, int]) -> None:
    for label, count in counts.items():
        family.add_metric([informer, label], count)


def build_metrics_pages(registry: CollectorRegistry) -> Pages:
    """Return `/metrics`, in the text format that the scraper asks for."""

    def answer(headers: Mapping[str, str]) -> Page:
        encode, content_type = choose_encoder(headers.get("Accept", ""))
        return Page(encode(registry), content_type=content_type)

    return {"/metrics": answer}
