"""The coscheduling scheduler of the scheduler-plugins project, beside the default scheduler of a local cluster."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hack.cluster.component import Component, is_healthy
from hack.cluster.errors import ClusterError
from hack.cluster.go_programs import KUBERNETES, SOURCES, Echo, GoProgram, build_program
from hack.cluster.local import State

PROGRAM = GoProgram(
    name="scheduler_plugins",
    names=("scheduler-plugins",),
    linker_flags=(
        "-s -w -X k8s.io/component-base/version.gitVersion=v1.34.7"
        " -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=34"
    ),
    minutes=5,
)
SCHEDULER_NAME = "scheduler-plugins-scheduler"
CRD = SOURCES / PROGRAM.name / "scheduling.x-k8s.io_podgroups.yaml"
_PORT = 10260
_READY_SECONDS = 60.0
_RETRY_SECONDS = 10


def build_configuration(kubeconfig: Path) -> str:
    """Return the KubeSchedulerConfiguration, as JSON: one profile, whose queue keeps gangs together."""
    configuration: dict[str, Any] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "podMaxBackoffSeconds": 2,
        "profiles": [
            {
                "schedulerName": SCHEDULER_NAME,
                "plugins": {
                    "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
                    "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
                },
            }
        ],
    }
    return json.dumps(configuration, indent=1)


@contextmanager
def running_scheduler(state: State, *, echo: Echo = print) -> Iterator[str]:
    """Run the scheduler in the cluster for the duration of the context; yield its schedulerName.

    Its PodGroup CRD is installed first, and stays. To be entered in a thread that outlives the context.
    """
    program = build_program(PROGRAM, echo=echo) / "scheduler-plugins"
    node = state.node
    kubectl = [str(build_program(KUBERNETES, echo=echo) / "kubectl"), f"--kubeconfig={node.kubeconfig('admin')}"]
    installed = subprocess.run(
        [*kubectl, "apply", "--server-side", "--force-conflicts", "-f", str(CRD)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if installed.returncode:
        raise ClusterError(f"the CRD of PodGroups could not be installed: {installed.stderr.strip()}")
    configuration = node.directory / "scheduler-plugins.json"
    configuration.write_text(build_configuration(node.kubeconfig("admin")))
    flags = [
        f"--config={configuration}",
        f"--secure-port={_PORT}",
        f"--bind-address={node.address}",
        # A gang that minResources kept back is not tried again when pods end, which the plugin does not hear of.
        f"--pod-max-in-unschedulable-pods-duration={_RETRY_SECONDS}s",
    ]
    # Not into the namespace of process ids: for that nsenter forks, and ends without ending the scheduler.
    enter = ["nsenter", "--target", str(state.namespaces.init_pid), "--mount", "--net", "--"]
    scheduler = Component("scheduler-plugins", [*enter, str(program), *flags], node.directory / "scheduler-plugins.log")
    try:
        scheduler.await_ready(lambda: is_healthy(node.address, _PORT, "/healthz"), _READY_SECONDS)
        yield SCHEDULER_NAME
    finally:
        scheduler.stop()
