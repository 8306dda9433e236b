"""The examples run to the end on real pods, with one rank on each worker (B332, B333)."""

import pytest

from test.e2e.jobs import example, worker_names
from test.e2e.namespace import Namespace
from test.e2e.status import condition, pi_estimate, rank_hosts


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("pi/pi.yaml", id="B332 Open MPI 4"),
        pytest.param("pi/pi-openmpi5.yaml", id="A1_20 Open MPI 5 does not stay on the launcher"),
        pytest.param("pi/pi-mpich.yaml", id="B333 MPICH"),
        pytest.param("pi/pi-intel.yaml", id="B333 Intel MPI"),
    ],
)
def test_pi_runs_one_rank_on_each_worker_and_succeeds(namespace: Namespace, path: str) -> None:
    name = namespace.apply(example(path))
    job = namespace.await_condition(name, "Succeeded")
    log = namespace.launcher_log(name)
    assert rank_hosts(log) == worker_names(name, 2), log
    assert pi_estimate(log) == pytest.approx(3.1416, abs=0.01)
    assert condition(job, "Succeeded")["reason"] == "MPIJobSucceeded"
    assert job["status"]["replicaStatuses"]["Launcher"] == {"succeeded": 1}
    assert "completionTime" in job["status"]


def test_kubectl_get_shows_the_state_of_each_job(namespace: Namespace) -> None:
    name = namespace.apply(example("pi/pi.yaml"))
    namespace.await_condition(name, "Succeeded")
    header, line = namespace.kubectl("get", "mpijobs").splitlines()
    assert header.split() == ["NAME", "STATE", "READY", "WORKERS", "AGE"]
    assert line.split()[:2] == [name, "MPIJobSucceeded"]
