"""What MPIJobs, their pods and their launchers' logs say."""

import re
from datetime import datetime

from test.e2e.jobs import Manifest


def condition(job: Manifest, kind: str) -> Manifest:
    """Return the job's condition of one type; fail when it has none."""
    found = [each for each in job.get("status", {}).get("conditions", []) if each["type"] == kind]
    assert found, f"no condition {kind} in {job.get('status')}"
    return dict(found[0])


def condition_types(job: Manifest) -> list[str]:
    """Return the types of the conditions that are True, in the order of the status."""
    return [each["type"] for each in job["status"]["conditions"] if each["status"] == "True"]


def reasons(job: Manifest) -> list[str]:
    """Return the reasons of the conditions, in the order of the status; none when there is no status yet."""
    return [each["reason"] for each in job.get("status", {}).get("conditions", [])]


def ready_since(pod: Manifest) -> datetime:
    """Return when the pod became Ready, to the second; fail when it is not."""
    found = [each for each in pod["status"]["conditions"] if each["type"] == "Ready" and each["status"] == "True"]
    assert found, f"pod {pod['metadata']['name']} is not Ready: {pod['status']}"
    return datetime.fromisoformat(found[0]["lastTransitionTime"])


def restarts(pods: list[Manifest]) -> int:
    """Return how often the containers of pods were started again, or pods failed."""
    containers: list[Manifest] = [each for pod in pods for each in pod["status"].get("containerStatuses", [])]
    failed_pods = sum(1 for pod in pods if pod["status"]["phase"] == "Failed")
    return failed_pods + sum(int(each["restartCount"]) for each in containers)


def rank_hosts(log: str) -> list[str]:
    """Return the short host name of each rank, in the order of ranks, as programs print it; the last of each rank."""
    ranks = {int(rank): host.split(".")[0] for rank, host in re.findall(r"Rank (\d+) on host (\S+)", log)}
    return [ranks[rank] for rank in sorted(ranks)]


def pi_estimate(log: str) -> float:
    """Return the estimate that `pi` prints; fail when it prints none."""
    found = re.search(r"pi is approximately ([0-9.]+)", log)
    assert found, f"no estimate in:\n{log}"
    return float(found.group(1))
