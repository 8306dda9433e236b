"""A bare control plane with the CRD and the shipped RBAC rules, and operators that have no other rights."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from hack.cluster.control_plane import ControlPlane, Options, free_ports
from hack.manifests import OVERLAYS
from test.integration.crds import await_crds
from test.integration.operator_process import LEADING, OperatorProcess
from test.integration.play import Fence
from test.integration.server import Server

ACCOUNT = "system:serviceaccount:mpi-operator:mpi-operator"
GROUPS = ("system:serviceaccounts", "system:serviceaccounts:mpi-operator", "system:authenticated")
LOCK_NAMESPACE = "mpi-operator"
FAST_ELECTION = (
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
)
_NUMBERS = itertools.count(1)

StartOperator = Callable[..., OperatorProcess]


def apply_overlay(plane: ControlPlane, name: str) -> None:
    """Install an overlay, without the workloads that nobody would run."""
    rendered = subprocess.run(
        ["kubectl", "kustomize", str(OVERLAYS / name)], env=plane.env(), check=True, capture_output=True, text=True
    ).stdout
    wanted = [
        each for each in yaml.safe_load_all(rendered) if each["kind"] not in {"Deployment", "PodDisruptionBudget"}
    ]
    subprocess.run(
        ["kubectl", "apply", "--server-side", "-f", "-"],
        env=plane.env(),
        check=True,
        input=yaml.safe_dump_all(wanted),
        text=True,
        capture_output=True,
    )
    await_crds(plane)


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """A control plane with the standalone overlay, which audits what the operator does."""
    options = Options(audited_users=(ACCOUNT,), enabled_admission=("OwnerReferencesPermissionEnforcement",))
    with ControlPlane(options) as plane:
        apply_overlay(plane, "standalone")
        yield plane


@pytest.fixture
def control_plane_without_crd() -> Iterator[ControlPlane]:
    """A control plane of the test's own, with nothing on it."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture
def server(control_plane: ControlPlane) -> Iterator[Server]:
    """A namespace of the test's own."""
    with Server(control_plane.kubeconfig, f"test-{next(_NUMBERS)}") as server:
        yield server


@pytest.fixture
def start_operator(control_plane: ControlPlane, server: Server) -> Iterator[StartOperator]:
    """Start operators that run the test's namespace with the shipped rights, and end them afterwards."""
    kubeconfig = control_plane.user_kubeconfig(ACCOUNT, GROUPS)
    with ExitStack() as stack:

        def start(*arguments: str, kubeconfig: Path = kubeconfig, **environment: str) -> OperatorProcess:
            process = OperatorProcess(
                f"--lock-namespace={LOCK_NAMESPACE}",
                f"--namespace={server.namespace}",
                *arguments,
                kubeconfig=kubeconfig,
                **environment,
            )
            return stack.enter_context(process)

        yield start


@pytest.fixture
def operator(start_operator: StartOperator) -> OperatorProcess:
    """An operator that leads."""
    process = start_operator()
    process.await_log(LEADING)
    return process


@pytest.fixture(scope="module")
def monitoring_port() -> int:
    """Where `shared_operator` serves its metrics."""
    return free_ports(1)[0]


@pytest.fixture(scope="module")
def shared_operator(control_plane: ControlPlane, monitoring_port: int) -> Iterator[OperatorProcess]:
    """An operator of all namespaces that leads, for a module's tests. It may log no error, and stops cleanly."""
    kubeconfig = control_plane.user_kubeconfig(ACCOUNT, GROUPS)
    flags = (f"--lock-namespace={LOCK_NAMESPACE}", f"--monitoring-port={monitoring_port}")
    with OperatorProcess(*flags, kubeconfig=kubeconfig) as process:
        process.await_log(LEADING)
        yield process
        assert process.stop() == 0
        assert [record for record in process.records() if record["level"] in {"error", "critical"}] == []


@pytest.fixture(scope="module")
def settle(control_plane: ControlPlane, shared_operator: OperatorProcess) -> Iterator[Fence]:
    """Wait until `shared_operator` has looked at all that has happened."""
    assert shared_operator.pid
    with Server(control_plane.kubeconfig, f"fence-{next(_NUMBERS)}") as server:
        yield Fence(server)
