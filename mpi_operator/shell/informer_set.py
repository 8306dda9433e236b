"""The informers of MPIJobs and their children, and what their events put into the queue (B060-B066, lifecycle.md 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any, TypeVar

import structlog

from clockwork import Clock, StopToken
from informers.api import Api
from informers.errors import Forbidden, Unauthorized
from informers.informer import Informer
from informers.list_watch import Undecodable
from informers.metadata import KubernetesObject
from informers.metrics import InformerReadings
from informers.notifications import Deleted
from informers.resource import Resource
from informers.resource_list_watch import ResourceListWatch
from informers.store import Store
from informers.sync import SyncTimeoutError, start_informers, wait_for_sync
from mpi_operator import names
from mpi_operator.api.observed import ConfigMap, Group, Job, Pod, PriorityClass, Service
from mpi_operator.api.types import MPIJob
from mpi_operator.children.pod_group.scheduler import names_priority_class
from mpi_operator.shell.child_caches import POD_INDEXERS, Child, ChildCaches
from mpi_operator.shell.gang import GangResources
from mpi_operator.shell.resources import CONFIG_MAPS, JOBS, MPI_JOBS, PODS, PRIORITY_CLASSES, RESOURCES, SERVICES
from workqueue import INITIAL_PRIORITY, Queue

BURST_SECONDS = 0.1
"""How long updates of a job's pods are gathered: many pods often change together (lifecycle.md 6).

