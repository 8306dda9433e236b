"""The launcher comes when all workers are Ready, and then needs one attempt (B157, lifecycle.md 3)."""

import pytest

from test.e2e.jobs import a_job, with_slow_workers, worker_names
from test.e2e.namespace import Namespace
from test.e2e.status import rank_hosts, ready_since, restarts

RUNS = 5  # and 20 in test/bench/launcher_restarts.py


@pytest.mark.slow
def test_B157_the_launcher_starts_after_slow_workers_are_ready_and_never_twice(namespace: Namespace) -> None:
    names = [f"run-{number}" for number in range(RUNS)]
    for number, name in enumerate(names):
        job = a_job(name, launcherCreationPolicy="WaitForWorkersReady", run_policy={"cleanPodPolicy": "None"})
        namespace.apply(with_slow_workers(job, 0.5 * number))
    for name in names:
        namespace.await_condition(name, "Succeeded")
        [launcher] = namespace.pods(name, "launcher")
        log = namespace.launcher_log(name)
        assert rank_hosts(log) == worker_names(name, 2), log
        assert restarts([launcher]) == 0, log
        created = launcher["metadata"]["creationTimestamp"]
        for worker in namespace.pods(name):
            assert ready_since(worker).strftime("%Y-%m-%dT%H:%M:%SZ") <= created, worker["metadata"]["name"]
