from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mpi_operator.api.defaults import apply_defaults
from mpi_operator.api.validation import validate
from test.builders.jobs import decode_job

FOLDER = Path(__file__).parents[3] / "examples" / "v2beta1"
EXAMPLES = sorted(FOLDER.rglob("*.yaml"))


def load(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text())
    return document


def container(job: dict[str, Any], role: str) -> dict[str, Any]:
    [only] = job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]["containers"]
    assert isinstance(only, dict)
    return only


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in EXAMPLES])
def test_an_example_is_a_valid_job_named_after_its_file(path: Path) -> None:
    job = decode_job(yaml.safe_load(path.read_text()))
    assert validate(apply_defaults(job)) == ()
    assert job.metadata.name == path.stem


@pytest.mark.parametrize(
    ("name", "tag", "implementation"),
    [
        pytest.param("pi/pi.yaml", "openmpi", None, id="B332 Open MPI 4"),
        pytest.param("pi/pi-openmpi5.yaml", "openmpi5", None, id="Open MPI 5"),
        pytest.param("pi/pi-intel.yaml", "intel", "Intel", id="B333 Intel"),
        pytest.param("pi/pi-mpich.yaml", "mpich", "MPICH", id="B333 MPICH"),
    ],
)
def test_pi(name: str, tag: str, implementation: str | None) -> None:
    job = load(name)
    spec = job["spec"]
    assert spec.get("mpiImplementation") == implementation
    assert (spec["slotsPerWorker"], spec["sshAuthMountPath"]) == (1, "/home/mpiuser/.ssh")
    assert spec["runPolicy"] == {"cleanPodPolicy": "Running", "ttlSecondsAfterFinished": 60}
    assert spec["mpiReplicaSpecs"]["Worker"]["replicas"] == 2
    launcher, worker = container(job, "Launcher"), container(job, "Worker")
    for each in (launcher, worker):
        assert each["image"] == f"mpioperator/mpi-pi:{tag}"
        assert each["securityContext"] == {"runAsUser": 1000}
        assert each["resources"]["limits"] == {"cpu": 1, "memory": "1Gi"}
        assert "command" not in each
    assert launcher["args"] == ["mpirun", "-n", "2", "/home/mpiuser/pi"]
    assert worker["args"] == ["/usr/sbin/sshd", "-De", "-f", "/home/mpiuser/.sshd_config"]


@pytest.mark.parametrize("name", ["pi/pi-intel.yaml", "pi/pi-mpich.yaml"])
def test_b333_hydra_examples_probe_their_workers(name: str) -> None:
    worker = container(load(name), "Worker")
    assert "imagePullPolicy" not in worker, "an image that the node has is used: clusters without a registry run it too"
    assert worker["readinessProbe"] == {"tcpSocket": {"port": 2222}, "initialDelaySeconds": 2}


def test_b335_horovod_runs_as_root_on_two_workers_with_the_default_sshd() -> None:
    job = load("horovod/tensorflow-mnist.yaml")
    assert "--allow-run-as-root" in container(job, "Launcher")["args"]
    assert job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 2
    assert not {"command", "args"} & set(container(job, "Worker"))


def test_b336_benchmarks_take_gpus_on_the_workers_only() -> None:
    job = load("tensorflow-benchmarks/tensorflow-benchmarks.yaml")
    assert "resources" not in container(job, "Launcher")
    assert container(job, "Worker")["resources"]["limits"] == {"nvidia.com/gpu": 1}
    assert job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 2
