from __future__ import annotations

from typing import Any

import pytest

from mpi_operator.children.launcher.build import build_pod_template
from test.builders.jobs import a_job, a_template

ROLE = ("K_MPI_JOB_ROLE", "launcher")
BLANKED = [("NVIDIA_VISIBLE_DEVICES", ""), ("NVIDIA_DRIVER_CAPABILITIES", "")]


def environment(container: dict[str, Any] | None = None, **fields: Any) -> list[tuple[str, str]]:
    job = a_job(launcher={"template": a_template(container)}, **fields)
    variables = build_pod_template(job)["spec"]["containers"][0]["env"]
    return [(variable["name"], variable.get("value", "")) for variable in variables]


@pytest.mark.parametrize(
    ("implementation", "expected"),
    [
        pytest.param(
            "OpenMPI",
            [
                ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
                ("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"),
                ("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10"),
                ("OMPI_MCA_orte_set_default_slots", "3"),
                ("PRTE_MCA_prte_default_hostfile", "/etc/mpi/hostfile"),
                ("PRTE_MCA_plm_ssh_args", "-o ConnectionAttempts=10"),
                ("PRTE_MCA_prte_set_default_slots", "3"),
            ],
            id="B150 A1_20 Open MPI 4 and 5",
        ),
        pytest.param(
            "Intel",
            [
                ("I_MPI_HYDRA_HOST_FILE", "/etc/mpi/hostfile"),
                ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "-o ConnectionAttempts=10"),
                ("I_MPI_PERHOST", "3"),
            ],
            id="B151 Intel",
        ),
        pytest.param(
            "MPICH",
            [
                ("HYDRA_HOST_FILE", "/etc/mpi/hostfile"),
                ("HYDRA_LAUNCH_EXTRA_ARGS", "-o ConnectionAttempts=10"),
                ("HYDRA_LAUNCHER_EXTRA_ARGS", "-o ConnectionAttempts=10"),
            ],
            id="B152 MPICH",
        ),
    ],
)
def test_b149_b153_the_environment_of_each_implementation(implementation: str, expected: list[tuple[str, str]]) -> None:
    own = [{"name": "A", "value": "1"}]
    found = environment({"env": own}, mpiImplementation=implementation, slotsPerWorker=3)
    assert found == [("A", "1"), ROLE, *expected, *BLANKED]


@pytest.mark.parametrize(
    ("container", "fields", "blanked"),
    [
        pytest.param({}, {}, BLANKED, id="B153 no GPU is asked for"),
        pytest.param({}, {"runLauncherAsWorker": True}, [], id="B153 ranks run on the launcher"),
        pytest.param({"resources": {"limits": {"nvidia.com/gpu": 1}}}, {}, [], id="B154 A1_22 a GPU is asked for"),
        pytest.param({"resources": {"requests": {"nvidia.com/mig-1g.5gb": 1}}}, {}, [], id="B154 a part of a GPU"),
        pytest.param({"resources": {"claims": [{"name": "gpu"}]}}, {}, [], id="B154 a device by a claim"),
        pytest.param({"resources": {"limits": {"cpu": 1}}}, {}, BLANKED, id="B336 other resources"),
        pytest.param(
            {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]},
            {},
            [("NVIDIA_VISIBLE_DEVICES", "all"), BLANKED[1]],
            id="B154 A1_22 the user set one of them",
        ),
    ],
)
def test_nvidia_variables_are_blanked(
    container: dict[str, Any], fields: dict[str, Any], blanked: list[tuple[str, str]]
) -> None:
    assert [variable for variable in environment(container, **fields) if variable[0].startswith("NVIDIA")] == blanked


def test_b154_a1_22_a_tunable_that_the_user_set_stands_once() -> None:
    own = [{"name": "OMPI_MCA_plm_rsh_args", "value": "-p 2222"}, {"name": "PRTE_MCA_plm_ssh_args", "valueFrom": {}}]
    found = environment({"env": own})
    assert [value for name, value in found if name == "OMPI_MCA_plm_rsh_args"] == ["-p 2222"]
    assert [name for name, _ in found].count("PRTE_MCA_plm_ssh_args") == 1
