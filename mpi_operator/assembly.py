"""One operator: every component of the process, built once, started and stopped in order (lifecycle.md 11)."""

from __future__ import annotations

import contextlib
import gc
import threading
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from random import Random

import msgspec
import structlog

from clockwork import Clock, OwnedThread, StopToken
from informers.api import Api
from informers.errors import Stopped
from informers.list_watch import Undecodable
from informers.sync import SyncTimeoutError
from informers.written_versions import WrittenVersions
from mpi_operator import names
from mpi_operator.api.types import MPIJob
from mpi_operator.events import Correlation, ObjectReference, Recorder, Source
from mpi_operator.health import Check
from mpi_operator.leader_election import Callbacks, Elector, End, Health, Outcome, build_identity
from mpi_operator.leader_election import Options as ElectionOptions
from mpi_operator.metrics import EventCollector, InformerCollector, JobInfo, JobInfoCollector, Metrics
from mpi_operator.options import Options
from mpi_operator.reasons import DECODE_ERROR
from mpi_operator.shell.announced import Announced
from mpi_operator.shell.apply import Applier
from mpi_operator.shell.child_caches import BY_JOB_LABEL
from mpi_operator.shell.gang import GangDiscovery
from mpi_operator.shell.guarded_api import GuardedApi
from mpi_operator.shell.informer_set import InformerSet
from mpi_operator.shell.observe import Observer
from mpi_operator.shell.reconcile import Memory, Planner, Reconciler
from mpi_operator.shell.resources import MPI_JOBS
from mpi_operator.shell.secret_memory import SecretMemory
from mpi_operator.shell.served import ServedCheck
from workqueue import (
    BucketLimiter,
    ExponentialLimiter,
    MaxOfLimiter,
    PriorityOrder,
    Queue,
    QueueCollector,
    WorkerPool,
)

JOB_COMPONENT = "mpi-job-controller"
QUEUE_NAME = "mpijobs"
RETRY_CAP_SECONDS = 300.0
PARALLEL_WRITES = 16
JOIN_SECONDS = 12.0
FLUSH_SECONDS = 3.0
CREATED = "Created"

EXIT_STOPPED = 0
EXIT_FAILED = 1
EXIT_LEADERSHIP_LOST = 3

