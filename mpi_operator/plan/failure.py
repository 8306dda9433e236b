"""Why a job failed, as its Failed condition says (B236-B239)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from mpi_operator import conditions, reasons
from mpi_operator.api.observed import FAILED, ObservedCondition, Pod
from mpi_operator.children.container_failure import describe_failure, failed_container
from mpi_operator.children.launcher.classify import Launcher


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Reason and message of a Failed condition, and when the job failed; None is now."""

    reason: str
    message: str
    failed_at: datetime | None = None


def explain_job_failure(
    failed: ObservedCondition, launcher: Launcher, recorded: conditions.Conditions, job_key: str
) -> Failure:
    """Return the failure that a launcher Job's Failed condition reports.

    Only a Job that ran out of attempts needs its last pod for an explanation: the newest that failed, or, when it is
    gone, what was recorded when it restarted.
    """
    reason = failed.reason or reasons.FAILED.name
    message = failed.message or reasons.FAILED.message(job=job_key)
    if failed.reason == reasons.BACKOFF_LIMIT_EXCEEDED.name:
        pod = _newest_failed(launcher)
        if pod is not None:
            reason = f"{reason}/{pod.status.reason}" if pod.status.reason else reason
            message = f"{message}: {pod.status.message or describe_failure(pod)}"
        else:
            restarting = conditions.find_condition(recorded, conditions.RESTARTING)
            if restarting is not None and restarting.reason == reasons.RESTARTING.name:
                message = f"{message}: {restarting.message}"
    return Failure(reason=reason, message=reasons.limit_message(message), failed_at=failed.last_transition_time)


def _newest_failed(launcher: Launcher) -> Pod | None:
    """Return the newest launcher pod that failed, or else one whose container did: pods are oldest first."""
    failed = [pod for pod in launcher.pods if pod.status.phase == FAILED]
    failed = failed or [pod for pod in launcher.pods if failed_container(pod) is not None]
    return failed[-1] if failed else None
