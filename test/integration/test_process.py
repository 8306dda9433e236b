"""The process: exit codes, signals, probes, standby and hand-over (lifecycle.md 10 and 11)."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hack.cluster.control_plane import ControlPlane, free_ports
from mpi_operator.shell.resources import MPI_JOBS
from test.builders.jobs import a_raw_job
from test.integration.conftest import FAST_ELECTION, LOCK_NAMESPACE, StartOperator
from test.integration.operator_process import FILLED, LEADING, OperatorProcess
from test.integration.server import LEASES, Server

InstallCRD = Callable[[ControlPlane], None]
WORKERS = ("pi-worker-0", "pi-worker-1")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mpi_operator", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def get(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_B287_help_goes_to_stdout_and_succeeds() -> None:
    result = run("--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("Usage: mpi-operator [flags]\n")


def test_B274_the_version_is_told_in_lines() -> None:
    result = run("--version")
    assert result.returncode == 0
    titles = [line.partition(":")[0] for line in result.stdout.splitlines()]
    assert titles == ["API Version", "Version", "Git SHA", "Built", "Python Version", "Platform"]


def test_bad_flags_end_with_code_2_and_one_line() -> None:
    result = run("--threadines=2")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "mpi-operator: flag provided but not defined: -threadines; --help lists the flags\n"


def test_no_server_to_talk_to_ends_with_code_1() -> None:
    with OperatorProcess(KUBERNETES_SERVICE_HOST="") as operator:
        assert operator.wait() == 1
        operator.await_log("no API server is known")


def test_B268_a_port_in_use_ends_with_code_1_and_its_remedy(start_operator: StartOperator) -> None:
    (port,) = free_ports(1)
    first = start_operator(f"--monitoring-port={port}", "--bind-address=127.0.0.1")
    first.await_log(FILLED)
    second = start_operator(f"--monitoring-port={port}", "--bind-address=127.0.0.1")
    assert second.wait() == 1
    second.await_log("free the port")


def test_B292_B293_A2_11_a_clean_stop_has_code_0_and_gives_the_lease_back(
    control_plane: ControlPlane, operator: OperatorProcess
) -> None:
    assert operator.stop() == 0
    with Server(control_plane.kubeconfig, LOCK_NAMESPACE, is_new=False) as lock:
        assert lock.must_get(LEASES, "mpi-operator")["spec"]["holderIdentity"] == ""
    assert [record for record in operator.records() if record["level"] in {"error", "critical"}] == []


def test_B285_a_second_signal_ends_the_process_with_code_1(start_operator: StartOperator) -> None:
    # Nobody answers, so that the first signal alone would have to wait for what is under way.
    operator = start_operator()
    operator.await_log(LEADING)
    operator.signal(signal.SIGSTOP)
    operator.signal(signal.SIGTERM)
    operator.signal(signal.SIGINT)
    operator.signal(signal.SIGCONT)
    assert operator.wait() == 1


def test_B296_B300_probes_and_metrics_are_served(start_operator: StartOperator) -> None:
    health, metrics = free_ports(2)
    operator = start_operator(f"--health-port={health}", f"--monitoring-port={metrics}")
    operator.await_log(LEADING)
    assert get(health, "/healthz") == (200, "ok")
    assert get(health, "/readyz") == (200, "[+]crd ok\n[+]caches ok\n[+]leaderElection ok\n")
    code, text = get(metrics, "/metrics")
    assert code == 200
    assert "mpi_operator_is_leader 1.0" in text
    assert 'workqueue_depth{name="mpijobs"}' in text


def test_B265_A3_5_job_series_go_with_the_job(server: Server, start_operator: StartOperator) -> None:
    (metrics,) = free_ports(1)
    start_operator(f"--monitoring-port={metrics}").await_log(LEADING)
    server.submit(a_raw_job())
    server.until_condition("pi", "Created")
    server.until_job("pi", lambda job: bool(job["status"].get("startTime")), "started")
    series = f'mpi_operator_job_info{{launcher="pi-launcher",namespace="{server.namespace}"}} 1.0'
    server.submit(a_raw_job(name="later"))
    server.until_condition("later", "Created")
    server.until_launcher_job("later-launcher")
    text = get(metrics, "/metrics")[1]
    assert series in text
    assert "mpi_operator_jobs_created_total 2.0" in text
    server.delete(MPI_JOBS, "pi")
    server.submit(a_raw_job(name="last"))
    server.until_launcher_job("last-launcher")  # its event came after that of the deletion
    assert series not in get(metrics, "/metrics")[1]


def test_B284_A2_12_the_operator_waits_for_the_CRD(
    control_plane_without_crd: ControlPlane, install_crd: InstallCRD
) -> None:
    (health,) = free_ports(1)
    with OperatorProcess(
        f"--health-port={health}", "--lock-namespace=default", kubeconfig=control_plane_without_crd.kubeconfig
    ) as operator:
        operator.await_log("install the CRD, the operator waits for it")
        code, text = get(health, "/readyz")
        assert (code, text.splitlines()[0]) == (
            503,
            (
                "[-]crd: the custom resource mpijobs.kubeflow.org v2beta1 is not served; "
                "install the CRD, the operator waits for it"
            ),
        )
        install_crd(control_plane_without_crd)
        operator.await_log(FILLED)
        assert operator.stop() == 0


def test_A2_10_B066_caches_that_cannot_be_filled_end_with_code_1_and_the_reason(
    control_plane: ControlPlane, start_operator: StartOperator
) -> None:
    nobody = control_plane.user_kubeconfig("nobody-at-all")
    operator = start_operator("--startup-timeout=1s", kubeconfig=nobody)
    assert operator.wait() == 1
    operator.await_log("the caches could not be filled; check the API server and the RBAC rules")
    assert 'cannot list resource \\"pods\\"' in operator.log


def test_B291_B298_a_standby_takes_over_at_once_when_the_leader_stops(
    server: Server, start_operator: StartOperator
) -> None:
    leader = start_operator()
    leader.await_log(LEADING)
    (health,) = free_ports(1)
    standby = start_operator(f"--health-port={health}")
    standby.await_log(FILLED)
    assert get(health, "/healthz") == (200, "ok")
    assert get(health, "/readyz")[0] == 200
    server.submit(a_raw_job())
    server.until_pods(*WORKERS)
    assert LEADING not in standby.log
    assert leader.stop() == 0
    standby.await_log(LEADING)
    server.submit(a_raw_job(name="next", workers=1))
    server.until_pods(*WORKERS, "next-worker-0")


def test_a_killed_leader_is_followed_without_anything_done_twice(server: Server, start_operator: StartOperator) -> None:
    leader = start_operator(*FAST_ELECTION)
    leader.await_log(LEADING)
    server.submit(a_raw_job())
    server.until_pods(*WORKERS)
    server.until_event("pi", "MPIJobCreated")
    leader.signal(signal.SIGKILL)
    leader.wait()
    for worker in WORKERS:
        server.set_pod(worker, "Running")
    server.start_launcher("pi-launcher")
    start_operator(*FAST_ELECTION).await_log(LEADING)
    server.until_condition("pi", "Running")
    server.until_event("pi", "MPIJobRunning")
    assert sorted(reason for _, reason, _ in server.events("pi")) == ["MPIJobCreated", "MPIJobRunning"]


def test_lost_leadership_ends_with_code_3(
    control_plane: ControlPlane, server: Server, start_operator: StartOperator
) -> None:
    operator = start_operator(*FAST_ELECTION)
    operator.await_log(LEADING)
    with Server(control_plane.kubeconfig, LOCK_NAMESPACE, is_new=False) as lock:
        lock.patch(LEASES, "mpi-operator", {"spec": {"holderIdentity": "somebody else", "leaseDurationSeconds": 1}})
        assert operator.wait() == 3
        lock.patch(LEASES, "mpi-operator", {"spec": {"holderIdentity": ""}})
    operator.await_log("leadership was lost")


def test_SIGUSR1_shows_every_thread(operator: OperatorProcess) -> None:
    operator.signal(signal.SIGUSR1)
    operator.await_log("Current thread")
    assert operator.stop() == 0


@pytest.fixture
def install_crd() -> InstallCRD:
    manifest = Path(__file__).parents[2] / "manifests" / "base" / "kubeflow.org_mpijobs.yaml"

    def install(plane: ControlPlane) -> None:
        command = ["kubectl", "apply", "--server-side", "-f", str(manifest)]
        subprocess.run(command, env=plane.env(), check=True, capture_output=True)

    return install


def test_an_idle_operator_asks_for_nothing_but_watches_and_its_lease(
    control_plane: ControlPlane, server: Server, start_operator: StartOperator
) -> None:
    before = sum(1 for _ in control_plane.audit_events())
    operator = start_operator(*FAST_ELECTION)
    operator.await_log(LEADING)
    with Server(control_plane.kubeconfig, LOCK_NAMESPACE, is_new=False) as lock:
        holder = lock.must_get(LEASES, "mpi-operator")["spec"]
        lock.until(
            LEASES, lambda leases: leases["mpi-operator"]["spec"]["renewTime"] > holder["renewTime"], "a first renewal"
        )
        first = lock.must_get(LEASES, "mpi-operator")["spec"]["renewTime"]
        lock.until(LEASES, lambda leases: leases["mpi-operator"]["spec"]["renewTime"] > first, "a second renewal")
    assert operator.stop() == 0
    targets = [
        (event["objectRef"]["resource"], event["verb"])
        for event in list(control_plane.audit_events())[before:]
        if event.get("objectRef", {}).get("resource") not in {"leases", "events"}
    ]
    # The question whether the CRD is there, then one watch for each cache, which begins with its content.
    assert sorted(targets) == [
        ("configmaps", "watch"),
        ("jobs", "watch"),
        ("mpijobs", "list"),
        ("mpijobs", "watch"),
        ("pods", "watch"),
        ("services", "watch"),
    ]
