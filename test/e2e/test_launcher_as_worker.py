"""With `runLauncherAsWorker` ranks run on the launcher too, which has no sshd, with unmodified images (images.md)."""

import pytest

from test.e2e.jobs import IMPLEMENTATIONS, a_job, mpirun
from test.e2e.namespace import Namespace
from test.e2e.status import rank_hosts, restarts


@pytest.fixture(scope="module")
def running(shared_namespace: Namespace) -> Namespace:
    for image in IMPLEMENTATIONS:
        launcher = mpirun(2, "/home/mpiuser/pi", "--samples", "1000000")
        shared_namespace.apply(a_job(image, image=image, workers=1, launcher=launcher, runLauncherAsWorker=True))
    return shared_namespace


@pytest.mark.parametrize(
    ("image", "written"),
    [
        pytest.param("openmpi", "{}.{}.{}.svc slots=1", id="B093 Open MPI 4"),
        pytest.param("openmpi5", "{}.{}.{}.svc slots=1", id="B093 Open MPI 5"),
        pytest.param("mpich", "{}:1", id="MPICH by the plain host name"),
        pytest.param("intel", "{}:1", id="Intel MPI by the plain host name"),
    ],
)
def test_the_first_rank_runs_on_the_launcher(running: Namespace, image: str, written: str) -> None:
    running.await_condition(image, "Succeeded")
    log = running.launcher_log(image)
    assert rank_hosts(log) == [f"{image}-launcher", f"{image}-worker-0"], log
    assert restarts(running.pods(image, "launcher")) == 0, log
    hostfile = running.get("configmap", f"{image}-config")["data"]["hostfile"]
    assert hostfile.splitlines()[0] == written.format(f"{image}-launcher", image, running.name)


def test_B094_a_launcher_alone_is_enough(running: Namespace) -> None:
    job = a_job("alone", launcher=mpirun(1, "/home/mpiuser/pi", "--samples", "1000"), runLauncherAsWorker=True)
    del job["spec"]["mpiReplicaSpecs"]["Worker"]
    running.apply(job)
    running.await_condition("alone", "Succeeded")
    assert rank_hosts(running.launcher_log("alone")) == ["alone-launcher"]
