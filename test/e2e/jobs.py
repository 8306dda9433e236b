"""MPIJobs on a real cluster: making them, waiting for them, and what they printed."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from hack.cluster.access import Access
from hack.cluster.component import await_true
from hack.cluster.errors import ClusterError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "v2beta1"
JOB_SECONDS = 120.0
Manifest = dict[str, Any]


def example(path: str) -> Manifest:
    """Return one of the project's examples."""
    manifest: Manifest = yaml.safe_load((EXAMPLES / path).read_text())
    return manifest


class Namespace:
    """One namespace of a cluster, and the jobs in it."""

    def __init__(self, access: Access, name: str) -> None:
        self.access = access
        self.name = name

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl in this namespace and return what it prints."""
        return self.access.kubectl(f"--namespace={self.name}", *arguments, stdin=stdin)

    def apply(self, manifest: Manifest) -> str:
        """Create or change an object, and return its name."""
        self.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(manifest))
        return str(manifest["metadata"]["name"])

    def get(self, kind: str, name: str) -> Manifest:
        """Return an object as the server has it."""
        manifest: Manifest = json.loads(self.kubectl("get", kind, name, "--output=json"))
        return manifest

    def job(self, name: str) -> Manifest:
        """Return an MPIJob as the server has it."""
        return self.get("mpijob", name)

    def pods(self, role: str = "worker") -> list[Manifest]:
        """Return the job's pods of one role in this namespace, by name."""
        label = f"--selector=training.kubeflow.org/job-role={role}"
        items: list[Manifest] = json.loads(self.kubectl("get", "pods", label, "--output=json"))["items"]
        return sorted(items, key=lambda pod: str(pod["metadata"]["name"]))

    def await_condition(
        self, name: str, condition: str, status: str = "True", seconds: float = JOB_SECONDS
    ) -> Manifest:
        """Wait until the job has the condition and return the job; fail with the job's status when it does not."""
        try:
            self.kubectl("wait", f"--for=condition={condition}={status}", f"--timeout={seconds}s", f"mpijob/{name}")
        except ClusterError as error:
            raise AssertionError(f"{error}\n{yaml.safe_dump(self.job(name).get('status'))}") from error
        return self.job(name)

    def await_that(self, what: str, is_true: Callable[[], bool], seconds: float = JOB_SECONDS) -> None:
        """Wait until `is_true()`; fail naming `what` when it does not come true."""
        await_true(is_true, seconds, lambda: AssertionError(f"not within {seconds:.0f} s: {what}\n{self.describe()}"))

    def launcher_log(self, name: str) -> str:
        """Return what the launcher's last pod printed."""
        return self.kubectl("logs", f"job/{name}-launcher")

    def describe(self) -> str:
        """Return what helps when a test failed here: objects, events, and the pods' logs."""
        parts = []
        commands = [
            ["get", "mpijobs,jobs,pods", "--output=wide"],
            ["get", "mpijobs", "--output=yaml"],
            ["get", "events", "--sort-by=.lastTimestamp"],
            ["logs", "--selector=training.kubeflow.org/operator-name", "--prefix", "--tail=30", "--ignore-errors"],
        ]
        for command in commands:
            full = [str(self.access.kubectl_path), f"--namespace={self.name}", *command]
            result = subprocess.run(full, env=self.access.env(), capture_output=True, text=True, check=False)
            parts.append(f"$ kubectl {' '.join(command)}\n{result.stdout}{result.stderr}")
        return "\n".join(parts)


def condition(job: Manifest, kind: str) -> Manifest:
    """Return the job's condition of one type; fail when it has none."""
    found = [each for each in job["status"]["conditions"] if each["type"] == kind]
    assert found, f"no condition {kind} in {job['status']}"
    return dict(found[0])


def rank_hosts(log: str) -> list[str]:
    """Return the short host name of each rank, in the order of ranks, from what `pi` prints."""
    ranks = {int(rank): host.split(".")[0] for rank, host in re.findall(r"Rank (\d+) on host (\S+)", log)}
    return [ranks[rank] for rank in sorted(ranks)]


def pi_estimate(log: str) -> float:
    """Return the estimate that `pi` prints; fail when it prints none."""
    found = re.search(r"pi is approximately ([0-9.]+)", log)
    assert found, f"no estimate in:\n{log}"
    return float(found.group(1))