_log = structlog.get_logger(__name__)


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator takes from its surroundings: time, chance, its host's name, and its two connections.

    `election_api` is for the leader election alone, so that no burst of other requests delays a renewal.
    """

    clock: Clock
    random: Random
    hostname: str
    api: Api
    election_api: Api


class Operator:
    """The components of one process.

    `start()` once, then `join()`, which returns when the operator has ended: after `stop()`, or by itself. Caches are
    filled at once, also in a standby; the workers run from when this process leads and its caches are synced.
    """

    def __init__(self, options: Options, planner: Planner, environment: Environment, metrics: Metrics) -> None:
        clock, random = environment.clock, environment.random
        self._options = options
        self._clock = clock
        self._metrics = metrics
        self._stop = StopToken(clock=clock)
        self._synced = StopToken(clock=clock)
        self._lock = threading.Lock()
        self._exit_code = EXIT_STOPPED
        self._pool: WorkerPool[str] | None = None
        self._threads: list[OwnedThread] = []

        self._memory = Memory(
            written=WrittenVersions(), secrets=SecretMemory(timer=clock.monotonic), announced=Announced()
        )
        self._events = Recorder(
            environment.api, Correlation(Source(component=JOB_COMPONENT)), clock=clock, random=random
        )
        self._election_events = Recorder(
            environment.election_api, Correlation(Source(component=names.OPERATOR_NAME)), clock=clock, random=random
        )
        self._queues = QueueCollector(metrics.registry)
        self._queue = _build_queue(options, clock, random, self._queues)
        self._served = ServedCheck(environment.api, namespace=options.namespace)
        self._gang = GangDiscovery(environment.api, options.gang_scheduling) if options.gang_scheduling else None
        self._informers = InformerSet(
            environment.api,
            self._queue,
            namespace=options.namespace,
            clock=clock,
            random=random,
            stop=self._stop,
            on_deleted=self._memory.forget,
            on_undecodable=self._report_undecodable,
            on_fatal=self._fail,
        )
        self._elector = Elector(
            environment.election_api,
            _build_election_options(options, environment.hostname, random),
            Callbacks(on_started=self._lead, stop_workers=self._stop_workers, on_stopped=lambda: None),
            self._election_events,
            clock=clock,
            random=random,
            metrics=metrics,
        )
        self._executor = ThreadPoolExecutor(PARALLEL_WRITES, thread_name_prefix="write")
        self._reconciler = self._build_reconciler(planner, environment)
        metrics.registry.register(InformerCollector(self._informers.readings))
        metrics.registry.register(JobInfoCollector(self._job_infos))
        metrics.registry.register(EventCollector(self._events.counts))

    def _build_reconciler(self, planner: Planner, environment: Environment) -> Reconciler:
        api = GuardedApi(
            environment.api, is_leader=self._elector.is_leader, metrics=self._metrics, clock=environment.clock
        )
        applier = Applier(
            api,
            self._informers.resources,
            executor=self._executor,
            events=self._events,
            announced=self._memory.announced,
            metrics=self._metrics,
        )
        return Reconciler(
            caches=self._informers.caches,
            last_versions=self._informers.last_versions,
            observer=Observer(
                self._informers.caches,
                api,
                self._memory.secrets,
                self._memory.announced,
                resources=self._informers.resources,
            ),
            planner=planner,
            applier=applier,
            memory=self._memory,
            resources=self._informers.resources,
            clock=environment.clock,
            random=environment.random,
            metrics=self._metrics,
        )

    @property
    def liveness(self) -> Check:
        """The check of `/healthz`."""
        return Health(self._elector, lease_duration_seconds=self._options.leader_elect_lease_duration_seconds).check

    @property
    def readiness(self) -> dict[str, Check]:
        """The checks of `/readyz`."""
        name = f"gangScheduling/{self._options.gang_scheduling}"
        gang = {} if self._gang is None else {name: self._gang.check}
        return {"crd": self._served.check, **gang, "caches": self._informers.check, "leaderElection": self.liveness}

    def start(self) -> None:
        """Begin to fill the caches and to seek leadership."""
        self._threads = [
            OwnedThread("startup", self._fill_caches, on_error=self._fail).start(),
            OwnedThread("leader-election", self._elect, on_error=self._fail).start(),
        ]

    def stop(self, reason: str) -> None:
        """Begin the ordered stop; return at once. Idempotent."""
        self._stop.set(reason)

    def join(self) -> int:
        """Wait until the operator has stopped, end what is left of it, and return the process's exit code.

        The order: the election, which stops the workers, flushes their events and gives the Lease back; then the
        informers and the election's events.
        """
        for thread in self._threads:
            thread.join()
        left = self._informers.stop(JOIN_SECONDS)
        self._events.close(FLUSH_SECONDS)
        self._election_events.close(FLUSH_SECONDS)
        self._executor.shutdown(wait=not left)
        return self._exit_code

    def _end(self, exit_code: int, reason: str) -> None:
        """Stop everything; the first exit code that is not that of a clean stop stays."""
        with self._lock:
            if self._exit_code == EXIT_STOPPED:
                self._exit_code = exit_code
        self._stop.set(reason)

    def _fail(self, error: BaseException) -> None:
        _log.critical("a thread that the operator needs has died; the process ends", exc_info=error)
        self._end(EXIT_FAILED, f"an internal failure: {error!r}")

    def _fill_caches(self) -> None:
        if not self._served.wait(self._stop):
            return
        try:
            is_gang_late = self._gang is not None and not self._add_gang(self._gang)
            self._informers.start()
            self._informers.wait_for_sync(self._options.startup_timeout_seconds)
        except SyncTimeoutError as error:
            _log.critical("the caches could not be filled; check the API server and the RBAC rules", error=str(error))
            self._end(EXIT_FAILED, str(error))
        except Stopped:
            return
        else:
            gc.collect()
            gc.freeze()
            _log.info("the caches are filled")
            self._synced.set("the caches are filled")
            if self._gang is not None and is_gang_late:
                self._await_gang(self._gang)

    def _add_gang(self, discovery: GangDiscovery) -> bool:
        """Have the gang scheduler's objects followed; return whether they are served."""
        gang = discovery.find(self._stop)
        self._informers.add_gang(gang)
        return gang.are_served

    def _await_gang(self, discovery: GangDiscovery) -> None:
        """Follow the gang scheduler's objects from when its API is served."""
        gang = discovery.wait(self._stop)
        with contextlib.suppress(Stopped):
            if gang.are_served:
                self._informers.start_gang(gang)

    def _elect(self) -> None:
        outcome: Outcome = self._elector.run(self._stop)
        if outcome.end is End.LOST:
            _log.error("leadership was lost; the process ends so that a fresh one competes", reason=outcome.reason)
            self._end(EXIT_LEADERSHIP_LOST, f"leadership was lost: {outcome.reason}")
        elif outcome.end is End.FAILED:
            _log.critical("the leader's work failed", reason=outcome.reason, exc_info=outcome.error)
            self._end(EXIT_FAILED, f"the leader's work failed: {outcome.reason}")
        elif not outcome.workers_ended:
            self._end(EXIT_FAILED, "workers did not end in time")

    def _lead(self, term: StopToken) -> None:
        """Start the workers once the caches are filled, unless the term is over by then."""
        begin = StopToken(clock=self._clock)
        forgets = [token.on_set(lambda: begin.set("decided")) for token in (self._synced, term)]
        begin.wait()
        for forget in forgets:
            forget()
        with self._lock:
            if term.is_set():
                return
            self._pool = WorkerPool(
                self._queue,
                self._reconciler.reconcile,
                size=self._options.threadiness,
                stop=term,
                clock=self._clock,
                on_error=self._fail,
            )
            self._queues.watch_workers(self._pool)
            self._pool.start()
        _log.info("leading; the workers run", workers=self._options.threadiness)

    def _stop_workers(self, timeout_seconds: float) -> bool:
        """Stop the queue, join the workers, and have their events written."""
        with self._lock:
            pool = self._pool
        if pool is None:
            return True
        dropped = pool.stop()
        alive = pool.join(min(timeout_seconds, JOIN_SECONDS))
        self._events.close(FLUSH_SECONDS)
        _log.info("the workers have stopped", dropped=dropped, alive=alive)
        return not alive

    def _report_undecodable(self, undecodable: Undecodable) -> None:
        """Tell the user of an MPIJob that cannot be read, once for each of its versions (A2.14)."""
        if not self._memory.announced.announce(undecodable.uid, f"undecodable {undecodable.resource_version}"):
            return
        self._metrics.jobs_undecodable.inc()
        if not self._elector.is_leader():
            return
        reference = ObjectReference(
            api_version=MPI_JOBS.api_version,
            kind=MPI_JOBS.kind,
            namespace=undecodable.namespace,
            name=undecodable.name,
            uid=undecodable.uid,
        )
        job = f"{undecodable.namespace}/{undecodable.name}"
        self._events.event(
            reference, "Warning", DECODE_ERROR.name, DECODE_ERROR.message(job=job, message=undecodable.error)
        )

    def _job_infos(self) -> Iterable[JobInfo]:
        if not self._elector.is_leader():
            return ()
        return [self._build_job_info(job) for job in self._informers.caches.mpi_jobs.list() if _is_accepted(job)]

    def _build_job_info(self, job: MPIJob) -> JobInfo:
        pods = self._informers.caches.pods.by_index(BY_JOB_LABEL, job.key)
        return JobInfo(
            namespace=job.metadata.namespace,
            launcher=names.launcher_name(job.metadata.name),
            launcher_pods=tuple(
                pod.metadata.name
                for pod in pods
                if pod.metadata.labels.get(names.LABEL_JOB_ROLE) == names.ROLE_LAUNCHER
            ),
        )


