"""What is deleted when a job has ended, and when (lifecycle.md 7 and 8; B211-B215, A4.1)."""

import pytest

from test.e2e.jobs import a_job, worker_names
from test.e2e.namespace import Namespace
from test.e2e.status import rank_hosts

POLICIES = ("None", "Running", "All")


@pytest.fixture(scope="module")
def running(shared_namespace: Namespace) -> Namespace:
    for policy in POLICIES:
        shared_namespace.apply(a_job(policy.lower(), run_policy={"cleanPodPolicy": policy}))
    return shared_namespace


def counts(namespace: Namespace, name: str) -> tuple[int, int]:
    return len(namespace.pods(name)), len(namespace.pods(name, "launcher"))


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        pytest.param("None", (2, 1), id="B214 None keeps all pods"),
        pytest.param("Running", (0, 1), id="B213 Running keeps the launcher and its log"),
        pytest.param("All", (0, 0), id="B212 All keeps no pod"),
    ],
)
def test_the_clean_pod_policy_decides_which_pods_are_left(
    running: Namespace, policy: str, left: tuple[int, int]
) -> None:
    name = policy.lower()
    running.await_condition(name, "Succeeded")
    running.await_that(f"{left} workers and launchers are left", lambda: counts(running, name) == left)
    if left[1]:
        assert rank_hosts(running.launcher_log(name)) == worker_names(name, 2)
    for kind, child in [("job", f"{name}-launcher"), ("service", name), ("configmap", f"{name}-config")]:
        assert running.get(kind, child)["metadata"]["ownerReferences"][0]["name"] == name
    running.await_that(
        "A4_1 the status counts the workers that are left",
        lambda: running.job(name)["status"]["replicaStatuses"].get("Worker", {}).get("active", 0) == left[0],
        10,
    )


def test_B141_the_launcher_and_workers_go_when_the_time_to_live_is_over(namespace: Namespace) -> None:
    policy = {"ttlSecondsAfterFinished": 2, "cleanPodPolicy": "None"}
    name = namespace.apply(a_job(run_policy=policy))
    namespace.await_condition(name, "Succeeded")
    assert rank_hosts(namespace.launcher_log(name)) == worker_names(name, 2)
    namespace.await_that("the launcher's Job is gone", lambda: namespace.items("jobs") == [], 20)
    namespace.await_that("all pods are gone", lambda: namespace.items("pods") == [], 20)
    assert namespace.job(name)["status"]["conditions"][-1]["type"] == "Succeeded"
