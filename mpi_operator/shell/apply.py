"""Carrying out a Plan: writes in its order, then what is due once they have succeeded (lifecycle.md 2, 6, 10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor

import msgspec
import structlog

from informers.api import MERGE_PATCH, Api
from informers.errors import ApiError, Conflict, NotFound
from informers.object_identity import Identity, decode_identity
from informers.resource import Resource
from informers.slow_start import start_slowly
from mpi_operator.actions import CreateWorkers, EnsureSecret
from mpi_operator.api.observed import Secret
from mpi_operator.api.types import MPIJob
from mpi_operator.events import EventRecorder, ObjectReference
from mpi_operator.metrics import Metrics
from mpi_operator.plan.outcome import Event, Plan, Refusal, Step
from mpi_operator.plan.status_patch import build_status_patch
from mpi_operator.reasons import SERVER_WARNING
from mpi_operator.shell.announced import Announced
from mpi_operator.shell.observe import Holder
from mpi_operator.shell.resources import MPI_JOBS
from mpi_operator.shell.send import Held, Hopeless, Outdated, Refused, Result, Sender, Sent, SingleAction
from mpi_operator.shell.warnings import WarningTap

_JOB_DECODER = msgspec.json.Decoder(MPIJob)
_log = structlog.get_logger(__name__)

Written = Callable[[str, Identity, Secret | None], None]
"""Is told of each write: the kind, the object's identity as the write left it, and a Secret that was made anew."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a plan.

    All fields empty: it was carried out. Else the first of these that is set says what follows. `error`: a failure
    that a repetition may mend. `is_hopeless`: the namespace is going. `is_job_outdated`: the job has changed since it
    was read. `is_outdated`: a child has. `refusals`: actions that the server refused for good. `holders`: names that
    others hold, to be planned with.
    `stored` is the job as the plan's own status write left it, or as it was read.
    """

    error: ApiError | None = None
    is_hopeless: bool = False
    is_job_outdated: bool = False
    is_outdated: bool = False
    refusals: tuple[Refusal, ...] = ()
    holders: tuple[Holder, ...] = ()
    stored: MPIJob | None = None

    @property
    def is_complete(self) -> bool:
        """Whether everything was done."""
        is_interrupted = self.error is not None or self.is_hopeless or self.is_job_outdated or self.is_outdated
        return not (is_interrupted or self.refusals or self.holders)

    @property
    def is_refused(self) -> bool:
        """Whether nothing but refusals, and names that others hold, kept the plan from being carried out."""
        return bool(self.refusals) and msgspec.structs.replace(self, refusals=(), holders=()).is_complete

    @property
    def is_only_held(self) -> bool:
        """Whether nothing but names that others hold kept the plan from being carried out."""
        return bool(self.holders) and msgspec.structs.replace(self, holders=()).is_complete


_COMPLETE = Outcome()


class Applier:
    """Carries out plans. Safe from any thread, for different jobs.

    `executor` bounds how many requests of all plans are under way at once; `apply` must not itself run in it.
    """

    def __init__(
        self,
        api: Api,
        resources: Mapping[str, Resource],
        *,
        executor: Executor,
        events: EventRecorder,
        announced: Announced,
        metrics: Metrics,
    ) -> None:
        self._api = api
        self._resources = resources
        self._executor = executor
        self._events = events
        self._announced = announced
        self._metrics = metrics

    def apply(self, job: MPIJob, plan: Plan, *, written: Written) -> Outcome:
        """Carry out `plan`, which was made for `job` as it was read. Never raises an ApiError: it is in the outcome.

        Events and counters are emitted only after the status write that they tell of; nothing after a failed one.
        """
        stored = job
        if plan.status_write == "first":
            outcome = self._write_status(job, plan, written)
            if outcome.stored is None:
                return outcome
            stored = outcome.stored
        outcome = self._take_steps(job, plan.steps, written)
        if not outcome.is_complete:
            return msgspec.structs.replace(outcome, stored=stored)
        if plan.status_write == "last":
            outcome = self._write_status(job, plan, written)
            if outcome.stored is None:
                return outcome
        self._emit(job, plan.events)
        return _COMPLETE

    def _take_steps(self, job: MPIJob, steps: Sequence[Step], written: Written) -> Outcome:
        """Take the steps one after the other, and none after one with a failure."""
        attempt = _Attempt(self._api, self._resources, written, self._metrics)
        outcome = _COMPLETE
        for step in steps:
            outcome = self._take(step, attempt)
            if not outcome.is_complete:
                break
        if attempt.warnings:
            _log.warning("the API server warned about what was created", key=job.key, warnings=attempt.warnings)
            reason = SERVER_WARNING.name
            self._emit(job, [Event(type="Warning", reason=reason, message=attempt.warnings[0], once=reason)])
        return outcome

    def _take(self, step: Step, attempt: _Attempt) -> Outcome:
        """Carry out the actions of one step, in parallel; each is tried whatever becomes of the others."""
        batches = [action for action in step if isinstance(action, CreateWorkers)]
        singles = [action for action in step if not isinstance(action, CreateWorkers)]
        if len(step) == 1 and singles:
            return _sum_up([attempt.send(singles[0])])
        futures = [self._executor.submit(attempt.send, action) for action in singles]
        ended = [ending for batch in batches for ending in self._create_workers(batch, attempt)]
        ended += [future.result() for future in futures]
        return _sum_up(ended)

    def _create_workers(self, batch: CreateWorkers, attempt: _Attempt) -> Iterator[_Ending]:
        report = start_slowly(
            batch.pods,
            attempt.send,
            executor=self._executor,
            is_refusal=lambda ending: not isinstance(ending.result, Sent | Held),
        )
        for failure in report.failures:
            raise failure.error
        yield from (success.result for success in report.successes)

    def _write_status(self, job: MPIJob, plan: Plan, written: Written) -> Outcome:
        metadata = job.metadata
        patch = {
            "metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version},
            "status": build_status_patch(job.status, plan.status),
        }
        action = f"write the status of MPIJob {job.key}"
        path = MPI_JOBS.path(namespace=metadata.namespace, name=metadata.name, subresource="status")
        try:
            answer = self._api.request(
                "PATCH", path, body=msgspec.json.encode(patch), content_type=MERGE_PATCH, action=action
            )
        except (Conflict, NotFound):
            return Outcome(is_job_outdated=True)
        except ApiError as error:
            return Outcome(error=error)
        written(MPI_JOBS.kind, decode_identity(answer.body, action=action), None)
        self._emit(job, plan.transitions)
        for counter in plan.counters:
            getattr(self._metrics, f"jobs_{counter}").inc()
        return Outcome(stored=_JOB_DECODER.decode(answer.body))

    def _emit(self, job: MPIJob, events: Sequence[Event]) -> None:
        for event in events:
            if self._announced.announce(job.metadata.uid, event.once):
                self._events.event(build_reference(job), event.type, event.reason, event.message)


def build_reference(job: MPIJob) -> ObjectReference:
    """Return how events name the job (B246)."""
    return ObjectReference(
        api_version=MPI_JOBS.api_version,
        kind=MPI_JOBS.kind,
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        uid=job.metadata.uid,
        resource_version=job.metadata.resource_version,
    )


class _Ending(msgspec.Struct, frozen=True):
    action: SingleAction
    result: Result | ApiError


class _Attempt:
    """Sends the single actions of one plan, from several threads, and keeps what the server warned of."""

    def __init__(self, api: Api, resources: Mapping[str, Resource], written: Written, metrics: Metrics) -> None:
        self._api = api
        self._resources = resources
        self._written = written
        self._metrics = metrics
        self.warnings: list[str] = []

    def send(self, action: SingleAction) -> _Ending:
        kind = "Secret" if isinstance(action, EnsureSecret) else action.kind
        tap = WarningTap(self._api)
        result: Result | ApiError
        try:
            result = Sender(tap, self._resources).send(action)
        except ApiError as error:
            result = error
        self._metrics.child_writes.labels(type(action).__name__, kind, _RESULT_NAMES.get(type(result), "error")).inc()
        if isinstance(result, Sent) and result.identity is not None:
            self._written(kind, result.identity, result.secret)
        if tap.warnings:
            text = "; ".join(tap.warnings)
            self.warnings.append(SERVER_WARNING.message(kind=kind, name=action.name, message=text))
        return _Ending(action, result)


_RESULT_NAMES: dict[type, str] = {
    Sent: "done",
    Held: "held",
    Outdated: "outdated",
    Refused: "refused",
    Hopeless: "hopeless",
}


def _sum_up(endings: Sequence[_Ending]) -> Outcome:
    results = [ending.result for ending in endings]
    return Outcome(
        error=next((result for result in results if isinstance(result, ApiError)), None),
        is_hopeless=any(isinstance(result, Hopeless) for result in results),
        is_outdated=any(isinstance(result, Outdated) for result in results),
        refusals=tuple(
            Refusal(action=ending.action, message=ending.result.message)
            for ending in endings
            if isinstance(ending.result, Refused)
        ),
        holders=tuple(result.holder for result in results if isinstance(result, Held)),
    )
