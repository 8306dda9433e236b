"""A shell over a fake API server, whose caches are refreshed when a test says so, and not before."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from random import Random
from typing import Any, NamedTuple, Self

import msgspec
from prometheus_client import Counter

from clockwork import FakeClock, StopToken
from informers.metadata import build_key
from informers.resource import Resource
from informers.store import Store
from informers.testing import FakeApiServer, RecordedRequest
from informers.written_versions import WrittenVersions
from mpi_operator import names
from mpi_operator.api.observed import ConfigMap, Job, Pod, Service
from mpi_operator.api.types import MPIJob
from mpi_operator.events import EventType, ObjectReference
from mpi_operator.metrics import Metrics
from mpi_operator.plan.after_refusal import plan_after_refusal
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from mpi_operator.shell.announced import Announced
from mpi_operator.shell.apply import Applier
from mpi_operator.shell.child_caches import POD_INDEXERS, ChildCaches
from mpi_operator.shell.guarded_api import GuardedApi
from mpi_operator.shell.observe import Observer
from mpi_operator.shell.reconcile import Memory, Planner, Reconciler
from mpi_operator.shell.resources import CONFIG_MAPS, JOBS, MPI_JOBS, PODS, RESOURCES, SERVICES
from mpi_operator.shell.secret_memory import SecretMemory
from test.builders.jobs import JSONObject, a_raw_job
from workqueue import Attempt, Result

KEY = "default/pi"
WRITES = frozenset({"POST", "PATCH", "PUT", "DELETE"})
_TYPES: dict[Resource, type] = {MPI_JOBS: MPIJob, PODS: Pod, JOBS: Job, SERVICES: Service, CONFIG_MAPS: ConfigMap}


class Emitted(NamedTuple):
    """One event as it was given to the recorder."""

    type: str
    reason: str
    message: str


class EventList:
    """An event recorder that keeps what it is given."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.emitted: list[Emitted] = []

    def event(self, regarding: ObjectReference, event_type: EventType, reason: str, message: str, **_: object) -> None:
        with self._lock:
            self.emitted.append(Emitted(event_type, reason, message))

    @property
    def reasons(self) -> list[str]:
        return [event.reason for event in self.emitted]


class Shell:
    """Observer, applier and reconciler with a fake API server, clock and leadership; a context manager."""

    def __init__(self, **settings: Any) -> None:
        self.clock = FakeClock()
        self.events = EventList()
        self.metrics = Metrics()
        self.is_leader = True
        self.memory = self._new_memory()
        self._settings = Settings(**settings)
        self._stores: dict[Resource, Store[Any]] = {
            resource: Store(POD_INDEXERS if resource is PODS else None, name=resource.name) for resource in _TYPES
        }
        self.caches = ChildCaches(
            mpi_jobs=self._stores[MPI_JOBS],
            pods=self._stores[PODS],
            launcher_jobs=self._stores[JOBS],
            services=self._stores[SERVICES],
            config_maps=self._stores[CONFIG_MAPS],
        )
        self._stack = ExitStack()

    def _new_memory(self) -> Memory:
        return Memory(
            written=WrittenVersions(), secrets=SecretMemory(timer=self.clock.monotonic), announced=Announced()
        )

    def __enter__(self) -> Self:
        self.server = self._stack.enter_context(FakeApiServer(*RESOURCES.values()))
        self._transport = self._stack.enter_context(self.server.transport())
        self._executor = self._stack.enter_context(ThreadPoolExecutor(4))
        self.api = GuardedApi(self._transport, is_leader=lambda: self.is_leader, metrics=self.metrics, clock=self.clock)
        self._assemble()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _assemble(self) -> None:
        self.observer = Observer(self.caches, self.api, self.memory.secrets, self.memory.announced)
        self.applier = Applier(
            self.api,
            RESOURCES,
            executor=self._executor,
            events=self.events,
            announced=self.memory.announced,
            metrics=self.metrics,
        )
        self._reconciler = Reconciler(
            caches=self.caches,
            last_versions=lambda: {
                resource.name: store.last_resource_version for resource, store in self._stores.items()
            },
            observer=self.observer,
            planner=Planner(plan=plan, plan_after_refusal=plan_after_refusal, settings=self._settings),
            applier=self.applier,
            memory=self.memory,
            resources=RESOURCES,
            clock=self.clock,
            random=Random(1),
            metrics=self.metrics,
        )

    def restart(self) -> None:
        """Forget what a process remembers, as its successor does."""
        self.memory = self._new_memory()
        self._assemble()

    def submit(self, **job: Any) -> JSONObject:
        """Store a job on the server and show it to the caches."""
        stored = self.server.put(MPI_JOBS, a_raw_job(**job))
        self.refresh()
        return stored

    def refresh(self) -> None:
        """Let the caches see what is on the server now: of children, what has the operator's label."""
        version = self.server.resource_version
        for resource, store in self._stores.items():
            found: dict[str, Any] = {
                build_key(each["metadata"]["namespace"], each["metadata"]["name"]): msgspec.convert(
                    each, _TYPES[resource]
                )
                for each in self.server.objects(resource)
                if resource is MPI_JOBS or names.LABEL_OPERATOR_NAME in each["metadata"].get("labels", {})
            }
            store.replace(found, version)

    def reconcile(self, key: str = KEY) -> Result:
        """Sync once, on the caches as they are."""
        attempt = Attempt(number=1, deadline=60.0, stop=StopToken(), clock=self.clock)
        return self._reconciler.reconcile(key, attempt)

    def settle(self, key: str = KEY, *, tries: int = 8) -> Result:
        """Refresh and sync until a sync writes nothing, and return its result."""
        for _ in range(tries):
            self.refresh()
            before = len(self.writes)
            result = self.reconcile(key)
            if len(self.writes) == before:
                return result
        raise AssertionError(f"still writing after {tries} syncs: {[each.path for each in self.writes]}")

    @property
    def writes(self) -> list[RecordedRequest]:
        """The requests so far that change something."""
        return [request for request in self.server.requests if request.method in WRITES]

    def job(self, name: str = "pi") -> JSONObject:
        found = self.server.find(MPI_JOBS, "default", name)
        assert found is not None
        return found

    def condition(self, kind: str) -> JSONObject:
        """The job's condition of that type on the server, empty if there is none."""
        conditions = self.job().get("status", {}).get("conditions", ())
        return next((dict(each) for each in conditions if each["type"] == kind), {})

    def children(self) -> list[str]:
        """Every child on the server, as `Kind name`."""
        return sorted(
            f"{resource.kind} {each['metadata']['name']}"
            for resource in RESOURCES.values()
            if resource is not MPI_JOBS
            for each in self.server.objects(resource)
        )


def value_of(counter: Counter, *labels: str) -> float:
    """What a counter has counted."""
    chosen = counter.labels(*labels) if labels else counter
    return next(sample.value for metric in chosen.collect() for sample in metric.samples if "_total" in sample.name)
