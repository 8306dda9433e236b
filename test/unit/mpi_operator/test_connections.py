"""The two connections of a process (B286)."""

from __future__ import annotations

import pytest

from clockwork import SystemClock
from informers.testing import FakeApiServer
from informers.transport.configuration import ConfigurationError
from mpi_operator.connections import open_connections
from mpi_operator.options import parse_options
from mpi_operator.shell.resources import PODS


def test_B286_B271_each_connection_has_its_own_name_and_the_flag_names_the_server() -> None:
    with FakeApiServer(PODS) as server:
        environment = {"KUBECONFIG": "/nowhere"}
        options = parse_options([f"--kubeConfig={server.kubeconfig}"], environment)
        with open_connections(
            options, environment, SystemClock(), parallel_writes=1, on_throttled=lambda _: None
        ) as connections:
            connections.api.request("GET", PODS.path())
            connections.election_api.request("GET", PODS.path())
        agents = [
            value
            for request in server.requests
            for name, value in request.headers.items()
            if name.lower() == "user-agent"
        ]
        assert server.accepted_connections == 2
    work, election = agents
    assert work.startswith("mpi-operator/")
    assert election == f"{work}/leader-election"


def test_B278_a_limit_is_kept_when_one_is_asked_for() -> None:
    waits: list[float] = []
    with FakeApiServer(PODS) as server:
        options = parse_options([f"--kubeConfig={server.kubeconfig}", "--kube-api-qps=1000", "--kube-api-burst=1"], {})
        with open_connections(options, {}, SystemClock(), parallel_writes=1, on_throttled=waits.append) as connections:
            for _ in range(5):
                connections.api.request("GET", PODS.path())
    assert any(wait > 0 for wait in waits)


def test_no_server_is_told_with_its_remedy() -> None:
    with (
        pytest.raises(ConfigurationError, match="no API server is known"),
        open_connections(parse_options([], {}), {}, SystemClock(), parallel_writes=1, on_throttled=lambda _: None),
    ):
        raise AssertionError("there is no server")
