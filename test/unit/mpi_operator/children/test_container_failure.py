"""Why a pod failed, in one sentence (B237, A4.3)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mpi_operator.api.observed import ContainerStatus, Pod
from mpi_operator.children.container_failure import describe_failure, finished_at, main_container_status
from test.builders.jobs import a_job, a_template
from test.builders.pods import a_worker, ago

SIDECAR_FIRST = a_job(
    worker={
        "template": {
            "metadata": {"annotations": {"kubectl.kubernetes.io/default-container": "mpi"}},
            "spec": {"containers": [{"name": "proxy"}, *a_template()["spec"]["containers"]]},
        }
    }
)


def _status(name: str, code: int | None, **ended: Any) -> dict[str, Any]:
    state = {} if code is None else {"terminated": {"exitCode": code, **ended}}
    return {"name": name, "state": state}


def _pod(*statuses: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **state: Any) -> Pod:
    pod = a_worker(0, SIDECAR_FIRST, phase="Failed", **state)
    status = msgspec.structs.replace(
        pod.status,
        container_statuses=msgspec.convert(statuses, tuple[ContainerStatus, ...]),
        init_container_statuses=msgspec.convert(init, tuple[ContainerStatus, ...]),
    )
    return msgspec.structs.replace(pod, status=status)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(_pod(_status("mpi", 3)), "container mpi exited with code 3", id="container and exit code"),
        pytest.param(
            _pod(_status("mpi", 137, reason="OOMKilled")),
            "container mpi exited with code 137 (OOMKilled)",
            id="a reason that says more than Error",
        ),
        pytest.param(
            _pod(_status("mpi", 1, reason="Error", message="no slots\n")),
            "container mpi exited with code 1: no slots",
            id="the termination message",
        ),
        pytest.param(
            _pod(_status("proxy", 2), _status("mpi", 3)),
            "container mpi exited with code 3",
            id="A1.23 the main container explains more than a sidecar",
        ),
        pytest.param(
            _pod(_status("proxy", 2), _status("mpi", 0)),
            "container proxy exited with code 2",
            id="if it did not fail, the one that did",
        ),
        pytest.param(
            _pod(init=(_status("init", 4),)), "container init exited with code 4", id="an init container that failed"
        ),
        pytest.param(
            _pod(reason="Evicted", message="low on disk"), "Evicted: low on disk", id="the pod's own reason and message"
        ),
        pytest.param(_pod(), "pod pi-worker-0 failed without saying why", id="nothing at all"),
    ],
)
def test_failure(pod: Pod, expected: str) -> None:
    assert describe_failure(pod) == expected


def test_a_pod_ended_when_the_last_of_its_containers_did() -> None:
    pod = _pod(_status("proxy", 0, finishedAt=ago(3)), _status("mpi", 1, finishedAt=ago(9)))
    assert finished_at(pod) == ago(3)


def test_a_pod_that_says_no_time_has_none() -> None:
    assert finished_at(_pod(_status("mpi", 1))) is None


def test_the_main_container_has_no_status_before_the_kubelet_reports_it() -> None:
    assert main_container_status(_pod(_status("proxy", None))) is None
