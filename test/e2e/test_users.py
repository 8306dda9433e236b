"""Each MPI implementation as root and as an ordinary user without any privilege (images.md, B113, A1.24)."""

import pytest

from test.e2e.jobs import IMPLEMENTATIONS, Manifest, a_job, pod_spec, worker_names
from test.e2e.namespace import Namespace
from test.e2e.status import pi_estimate, rank_hosts, restarts

RESTRICTED = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def job_of_root(image: str) -> Manifest:
    return a_job(f"{image}-root", image=image, as_root=True, sshAuthMountPath="/root/.ssh/")


def job_of_user(image: str) -> Manifest:
    job = a_job(f"{image}-user", image=image)
    for role in ("Launcher", "Worker"):
        pod_spec(job, role)["containers"][0]["securityContext"] = RESTRICTED
    return job


@pytest.fixture(scope="module")
def running(shared_namespace: Namespace) -> Namespace:
    """Two jobs of each implementation, started at once: what they do is mostly waiting."""
    for image in IMPLEMENTATIONS:
        shared_namespace.apply(job_of_root(image))
        shared_namespace.apply(job_of_user(image))
    return shared_namespace


@pytest.mark.parametrize("user", [pytest.param("root", id="A1_24 root"), pytest.param("user", id="uid 1000")])
@pytest.mark.parametrize("image", IMPLEMENTATIONS)
def test_ranks_run_on_the_workers_as(running: Namespace, image: str, user: str) -> None:
    name = f"{image}-{user}"
    running.await_condition(name, "Succeeded")
    log = running.launcher_log(name)
    assert rank_hosts(log) == worker_names(name, 2), log
    assert pi_estimate(log) == pytest.approx(3.1416, abs=0.01)
    assert restarts(running.pods(name, "launcher")) == 0, log
