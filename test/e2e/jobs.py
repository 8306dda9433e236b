"""MPIJobs for tests: built on the test images, small enough that several fit on one node with two cores."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "v2beta1"
Manifest = dict[str, Any]

IMPLEMENTATIONS = {"openmpi": "OpenMPI", "openmpi5": "OpenMPI", "mpich": "MPICH", "intel": "Intel"}
"""The `mpiImplementation` of each test image."""

PI = ("/home/mpiuser/pi", "--samples", "1000000")
ENTRY_POINT = "/usr/local/bin/mpi-entrypoint"
MARK_OF_THE_POD = "/tmp/pod"  # noqa: S108 - in the container
RUN_UNTIL_FINISH = f"""
rank=${{OMPI_COMM_WORLD_RANK:-${{PMI_RANK:-?}}}}
host=$(cat {MARK_OF_THE_POD})
trap 'echo "Rank $rank is told to stop" | tee /proc/1/fd/1; exit 1' TERM
echo "Rank $rank on host $host"
until [ -e /tmp/finish ]; do sleep 0.1; done
echo "Rank $rank has finished"
"""
"""A program for one rank: it says in which pod it runs, notices being stopped, and ends when `finish` is called.

That it is stopped it also writes to the log of its pod, where that has `with_shell_as_first_process`: mpirun, which is
being stopped as well, need not pass it on.
"""
SSHD_PID = "/tmp/sshd"  # noqa: S108 - in the container


def example(path: str) -> Manifest:
    """Return one of the project's examples."""
    manifest: Manifest = yaml.safe_load((EXAMPLES / path).read_text())
    return manifest


def mpirun(ranks: int, *program: str) -> list[str]:
    """Return the arguments of a launcher that runs `program` on so many ranks."""
    return ["mpirun", "-n", str(ranks), *program]


def shell(script: str) -> list[str]:
    """Return the arguments of a launcher or worker that runs a shell script."""
    return ["/bin/sh", "-c", script]


def a_job(
    name: str = "job",
    *,
    image: str = "openmpi",
    workers: int = 2,
    as_root: bool = False,
    launcher: list[str] | None = None,
    run_policy: Manifest | None = None,
    **spec: Any,
) -> Manifest:
    """Return an MPIJob whose launcher has the arguments `launcher`, else runs pi with one rank on each worker.

    It runs as mpiuser (1000) unless `as_root`. Other fields of `spec` are taken as they are given. A launcher that
    fails is not retried for ever: `backoffLimit` is 2 unless `run_policy` has another.
    """
    launcher = launcher or mpirun(workers, *PI)
    defaults: Manifest = {"mpiImplementation": IMPLEMENTATIONS[image]}
    if not as_root:
        defaults["sshAuthMountPath"] = "/home/mpiuser/.ssh"
    sshd = "/usr/sbin/sshd -De" if as_root else "/usr/sbin/sshd -De -f /home/mpiuser/.sshd_config"
    worker = shell(f'echo "$POD_NAME" > {MARK_OF_THE_POD}; exec {sshd}')
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": name},
        "spec": {
            **defaults,
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 2, **(run_policy or {})},
            "mpiReplicaSpecs": {
                "Launcher": {"template": _template("launcher", image, launcher, as_root=as_root)},
                "Worker": {"replicas": workers, "template": _template("worker", image, worker, as_root=as_root)},
            },
            **spec,
        },
    }


def _template(role: str, image: str, arguments: list[str], *, as_root: bool) -> Manifest:
    as_root_too = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
    environment: list[Manifest] = [
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        *({"name": variable, "value": "1"} for variable in as_root_too if as_root),
    ]
    container = {
        "name": role,
        "image": f"mpioperator/mpi-pi:{image}",
        "imagePullPolicy": "IfNotPresent",
        "args": arguments,
        "env": environment,
        "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}},
    }
    user = {"runAsUser": 0 if as_root else 1000}
    return {"spec": {"containers": [container], "securityContext": user, "terminationGracePeriodSeconds": 2}}


def pod_spec(job: Manifest, role: str) -> Manifest:
    """Return the pod spec of the job's `Launcher` or `Worker`, to be changed in place."""
    spec: Manifest = job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]
    return spec


def with_slow_workers(job: Manifest, seconds: float) -> Manifest:
    """Return the job, its workers starting sshd only after a while and being Ready when it answers."""
    job = deepcopy(job)
    [container] = pod_spec(job, "Worker")["containers"]
    container["args"] = shell(f"sleep {seconds}; {container['args'][-1]}")
    container["readinessProbe"] = {"tcpSocket": {"port": 2222}, "periodSeconds": 1}
    return job


def with_shell_as_first_process(job: Manifest) -> Manifest:
    """Return the job, its workers running sshd under a shell: a pod fails with code 7 when sshd is killed."""
    job = deepcopy(job)
    [container] = pod_spec(job, "Worker")["containers"]
    run_sshd = container["args"][-1].replace("exec ", "")
    container["args"] = shell(f"{run_sshd} & echo $! > {SSHD_PID}; wait; exit 7")
    return job


def worker_names(job: str, count: int) -> list[str]:
    """Return the names, which are also the host names, of a job's first workers."""
    return [f"{job}-worker-{ordinal}" for ordinal in range(count)]
