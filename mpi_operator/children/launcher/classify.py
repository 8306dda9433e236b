"""The launcher's Job and pods, and what they say of its attempts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from mpi_operator import names
from mpi_operator.api.observed import FAILED, RUNNING, SUCCEEDED, Job, ObservedCondition, Pod
from mpi_operator.api.types import MPIJob
from mpi_operator.children.container_failure import finished_at, last_termination, main_container_status
from mpi_operator.children.ownership import Holder, classify_holder

DEFAULT_BACKOFF_LIMIT = 6
"""What batch/v1 takes for an absent backoffLimit (B012)."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the launcher that has ended in a failure: its number from 1, its pod, and when it ended, if known."""

    number: int
    pod: Pod
    ended_at: datetime | None


class Launcher(msgspec.Struct, frozen=True, kw_only=True):
    """The launcher as it is.

    `holder` says who has the Job's name; `job` is that Job if it is ours, even terminating. `pods` belong to it,
    oldest first. `former` are pods of another Job of that name: of one that was deleted, or of a predecessor's;
    `own_former` are those of them that are known to be of this MPIJob.
    """

    holder: Holder
    job: Job | None = None
    pods: tuple[Pod, ...] = ()
    former: tuple[Pod, ...] = ()
    own_former: tuple[Pod, ...] = ()

    @property
    def owned(self) -> tuple[Pod, ...]:
        """Every launcher pod that is known to be of this MPIJob."""
        return (*self.pods, *self.own_former)

    @property
    def finished(self) -> ObservedCondition | None:
        """The Job's Complete or Failed condition, if it has finished."""
        if self.job is None:
            return None
        return self.job.condition("Complete") or self.job.condition("Failed")

    @property
    def succeeded_without_job(self) -> Pod | None:
        """A pod of ours that Succeeded while its Job can no longer say so: gone, or terminating (A1.4)."""
        if self.finished is not None or (self.job is not None and not self.job.metadata.is_terminating):
            return None
        return next((pod for pod in self.owned if pod.status.phase == SUCCEEDED), None)

    @property
    def is_finishing(self) -> bool:
        """Whether the outcome is settled although the Job does not say Complete or Failed yet (lifecycle.md 6)."""
        if any(pod.status.phase == SUCCEEDED for pod in self.pods):
            return True
        job = self.job
        return job is not None and (job.condition("FailureTarget") or job.condition("SuccessCriteriaMet")) is not None

    @property
    def is_started(self) -> bool:
        """Whether there is a Job of ours that was told to run."""
        return self.job is not None and not self.job.spec.suspend

    @property
    def is_at_rest(self) -> bool:
        """Whether a suspended Job has stopped: it reports Suspended or never started, and no pod is active."""
        job = self.job
        if job is None or not job.spec.suspend or job.metadata.is_terminating:
            return False
        has_stopped = job.condition("Suspended") is not None or job.status.start_time is None
        return has_stopped and job.status.active == 0

    @property
    def is_running(self) -> bool:
        """Whether a launcher pod runs: its phase says so, it stays, and its main container is not between attempts."""
        return any(pod.is_running and not _is_between_attempts(pod) for pod in self.pods)

    @property
    def has_pods(self) -> bool:
        """Whether any pod of a launcher of this name is left."""
        return bool(self.pods or self.former)

    @property
    def last_attempt(self) -> Attempt | None:
        """The latest attempt that ended in a failure, while its pod is still there (lifecycle.md 5).

        A failed pod counts once the Job has counted it; a pod that stays counts by its main container's restarts.
        """
        job = self.job
        if job is None:
            return None
        failed = [pod for pod in self.pods if pod.status.phase == FAILED]
        counted = failed if job.status.failed >= len(failed) else []
        restarting = [pod for pod in self.pods if pod.status.phase == RUNNING and _ended_runs(pod)]
        ended = [*counted, *restarting]
        if not ended:
            return None
        number = max(job.status.failed, len(counted)) + sum(_ended_runs(pod) for pod in restarting)
        pod = max(ended, key=lambda each: (_attempt_end(each) or _EPOCH, each.metadata.name))
        return Attempt(number=number, pod=pod, ended_at=_attempt_end(pod))

    @property
    def will_be_retried(self) -> bool:
        """Whether another attempt follows the last one: the Job is not finished, finishing, or past its limit."""
        job = self.job
        if job is None or self.finished is not None or self.is_finishing:
            return False
        limit = DEFAULT_BACKOFF_LIMIT if job.spec.backoff_limit is None else job.spec.backoff_limit
        restarts = sum(_restarts(pod) for pod in self.pods if pod.status.phase == RUNNING)
        return job.status.failed <= limit and (restarts == 0 or restarts < limit)


def classify_launcher(job: MPIJob, holder: Job | None, pods: Iterable[Pod]) -> Launcher:
    """Sort the Job under the launcher's name and the pods of Jobs of that name; the order of pods does not matter."""
    metadata = None if holder is None else holder.metadata
    is_ours = metadata is not None and metadata.is_controlled_by(job.metadata.uid)
    uid = metadata.uid if metadata is not None and is_ours else ""
    name = names.launcher_name(job.metadata.name)
    launched = sorted(
        (pod for pod in pods if _is_launched_by(pod, name)),
        key=lambda pod: (pod.metadata.creation_timestamp or _EPOCH, pod.metadata.name),
    )
    current = [pod for pod in launched if uid and pod.metadata.is_controlled_by(uid)]
    former = [pod for pod in launched if pod not in current]
    return Launcher(
        holder=classify_holder(metadata, job),
        job=holder if is_ours else None,
        pods=tuple(current),
        former=tuple(former),
        own_former=tuple(pod for pod in former if _had_launcher(job) and _is_younger(pod, job)),
    )


def _is_launched_by(pod: Pod, job_name: str) -> bool:
    controller = pod.metadata.controller
    return controller is not None and controller.kind == "Job" and controller.name == job_name


def _had_launcher(job: MPIJob) -> bool:
    """Whether the status remembers a launcher Job (B223)."""
    return job.status.replica_statuses.launcher is not None


def _is_younger(pod: Pod, job: MPIJob) -> bool:
    """Whether a pod was made after the job: a predecessor's was made before."""
    made, since = pod.metadata.creation_timestamp, job.metadata.creation_timestamp
    return made is not None and since is not None and made >= since


def _restarts(pod: Pod) -> int:
    status = main_container_status(pod)
    return 0 if status is None else status.restart_count


def _is_between_attempts(pod: Pod) -> bool:
    """Whether a Running pod's main container has ended and is not running again."""
    status = main_container_status(pod)
    if status is None:
        return False
    ended = last_termination(status)
    is_idle = status.state.waiting is not None or status.state.terminated is not None
    return is_idle and ended is not None and ended.exit_code != 0


def _ended_runs(pod: Pod) -> int:
    """Return how many runs of the main container have ended while the pod stays."""
    return _restarts(pod) + (1 if _is_between_attempts(pod) else 0)


def _attempt_end(pod: Pod) -> datetime | None:
    ended = last_termination(main_container_status(pod))
    return ended.finished_at if ended is not None and ended.finished_at is not None else finished_at(pod)


_EPOCH = datetime.min.replace(tzinfo=UTC)
