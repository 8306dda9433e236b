"""How often launchers start again because DNS or sshd was late, on a real cluster.

Run it by `python -m test.bench.launcher_restarts`.

Runs the pi job so many times for each way of starting the launcher and prints a table with the runs that needed no
restart, all restarts, and the median time from apply to Succeeded.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from hack.cluster.access import Access, open_cluster
from hack.cluster.choice import KINDS, choose, reason_against_kind
from hack.deploy import deploy_operator
from test.e2e.jobs import IMPLEMENTATIONS, Manifest, a_job, pod_spec
from test.e2e.namespace import Namespace
from test.e2e.status import restarts

POLICIES = ("WaitForWorkersReady", "AtStartup")


def build_job(image: str, policy: str, *, bare: bool) -> Manifest:
    """Return the pi job; `bare` bypasses the image's entry point, as images of other people have none."""
    job = a_job(image=image, launcherCreationPolicy=policy, run_policy={"backoffLimit": 6})
    [worker] = pod_spec(job, "Worker")["containers"]
    worker["readinessProbe"] = {"tcpSocket": {"port": 2222}, "periodSeconds": 1}
    if bare:
        [launcher] = pod_spec(job, "Launcher")["containers"]
        launcher["command"] = launcher.pop("args")
    return job


@contextmanager
def _a_namespace(access: Access, name: str) -> Iterator[Namespace]:
    access.kubectl("create", "namespace", name)
    yield Namespace(access, name)
    access.kubectl("delete", "namespace", name, "--wait=false")


def measure_run(access: Access, job: Manifest, namespace_name: str) -> tuple[int, float]:
    """Run the job once; return the restarts of its launcher, and the seconds until it had succeeded."""
    with _a_namespace(access, namespace_name) as namespace:
        begun = time.monotonic()
        name = namespace.apply(job)
        namespace.await_condition(name, "Succeeded", seconds=300)
        return restarts(namespace.pods(name, "launcher")), time.monotonic() - begun


def main() -> None:
    """Measure, and print a table for the documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cluster", choices=KINDS)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--images", nargs="+", choices=IMPLEMENTATIONS, default=["openmpi"])
    options = parser.parse_args()
    access = open_cluster(choose(options.cluster, os.environ, reason_against_kind))
    access.load_images(options.images)
    deploy_operator(access)
    print(
        "| image | policy | entry point | runs without restart | restarts | median seconds |\n|---|---|---|---|---|---|"
    )
    for image in options.images:
        for policy in POLICIES:
            for bare in (False, True):
                job = build_job(image, policy, bare=bare)
                label = f"restarts-{os.getpid()}-{policy.lower()}-{'bare' if bare else 'ours'}-{image}"
                results = [measure_run(access, job, f"{label}-{run}") for run in range(options.runs)]
                counts = [count for count, _ in results]
                median = statistics.median(seconds for _, seconds in results)
                print(
                    f"| {image} | {policy} | {'none' if bare else 'ours'} | {counts.count(0)} of {options.runs} "
                    f"| {sum(counts)} | {median:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