So are new children, and updates of its status and its ConfigMap, which are mostly our own writes: each would else be
followed by a look at once, and by a write for the few pods that have changed since.
"""

ObjectT = TypeVar("ObjectT", bound=KubernetesObject)

_PATIENCE_SECONDS = 300.0
_log = structlog.get_logger(__name__)


class InformerSet:
    """The informers of MPIJobs, and of the pods, Jobs, Services and ConfigMaps that carry the operator's label.

    There is none for Secrets (security.md). Every event adds the keys of the MPIJobs that should look to `queue`,
    without a limit (B059) and at once, but for frequent updates, which are gathered for a moment; those of the first
    lists get a low priority. `on_deleted` hears of each MPIJob that is gone, `on_undecodable` of each version of one
    that cannot be read. `namespace` "" means all. `resources` holds the resource of each kind, a gang scheduler's too
    once it is known. Safe from any thread.
    """

    def __init__(
        self,
        api: Api,
        queue: Queue[str],
        *,
        namespace: str,
        clock: Clock,
        random: Random,
        stop: StopToken,
        on_deleted: Callable[[MPIJob], None],
        on_undecodable: Callable[[Undecodable], None],
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        self._api = api
        self._queue = queue
        self._namespace = namespace
        self._clock = clock
        self._random = random
        self._stop = stop
        self._on_fatal = on_fatal
        self._mpi_jobs = self._build(MPI_JOBS, MPIJob, on_undecodable=on_undecodable)
        self._launcher_jobs = self._build(JOBS, Job)
        self._pods = self._build(PODS, Pod, indexers=POD_INDEXERS)
        self._services = self._build(SERVICES, Service)
        self._config_maps = self._build(CONFIG_MAPS, ConfigMap)
        self.caches = ChildCaches(
            mpi_jobs=self._mpi_jobs.store,
            pods=self._pods.store,
            launcher_jobs=self._launcher_jobs.store,
            services=self._services.store,
            config_maps=self._config_maps.store,
        )
        self.resources: dict[str, Resource] = dict(RESOURCES)
        self._required: dict[Resource, Informer[Any]] = {
            MPI_JOBS: self._mpi_jobs,
            JOBS: self._launcher_jobs,
            PODS: self._pods,
            SERVICES: self._services,
            CONFIG_MAPS: self._config_maps,
        }
        self._optional: dict[Resource, Informer[Any]] = {}
        self._mpi_jobs.add_handler(_JobHandler(queue, on_deleted), name="queue", enqueue_keys=True)
        children = _ChildHandler(queue, self.caches.owner_keys)
        self._launcher_jobs.add_handler(children, name="queue", enqueue_keys=True)
        bursting = _ChildHandler(queue, self.caches.owner_keys, is_bursting=True)
        self._pods.add_handler(bursting, name="queue", enqueue_keys=True)
        self._services.add_handler(children, name="queue", enqueue_keys=True)
        self._config_maps.add_handler(bursting, name="queue", enqueue_keys=True)

    def _build(self, resource: Resource, object_type: type[ObjectT], **settings: Any) -> Informer[ObjectT]:  # noqa: ANN401 - the informer's own
        selector = "" if resource in {MPI_JOBS, PRIORITY_CLASSES} else names.OPERATOR_SELECTOR
        list_watch = ResourceListWatch(
            self._api, resource, object_type, namespace=self._namespace, label_selector=selector
        )
        return Informer(
            list_watch,
            clock=self._clock,
            random=self._random,
            stop_token=self._stop,
            on_fatal=self._on_fatal,
            **settings,
        )

    def add_gang(self, gang: GangResources) -> None:
        """Know a gang scheduler's objects, follow them if they are served, and PriorityClasses in any case.

        To be called before `start()`. Nothing waits for PriorityClasses, which a namespaced role cannot read (A2.9).
        """
        self._follow(gang)
        classes = self._build(PRIORITY_CLASSES, PriorityClass)
        classes.add_handler(_PriorityClassHandler(self._queue, self._mpi_jobs.store), name="queue", enqueue_keys=True)
        self._optional[PRIORITY_CLASSES] = classes

    def start_gang(self, gang: GangResources) -> None:
        """Follow a gang scheduler's objects that are served now, and were not at the start.

        Returns when they are listed and every job is about to be looked at; raises Stopped. It is never given up.
        """
        informers = self._follow(gang)
        for informer in informers:
            informer.start()
        while True:
            try:
                wait_for_sync(informers, timeout_seconds=_PATIENCE_SECONDS, clock=self._clock, stop=self._stop)
            except SyncTimeoutError as error:
                _log.error("the gang scheduler's objects cannot be listed; check the RBAC rules", error=str(error))
            else:
                break
        for job in self._mpi_jobs.store.list():
            self._queue.add(job.key)

    def _follow(self, gang: GangResources) -> tuple[Informer[Group], ...]:
        self.resources.update({resource.kind: resource for resource in gang.resources})
        if not gang.are_served:
            return ()
        informers = {resource: self._build(resource, Group) for resource in gang.resources}
        for informer in informers.values():
            informer.add_handler(_ChildHandler(self._queue, self.caches.owner_keys), name="queue", enqueue_keys=True)
        self.caches.groups.add(informers)
        # Others may be iterating over what is there.
        self._required = {**self._required, **informers}
        return tuple(informers.values())

    @property
    def _informers(self) -> tuple[Informer[Any], ...]:
        return (*self._required.values(), *self._optional.values())

    def start(self) -> None:
        """Start the informers, MPIJobs and Jobs first; return when the last has been started."""
        start_informers(self._informers, stop=self._stop)

    def wait_for_sync(self, timeout_seconds: float) -> None:
        """Wait until all required caches are filled; raise SyncTimeoutError, naming what is missing, or Stopped."""
        wait_for_sync(
            tuple(self._required.values()), timeout_seconds=timeout_seconds, clock=self._clock, stop=self._stop
        )

    def check(self) -> str | None:
        """Return what is not synced, or may not be followed any more (B065), as a readiness check."""
        faults = [f"{each.name} ({fault})" for each in self._required.values() if (fault := _find_fault(each))]
        return f"caches are not synced: {', '.join(faults)}" if faults else None

    def last_versions(self) -> dict[str, str]:
        """Return the version up to which each store has seen changes, by the resource's name."""
        informers = {**self._required, **self._optional}
        return {resource.name: each.store.last_resource_version for resource, each in informers.items()}

    def readings(self) -> Iterable[InformerReadings]:
        """Return all informers' readings, for metrics."""
        return [informer.readings() for informer in self._informers]

    def stop(self, timeout_seconds: float) -> list[str]:
        """Stop all informers and join their threads; return the names of those that did not end."""
        deadline = self._clock.monotonic() + timeout_seconds
        left: list[str] = []
        for informer in self._informers:
            remaining = max(0.0, deadline - self._clock.monotonic())
            left += informer.stop(drain=False, timeout_seconds=remaining)
        return left


