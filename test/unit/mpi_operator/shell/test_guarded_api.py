"""The fence around writes, and how requests are counted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from informers.errors import NotFound, Stopped
from mpi_operator.shell.guarded_api import find_resource
from mpi_operator.shell.resources import PODS
from test.builders.shell import Shell


@pytest.fixture
def shell() -> Iterator[Shell]:
    with Shell() as shell:
        yield shell


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/pods", "pods"),
        ("/api/v1/namespaces/a/pods/x", "pods"),
        ("/api/v1/namespaces/a/pods/x/status", "pods/status"),
        ("/apis/kubeflow.org/v2beta1/mpijobs", "mpijobs"),
        ("/apis/kubeflow.org/v2beta1/namespaces/a/mpijobs/x/status", "mpijobs/status"),
        ("/api/v1/namespaces/a", "namespaces"),
        ("/apis/batch/v1/namespaces/pods/jobs/pods", "jobs"),
        ("/version", ""),
    ],
)
def test_a_path_names_its_resource(path: str, expected: str) -> None:
    assert find_resource(path) == expected


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_E_no_write_is_sent_without_leadership(shell: Shell, method: str) -> None:
    shell.is_leader = False
    with pytest.raises(Stopped, match="does not lead"):
        shell.api.request(method, PODS.path(namespace="a", name="x"), body=b"{}")
    assert shell.server.requests == ()


def test_E_a_standby_may_read(shell: Shell) -> None:
    shell.is_leader = False
    assert shell.api.request("GET", PODS.path()).code == 200


def test_answers_and_failures_are_counted_by_code(shell: Shell) -> None:
    shell.api.request("GET", PODS.path())
    with pytest.raises(NotFound):
        shell.api.request("GET", PODS.path(namespace="a", name="x"))
    codes = [
        sample.labels["code"]
        for metric in shell.metrics.registry.collect()
        for sample in metric.samples
        if sample.name == "mpi_operator_api_requests_total"
    ]
    assert codes == ["200", "404"]
