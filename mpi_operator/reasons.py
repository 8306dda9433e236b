"""Every reason that a condition or an event gives, with its message, once (v2beta1.md events; lifecycle.md).

A reason whose text comes from elsewhere (the Job's, the scheduler's) has the message `{message}`.
"""

from __future__ import annotations

import msgspec

MAX_MESSAGE_BYTES = 1024
_ELLIPSIS = "..."


class Reason(msgspec.Struct, frozen=True):
    """A reason and the template of its message."""

    name: str
    template: str

    def message(self, **values: object) -> str:
        """Return the message with the values filled in, limited as `limit_message` says.

        Values come from users: they are put in as they are and never formatted again. Raises KeyError for a value
        that the template asks for and that was not given.
        """
        return limit_message(self.template.format(**values))


def limit_message(message: str) -> str:
    """Return the message in at most 1024 bytes of UTF-8, cut between characters and ending in `...` (B238, A4.15)."""
    encoded = message.encode(errors="replace")
    if len(encoded) <= MAX_MESSAGE_BYTES:
        return encoded.decode()
    return encoded[: MAX_MESSAGE_BYTES - len(_ELLIPSIS)].decode(errors="ignore") + _ELLIPSIS


CREATED = Reason("MPIJobCreated", "MPIJob {job} is created.")
VALIDATION_ERROR = Reason("ValidationError", "Found validation errors: {errors}")

SUSPENDED = Reason("MPIJobSuspended", "MPIJob suspended")
NOT_RUNNING_WHILE_SUSPENDED = Reason("MPIJobSuspended", "MPIJob {job} is suspended.")
RESUMED = Reason("MPIJobResumed", "MPIJob resumed")

RUNNING = Reason("MPIJobRunning", "MPIJob {job} is running.")
RUNNING_EVENT = Reason("MPIJobRunning", "MPIJob {job} is running")
NEVER_RUNNING = Reason("MPIJobRunning", "MPIJob {job} is finished but Running condition was never set.")
RESTARTING = Reason("MPIJobRestarting", "attempt {attempt} of the launcher of MPIJob {job} failed: {failure}")
WORKERS_NOT_RUNNING = Reason("WorkersNotRunning", "{running} of {wanted} workers of MPIJob {job} are running")
UNSCHEDULABLE = Reason("Unschedulable", "{message}")

SUCCEEDED = Reason("MPIJobSucceeded", "MPIJob {job} successfully completed.")
FAILED = Reason("MPIJobFailed", "MPIJob {job} has failed")
BACKOFF_LIMIT_EXCEEDED = Reason("BackoffLimitExceeded", "{message}")
WORKERS_FAILED = Reason("WorkersFailed", "worker pod {pod} failed after {restarts} replacements: {failure}")
DEADLINE_EXCEEDED = Reason(
    "DeadlineExceeded", "MPIJob {job} was active longer than its activeDeadlineSeconds of {seconds} s"
)

FAILED_CREATE = Reason("FailedCreate", "cannot create {kind} {name}: {message}")
RESOURCE_EXISTS = Reason(
    "ErrResourceExists", 'Resource "{name}" of Kind "{kind}" already exists and is not managed by MPIJob'
)
WORKER_EVICTED = Reason("MPIJobEvicted", "worker pod {pod} was evicted and is replaced: {message}")
WORKER_REPLACED = Reason("WorkerReplaced", "worker pod {pod} failed ({reason}) and is replaced")
RESTART_POLICY_OVERRIDDEN = Reason(
    "SetPodTemplateRestartPolicy",
    "Restart policy in pod template overridden by restart policy in replica spec",
)
GANG_UNAVAILABLE = Reason(
    "GangSchedulingUnavailable",
    "the API server serves no gang scheduling API of scheduling.k8s.io, so the pods of MPIJob {job} are scheduled one"
    " by one; turn on GenericWorkload and its API version, or run the operator with another --gang-scheduling",
)
GANG_FIELD_DROPPED = Reason(
    "GangSchedulingDropped",
    "pod {pod} was stored without spec.{field}, so it is scheduled by itself; turn on the feature gate GenericWorkload"
    " of the API server and the scheduler",
)
GANG_NOT_RESIZED = Reason(
    "GangNotResized",
    "{kind} {name} cannot change while its pods exist, and should have a minCount of {wanted}; suspend and resume the"
    " MPIJob to have it made anew",
)
SCHEDULER_NAME_REPLACED = Reason(
    "SchedulerNameReplaced",
    "schedulerName {found} of a pod template is replaced, because the operator runs with"
    " --gang-scheduling={gang_scheduling}",
)
SERVER_WARNING = Reason("ServerWarning", "the API server warns about {kind} {name}: {message}")
TTL_DELETE_FORBIDDEN = Reason(
    "TTLDeleteForbidden",
    "ttl-target mpijob: the operator may not delete MPIJob {job}, so only its launcher Job and workers are deleted;"
    " grant delete on mpijobs, or set the target to launcher",
)
DECODE_ERROR = Reason(
    "DecodeError", "MPIJob {job} cannot be read and is left alone until its spec is corrected: {message}"
)
