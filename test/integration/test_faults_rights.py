"""What the operator does with fewer rights, or with more, than it is usually given; on a control plane of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from hack.cluster.component import await_true
from hack.cluster.control_plane import ControlPlane, free_ports
from mpi_operator.names import ANNOTATION_TTL_TARGET
from mpi_operator.shell.resources import JOBS, MPI_JOBS
from test.builders.jobs import a_raw_job
from test.integration.conftest import ACCOUNT, GROUPS, LOCK_NAMESPACE, apply_overlay
from test.integration.operator_process import LEADING, OperatorProcess
from test.integration.play import LAUNCHER, WORKERS, submit_running, told, until_gone
from test.integration.server import Server
from test.integration.test_process import get

LIMIT_SECONDS = 30.0
ENDS_WITH_ITS_JOB = {"annotations": {ANNOTATION_TTL_TARGET: "mpijob"}}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane with the standalone overlay."""
    with ControlPlane() as plane:
        apply_overlay(plane, "standalone")
        yield plane


@pytest.fixture(scope="module")
def health_port() -> int:
    """Where the operator answers probes."""
    return free_ports(1)[0]


@pytest.fixture(scope="module")
def operator(plane: ControlPlane, health_port: int) -> Iterator[OperatorProcess]:
    """An operator that leads."""
    kubeconfig = plane.user_kubeconfig(ACCOUNT, GROUPS)
    # The lease outlasts an API server that takes its time to start again.
    election = ("--leader-elect-lease-duration=80s", "--leader-elect-renew-deadline=60s")
    flags = (f"--lock-namespace={LOCK_NAMESPACE}", f"--health-port={health_port}", *election)
    with OperatorProcess(*flags, kubeconfig=kubeconfig) as process:
        process.await_log(LEADING)
        yield process
        assert process.stop() == 0


@pytest.fixture
def server(plane: ControlPlane, operator: OperatorProcess, request: pytest.FixtureRequest) -> Iterator[Server]:
    """A namespace of the test's own."""
    assert operator.pid
    number = request.session.items.index(request.node)
    with Server(plane.kubeconfig, f"rights-{number}") as server:
        yield server


def submit_finished(server: Server) -> str:
    """Submit a job that asks to be deleted at its end, let it run and succeed; return its launcher pod."""
    policy = {"ttlSecondsAfterFinished": 0}
    launcher = submit_running(server, metadata=ENDS_WITH_ITS_JOB, run_policy=policy)
    server.finish_launcher(LAUNCHER, launcher)
    return launcher


def test_A4_17_without_the_right_to_delete_jobs_the_TTL_takes_launcher_and_workers(server: Server) -> None:
    launcher = submit_finished(server)
    until_gone(server, JOBS, LAUNCHER)
    server.until_pods(launcher)
    event = server.until_event("pi", "TTLDeleteForbidden")
    assert (event["type"], told(server)["TTLDeleteForbidden"]) == ("Warning", 1)
    server.must_get(MPI_JOBS, "pi")


def test_A4_17_with_the_overlays_right_the_TTL_takes_the_job(plane: ControlPlane, server: Server) -> None:
    apply_overlay(plane, "ttl-mpijob")
    submit_finished(server)
    until_gone(server, MPI_JOBS, "pi")
    server.must_get(JOBS, LAUNCHER)  # left to the garbage collector


def test_A2_10_B065_rights_that_are_lost_for_a_while_are_waited_for(
    plane: ControlPlane, server: Server, operator: OperatorProcess, health_port: int
) -> None:
    subprocess.run(
        ["kubectl", "delete", "clusterrolebinding", "mpi-operator"], env=plane.env(), check=True, capture_output=True
    )
    plane.restart_apiserver()  # every watch ends, and is refused from now on
    await_true(
        lambda: "[-]caches: " in get(health_port, "/readyz")[1], LIMIT_SECONDS, lambda: AssertionError("still ready")
    )
    code, text = get(health_port, "/readyz")
    assert (code, "cannot" in text) == (503, True), text
    server.submit(a_raw_job())
    apply_overlay(plane, "standalone")
    server.until_pods(*WORKERS)
    await_true(lambda: get(health_port, "/readyz")[0] == 200, LIMIT_SECONDS, lambda: AssertionError("not ready again"))