def _is_accepted(job: MPIJob) -> bool:
    return not job.spec.is_managed_elsewhere and any(
        condition.type == CREATED and condition.is_true for condition in job.status.conditions
    )


def _build_queue(options: Options, clock: Clock, random: Random, collector: QueueCollector) -> Queue[str]:
    limiter: MaxOfLimiter[str] = MaxOfLimiter(
        ExponentialLimiter(cap_seconds=RETRY_CAP_SECONDS, jitter=0.1, random=random),
        BucketLimiter(options.controller_queue_rate_limit, options.controller_queue_burst, clock=clock),
    )
    queue: Queue[str] = Queue(
        QUEUE_NAME, clock=clock, limiter=limiter, order=PriorityOrder(), recorder=collector.recorder(QUEUE_NAME)
    )
    collector.watch(queue)
    return queue


def _build_election_options(options: Options, hostname: str, random: Random) -> ElectionOptions:
    return ElectionOptions(
        namespace=options.lock_namespace,
        identity=build_identity(hostname, uuid.UUID(int=random.getrandbits(128), version=4)),
        lease_duration_seconds=options.leader_elect_lease_duration_seconds,
        renew_deadline_seconds=options.leader_elect_renew_deadline_seconds,
        retry_period_seconds=options.leader_elect_retry_period_seconds,
    )
