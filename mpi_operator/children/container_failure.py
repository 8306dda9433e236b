"""How a pod's container ended, as an answer to "why did it fail?"."""

from __future__ import annotations

from datetime import datetime

from mpi_operator import names
from mpi_operator.api.observed import ContainerStatus, Pod, Terminated


def main_container_status(pod: Pod) -> ContainerStatus | None:
    """Return the status of the container that runs MPI: the one the default-container annotation names, else the first.

    None before the kubelet reports it.
    """
    declared = [container.name for container in pod.spec.containers]
    wanted = pod.metadata.annotations.get(names.ANNOTATION_DEFAULT_CONTAINER)
    name = wanted if wanted in declared else next(iter(declared), None)
    statuses = pod.status.container_statuses
    found = (status for status in statuses if status.name == name)
    return next(found, statuses[0] if statuses and name is None else None)


def last_termination(status: ContainerStatus | None) -> Terminated | None:
    """Return how the container last ended, if it ever did."""
    if status is None:
        return None
    return status.state.terminated or status.last_state.terminated


def failed_container(pod: Pod) -> tuple[str, Terminated] | None:
    """Return name and end of the container that explains a pod's failure: the main one, else any that failed."""
    main = main_container_status(pod)
    ordered = (main, *pod.status.container_statuses, *pod.status.init_container_statuses)
    for status in ordered:
        ended = last_termination(status)
        if status is not None and ended is not None and ended.exit_code != 0:
            return status.name, ended
    return None


def describe_failure(pod: Pod) -> str:
    """Return one sentence on why a pod failed: container, exit code, reason and termination message (B237)."""
    failed = failed_container(pod)
    if failed is None:
        parts = [part for part in (pod.status.reason, pod.status.message) if part]
        return ": ".join(parts) or f"pod {pod.metadata.name} failed without saying why"
    name, ended = failed
    reason = f" ({ended.reason})" if ended.reason and ended.reason != "Error" else ""
    message = f": {ended.message.strip()}" if ended.message.strip() else ""
    return f"container {name} exited with code {ended.exit_code}{reason}{message}"


def finished_at(pod: Pod) -> datetime | None:
    """Return when the last of a pod's containers ended, as far as the kubelet said."""
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    ends = [ended.finished_at for status in statuses if (ended := last_termination(status)) and ended.finished_at]
    return max(ends, default=None)
