"""One namespace of a real cluster: making MPIJobs in it, waiting for them, and what is there."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from hack.cluster.access import Access
from hack.cluster.component import await_true
from hack.cluster.errors import ClusterError
from test.e2e.jobs import Manifest
from test.e2e.status import rank_hosts

JOB_SECONDS = 60.0


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

    def patch(self, name: str, spec: Manifest) -> None:
        """Merge `spec` into an MPIJob's spec."""
        self.kubectl("patch", "mpijob", name, "--type=merge", f"--patch={json.dumps({'spec': spec})}")

    def suspend(self, name: str, *, suspend: bool = True) -> None:
        """Suspend a job, or resume it."""
        self.patch(name, {"runPolicy": {"suspend": suspend}})

    def get(self, kind: str, name: str) -> Manifest:
        """Return an object as the server has it."""
        manifest: Manifest = json.loads(self.kubectl("get", kind, name, "--output=json"))
        return manifest

    def job(self, name: str) -> Manifest:
        """Return an MPIJob as the server has it."""
        return self.get("mpijob", name)

    def items(self, kind: str, selector: str = "") -> list[Manifest]:
        """Return the objects of one kind, by name."""
        text = self.kubectl("get", kind, f"--selector={selector}", "--output=json")
        return sorted(json.loads(text)["items"], key=lambda item: str(item["metadata"]["name"]))

    def pods(self, job: str, role: str = "worker") -> list[Manifest]:
        """Return the job's pods of one role that still exist, by name."""
        return self.items("pods", f"training.kubeflow.org/job-name={job},training.kubeflow.org/job-role={role}")

    def events(self, job: str) -> list[Manifest]:
        """Return the events of an MPIJob."""
        events = [event for event in self.items("events") if event["involvedObject"]["kind"] == "MPIJob"]
        return [event for event in events if event["involvedObject"]["name"] == job]

    def await_event(self, job: str, reason: str) -> Manifest:
        """Wait for an event of the job with this reason, and return it."""

        def found() -> list[Manifest]:
            return [event for event in self.events(job) if event["reason"] == reason]

        self.await_that(f"mpijob/{job} has an event {reason}", lambda: bool(found()), 10)
        return found()[0]

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
        """Wait until `is_true()`; fail naming `what` when it does not come true. The fixture shows the rest."""
        await_true(is_true, seconds, lambda: AssertionError(f"not within {seconds:.0f} s: {what}"))

    def await_ranks(self, job: str, hosts: list[str]) -> None:
        """Wait until ranks run on these hosts and no others, as the launcher's log says."""

        self.await_that(
            f"the launcher of {job} logs a rank on each of {hosts}", lambda: rank_hosts(self.log_so_far(job)) == hosts
        )

    def finish(self, job: str) -> None:
        """Let the ranks of RUN_UNTIL_FINISH on the job's workers end."""
        for worker in self.pods(job):
            self.run_in(worker["metadata"]["name"], "touch /tmp/finish")

    def run_in(self, pod: str, script: str) -> str:
        """Run a shell script in a pod and return what it prints."""
        return self.kubectl("exec", pod, "--", "/bin/sh", "-c", script)

    def launcher_log(self, name: str) -> str:
        """Return what the launcher's last pod printed; raise ClusterError when there is none or it has not started."""
        newest = max(
            self.pods(name, "launcher"), key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None
        )
        return self.kubectl("logs", newest["metadata"]["name"] if newest else f"job/{name}-launcher")

    def log_so_far(self, name: str) -> str:
        """Return what the launcher has printed; nothing while it has not been started."""
        try:
            return self.launcher_log(name)
        except ClusterError:
            return ""

    @contextmanager
    def followed_log(self, pod: str, path: Path) -> Iterator[Path]:
        """Write the log of a pod to `path` as it grows, also what it prints while it is being deleted."""
        command = [str(self.access.kubectl_path), f"--namespace={self.name}", "logs", "--follow", pod]
        with path.open("w") as log, subprocess.Popen(command, env=self.access.env(), stdout=log, stderr=log) as process:
            yield path
            process.terminate()

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
