from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_operator.children.config_map.build import build_config_map, hosts_version
from test.builders.jobs import a_job
from test.golden import assert_golden

GOLDEN = Path(__file__).parent / "golden"


def hostfile(*, cluster_domain: str = "", **fields: Any) -> str:
    text: str = build_config_map(a_job(**fields), running=(), cluster_domain=cluster_domain)["data"]["hostfile"]
    return text


def script(running: Sequence[int], *, cluster_domain: str = "", **fields: Any) -> str:
    config_map = build_config_map(a_job(**fields), running=running, cluster_domain=cluster_domain)
    text: str = config_map["data"]["discover_hosts.sh"]
    return text


def test_b096_the_whole_config_map() -> None:
    assert_golden(GOLDEN / "config_map.yaml", build_config_map(a_job(), running=[1]))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            {}, "pi-worker-0.pi.default.svc slots=1\npi-worker-1.pi.default.svc slots=1\n", id="B088 Open MPI"
        ),
        pytest.param(
            {"slotsPerWorker": 4, "workers": 1}, "pi-worker-0.pi.default.svc slots=4\n", id="B088 Open MPI with 4 slots"
        ),
        pytest.param(
            {"mpiImplementation": "Intel", "slotsPerWorker": 3, "workers": 1},
            "pi-worker-0.pi.default.svc:3\n",
            id="B089 Intel",
        ),
        pytest.param(
            {"mpiImplementation": "MPICH", "slotsPerWorker": 3, "workers": 1},
            "pi-worker-0.pi.default.svc:3\n",
            id="B090 MPICH",
        ),
        pytest.param(
            {"mpiImplementation": "MPICH", "workers": 1}, "pi-worker-0.pi.default.svc:1\n", id="B091 no slots is 1"
        ),
        pytest.param(
            {"cluster_domain": "cluster.local", "workers": 1},
            "pi-worker-0.pi.default.svc.cluster.local slots=1\n",
            id="B092 with a cluster domain",
        ),
        pytest.param(
            {"runLauncherAsWorker": True, "workers": 1},
            "pi-launcher.pi.default.svc slots=1\npi-worker-0.pi.default.svc slots=1\n",
            id="B093 the launcher first",
        ),
        pytest.param(
            {"runLauncherAsWorker": True, "workers": None},
            "pi-launcher.pi.default.svc slots=1\n",
            id="B094 the launcher alone",
        ),
        pytest.param(
            {"runLauncherAsWorker": True, "workers": 1, "mpiImplementation": "Intel", "slotsPerWorker": 2},
            "pi-launcher:2\npi-worker-0.pi.default.svc:2\n",
            id="Hydra starts the launcher's ranks without ssh only under the launcher's own hostname: Intel",
        ),
        pytest.param(
            {"runLauncherAsWorker": True, "workers": 1, "mpiImplementation": "MPICH", "cluster_domain": "k.l"},
            "pi-launcher:1\npi-worker-0.pi.default.svc.k.l:1\n",
            id="Hydra starts the launcher's ranks without ssh only under the launcher's own hostname: MPICH",
        ),
    ],
)
def test_the_hostfile(fields: dict[str, Any], expected: str) -> None:
    assert hostfile(**fields) == expected


def test_b095_a1_18_every_wanted_worker_is_listed_in_numeric_order() -> None:
    ordinals = [line.split(".")[0].removeprefix("pi-worker-") for line in hostfile(workers=12).splitlines()]
    assert ordinals == [str(ordinal) for ordinal in range(12)]


@pytest.mark.parametrize(
    ("running", "fields", "expected"),
    [
        pytest.param([], {}, "#!/bin/sh\n", id="B100 B102 nobody runs"),
        pytest.param([1], {}, "#!/bin/sh\necho pi-worker-1.pi.default.svc\n", id="B101 B107 one runs, no slots"),
        pytest.param(
            [],
            {"runLauncherAsWorker": True},
            "#!/bin/sh\necho pi-launcher.pi.default.svc\n",
            id="B103 the launcher is always there",
        ),
        pytest.param(
            [0],
            {"cluster_domain": "cluster.local"},
            "#!/bin/sh\necho pi-worker-0.pi.default.svc.cluster.local\n",
            id="B104 with a cluster domain",
        ),
        pytest.param(
            [5, 1, 0],
            {},
            "#!/bin/sh\necho pi-worker-0.pi.default.svc\necho pi-worker-1.pi.default.svc\n",
            id="B106 A1_18 a surplus worker is left out",
        ),
    ],
)
def test_discover_hosts(running: list[int], fields: dict[str, Any], expected: str) -> None:
    assert script(running, **fields) == expected


@given(st.permutations([0, 2, 10, 64, 65]))
def test_b105_a1_18_hosts_are_in_numeric_order_whatever_order_they_came_in(running: list[int]) -> None:
    hosts = [line.split()[-1] for line in script(running, workers=70).splitlines()[1:]]
    assert hosts == [f"pi-worker-{ordinal}.pi.default.svc" for ordinal in (0, 2, 10, 64, 65)]


def test_a3_8_the_version_of_the_hosts_changes_with_the_hosts_only() -> None:
    one, same, more, resized = (
        build_config_map(a_job(workers=2), running=[0])["data"],
        build_config_map(a_job(workers=2), running=[0, 0])["data"],
        build_config_map(a_job(workers=2), running=[0, 1])["data"],
        build_config_map(a_job(workers=2, slotsPerWorker=2), running=[0])["data"],
    )
    assert hosts_version(one) == hosts_version({**same, "other": "key"})
    assert len({hosts_version(data) for data in (one, more, resized)}) == 3
    assert len(hosts_version(one)) <= 63
