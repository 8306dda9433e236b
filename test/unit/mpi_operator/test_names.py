from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_operator import names


def test_b075_worker_names_are_never_padded() -> None:
    assert [names.worker_name("pi", ordinal) for ordinal in (0, 9, 10)] == [
        "pi-worker-0",
        "pi-worker-9",
        "pi-worker-10",
    ]


def test_b076_b077_names_of_the_other_children() -> None:
    assert names.launcher_name("pi") == "pi-launcher"
    assert names.service_name("pi") == "pi"
    assert names.config_map_name("pi") == "pi-config"
    assert names.ssh_secret_name("pi") == "pi-ssh"
    assert names.pod_group_name("pi") == "pi"


def test_b078_k7_the_labels_of_pods() -> None:
    assert names.pod_labels("pi", "worker") == {
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-name": "pi",
        "training.kubeflow.org/job-role": "worker",
    }
    assert names.OPERATOR_SELECTOR == "training.kubeflow.org/operator-name=mpi-operator"


def test_b079_b080_the_index_is_shifted_where_the_launcher_is_replica_0() -> None:
    assert names.replica_index(0, is_launcher_worker=False) == "0"
    assert names.replica_index(0, is_launcher_worker=True) == "1"


@given(st.sampled_from(["pi", "pi-worker", "worker-1", "pi-worker-1"]), st.integers(0, 10**8))
def test_b134_a1_1_an_ordinal_is_read_back_from_the_name(job_name: str, ordinal: int) -> None:
    assert names.worker_ordinal(job_name, names.worker_name(job_name, ordinal)) == ordinal


@pytest.mark.parametrize(
    "pod_name",
    [
        pytest.param("pi-worker-01", id="padded"),
        pytest.param("pi-worker-", id="no ordinal"),
        pytest.param("pi-worker--1", id="negative"),
        pytest.param("pi-worker-1-x", id="longer"),
        pytest.param("pi-worker-\u0661", id="a digit of another script"),
        pytest.param("pi-launcher-abcde", id="the launcher"),
        pytest.param("pi2-worker-0", id="another job"),
        pytest.param("dbg", id="A1_2 a foreign pod"),
    ],
)
def test_what_is_no_worker_name_has_no_ordinal(pod_name: str) -> None:
    assert names.worker_ordinal("pi", pod_name) is None


@pytest.mark.parametrize(
    ("cluster_domain", "expected"),
    [
        pytest.param("", "pi-worker-0.pi.default.svc", id="B088 ends in svc"),
        pytest.param("cluster.local", "pi-worker-0.pi.default.svc.cluster.local", id="B092 the domain is appended"),
    ],
)
def test_the_full_name_of_a_pod(cluster_domain: str, expected: str) -> None:
    host = names.host_name("pi-worker-0", job_name="pi", namespace="default", cluster_domain=cluster_domain)
    assert host == expected