def _find_fault(informer: Informer[Any]) -> str | None:
    """Return what is missing; a broken connection is no fault, for it is mended by itself."""
    missing, error = informer.waiting_for(), informer.last_error
    if missing is None and isinstance(error, Forbidden | Unauthorized):
        return f"not followed any more; latest error: {error}"
    return missing


class _JobHandler:
    def __init__(self, queue: Queue[str], on_deleted: Callable[[MPIJob], None]) -> None:
        self._queue = queue
        self._on_deleted = on_deleted

    def on_add(self, obj: MPIJob, *, is_initial: bool) -> None:
        self._queue.add(obj.key, priority=INITIAL_PRIORITY if is_initial else 0)

    def on_update(self, old: MPIJob, new: MPIJob) -> None:
        is_edit = old.metadata.generation != new.metadata.generation or old.metadata.uid != new.metadata.uid
        self._queue.add_after(new.key, 0.0 if is_edit else BURST_SECONDS)

    def on_delete(self, deleted: Deleted[MPIJob]) -> None:
        if deleted.last_known is not None:
            self._on_deleted(deleted.last_known)


class _PriorityClassHandler:
    """Has the jobs looked at that name a PriorityClass: without it their pods were refused (B063)."""

    def __init__(self, queue: Queue[str], mpi_jobs: Store[MPIJob]) -> None:
        self._queue = queue
        self._mpi_jobs = mpi_jobs

    def on_add(self, obj: PriorityClass, *, is_initial: bool) -> None:
        if not is_initial:
            self._look(obj.metadata.name)

    def on_update(self, old: PriorityClass, new: PriorityClass) -> None:
        if old.metadata.resource_version != new.metadata.resource_version:
            self._look(new.metadata.name)

    def on_delete(self, deleted: Deleted[PriorityClass]) -> None:
        if deleted.last_known is not None:
            self._look(deleted.last_known.metadata.name)

    def _look(self, name: str) -> None:
        for job in self._mpi_jobs.list():
            if names_priority_class(job, name):
                self._queue.add(job.key)


class _ChildHandler:
    """Has a child's job looked at: once for a burst of new ones, and of updates if `is_bursting`; else at once."""

    def __init__(
        self, queue: Queue[str], owner_keys: Callable[[Child], tuple[str, ...]], *, is_bursting: bool = False
    ) -> None:
        self._queue = queue
        self._owner_keys = owner_keys
        self._update_seconds = BURST_SECONDS if is_bursting else 0.0

    def on_add(self, obj: Child, *, is_initial: bool) -> None:
        for key in self._owner_keys(obj):
            if is_initial:
                self._queue.add(key, priority=INITIAL_PRIORITY)
            else:
                self._queue.add_after(key, BURST_SECONDS)

    def on_update(self, old: Child, new: Child) -> None:
        if old.metadata.resource_version == new.metadata.resource_version:
            return
        for key in dict.fromkeys((*self._owner_keys(new), *self._owner_keys(old))):
            self._queue.add_after(key, self._update_seconds)

    def on_delete(self, deleted: Deleted[Any]) -> None:
        if deleted.last_known is not None:
            for key in self._owner_keys(deleted.last_known):
                self._queue.add(key)
