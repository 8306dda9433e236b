"""One sync of one MPIJob: observe, plan, apply, and when to look again (lifecycle.md 10, informers.md 1.8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from random import Random
from typing import TypeAlias

import msgspec
import structlog

from clockwork import Clock
from informers.errors import TooManyRequests
from informers.metadata import split_key
from informers.object_identity import Identity
from informers.owner import Owner
from informers.resource import Resource
from informers.written_versions import WrittenVersions
from mpi_operator.api.observed import Secret
from mpi_operator.api.types import MPIJob
from mpi_operator.metrics import Metrics
from mpi_operator.plan.outcome import Plan, Refusal
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from mpi_operator.shell.announced import Announced
from mpi_operator.shell.apply import Applier, Outcome, Written
from mpi_operator.shell.child_caches import ChildCaches
from mpi_operator.shell.observe import Holder, Observer
from mpi_operator.shell.resources import SECRETS
from mpi_operator.shell.secret_memory import SecretMemory
from workqueue import Attempt, Done, ExponentialLimiter, RequeueAfter, Result

STALE_SECONDS = 0.05
HELD_SECONDS = 1.0
OUTDATED_SECONDS = 0.1
REFUSAL_BASE_SECONDS = 1.0
REFUSAL_CAP_SECONDS = 300.0
ROUNDS = 3

_log = structlog.get_logger(__name__)


Decide: TypeAlias = Callable[[Snapshot, Settings, datetime], Plan]
DecideAgain: TypeAlias = Callable[[Snapshot, Plan, tuple[Refusal, ...], Settings, datetime], Plan]


class Planner(msgspec.Struct, frozen=True, kw_only=True):
    """The two decisions, both pure, and the settings that they read."""

    plan: Decide
    plan_after_refusal: DecideAgain
    settings: Settings


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """What a process remembers of jobs beyond the caches; all of it is forgotten with the job."""

    written: WrittenVersions
    secrets: SecretMemory
    announced: Announced

    def forget(self, job: MPIJob) -> None:
        """Forget a job that is gone; a namesake with another uid is not touched."""
        self.written.forget(Owner(job.key, job.metadata.uid))
        self.secrets.forget(job.metadata.uid)
        self.announced.forget(job.metadata.uid)


class Reconciler:
    """Reconciles MPIJobs by key; safe from any thread, for different keys.

    Promises: a job is planned only on caches that have seen this process's own writes for it; one key's failure
    touches no other. Raises ApiError for what a repetition may mend: the work queue repeats it with back-off. What
    the server refuses for good is repeated with a back-off of its own, of at most five minutes, that an edit of the
    job cuts short.
    """

    def __init__(
        self,
        *,
        caches: ChildCaches,
        last_versions: Callable[[], Mapping[str, str]],
        observer: Observer,
        planner: Planner,
        applier: Applier,
        memory: Memory,
        resources: Mapping[str, Resource],
        clock: Clock,
        random: Random,
        metrics: Metrics,
    ) -> None:
        self._caches = caches
        self._last_versions = last_versions
        self._observer = observer
        self._planner = planner
        self._applier = applier
        self._memory = memory
        self._resources = resources
        self._clock = clock
        self._metrics = metrics
        self._refusals: ExponentialLimiter[str] = ExponentialLimiter(
            REFUSAL_BASE_SECONDS, REFUSAL_CAP_SECONDS, jitter=0.1, random=random
        )

    def reconcile(self, key: str, attempt: Attempt) -> Result:  # noqa: ARG002 - every request has its own time limit
        """Sync the MPIJob of that key; a key that names none is done."""
        try:
            split_key(key)
        except ValueError as error:
            _log.error("a work key is malformed and is dropped", key=key, error=str(error))
            return Done()
        job = self._caches.mpi_jobs.get(key)
        if job is None:
            self._refusals.forget(key)
            return Done()
        owner = Owner(key, job.metadata.uid)
        stale = self._memory.written.find_stale(owner, self._last_versions())
        if stale:
            # To ask again costs next to nothing, and what has happened meanwhile should not wait for a gathered event.
            return self._end("stale", RequeueAfter(STALE_SECONDS))
        try:
            return self._sync(job, owner)
        finally:
            current = self._caches.mpi_jobs.get(key)
            if current is None or current.metadata.uid != job.metadata.uid:
                self._memory.forget(job)

    def _sync(self, job: MPIJob, owner: Owner) -> Result:
        def written(kind: str, identity: Identity, secret: Secret | None) -> None:
            self._note(job, owner, kind, identity, secret)

        holders: dict[Holder, None] = {}
        for _ in range(ROUNDS):
            snapshot = self._observer.observe(job, tuple(holders))
            plan = self._planner.plan(snapshot, self._planner.settings, self._now())
            outcome = self._applier.apply(job, plan, written=written)
            if outcome.is_job_outdated:
                live = self._observer.read_job(job)
                if live is None:
                    return self._end("gone", Done())
                job = live
            elif outcome.is_only_held:
                job = outcome.stored or job
                holders |= dict.fromkeys(outcome.holders)
            else:
                break
        if outcome.is_refused:
            return self._settle_refusals(job, snapshot, plan, outcome, written)
        return self._conclude(job.key, plan, outcome)

    def _now(self) -> datetime:
        """Return the time in whole seconds, which is what Kubernetes keeps."""
        return self._clock.wall().replace(microsecond=0)

    def _settle_refusals(
        self, job: MPIJob, snapshot: Snapshot, plan: Plan, outcome: Outcome, written: Written
    ) -> Result:
        """Record what the server refused, and try again later."""
        for refusal in outcome.refusals:
            _log.warning("the API server refused a write", key=job.key, error=refusal.message)
        following = self._planner.plan_after_refusal(
            snapshot, plan, outcome.refusals, self._planner.settings, self._now()
        )
        recorded = self._applier.apply(outcome.stored or job, following, written=written)
        if recorded.error is not None:
            raise recorded.error
        delay_seconds = self._refusals.when(job.key)
        if following.look_again_seconds is not None:
            delay_seconds = min(delay_seconds, following.look_again_seconds)
        return self._end("refused", RequeueAfter(delay_seconds))

    def _conclude(self, key: str, plan: Plan, outcome: Outcome) -> Result:
        if isinstance(outcome.error, TooManyRequests) and outcome.error.retry_after:
            return self._end("throttled", RequeueAfter(outcome.error.retry_after))
        if outcome.error is not None:
            self._metrics.syncs.labels("failed").inc()
            raise outcome.error
        if outcome.is_hopeless:
            return self._end("hopeless", Done())
        if outcome.is_job_outdated or outcome.is_outdated:
            return self._end("outdated", RequeueAfter(OUTDATED_SECONDS))
        if outcome.holders:
            return self._end("held", RequeueAfter(HELD_SECONDS))
        self._refusals.forget(key)
        if plan.look_again_seconds is not None:
            return self._end("requeued", RequeueAfter(plan.look_again_seconds))
        return self._end("done", Done())

    def _end(self, name: str, result: Result) -> Result:
        self._metrics.syncs.labels(name).inc()
        return result

    def _note(self, job: MPIJob, owner: Owner, kind: str, identity: Identity, secret: Secret | None) -> None:
        """Remember a write, so that the next sync waits until the caches have seen it."""
        resource = self._resources[kind]
        if secret is not None:
            self._memory.secrets.put(job.metadata.uid, secret)
        elif resource == SECRETS:
            # The next sync looks at what is there now, labels and all, and remembers that.
            self._memory.secrets.forget(job.metadata.uid)
        elif resource.name in self._last_versions():
            self._memory.written.record(owner, resource.name, identity.resource_version)
