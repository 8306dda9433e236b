"""The command line of the local cluster: `python -m hack.cluster up | down | status | images | build | …`."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence

from hack.cluster.control_plane import ControlPlane
from hack.cluster.go_programs import COREDNS, KUBERNETES, build_program
from hack.cluster.local import DEFAULT_NAME, State, is_ready, read_state, running_clusters, start_cluster, stop_cluster
from hack.cluster.scheduler_plugins import PROGRAM as SCHEDULER_PLUGINS
from hack.command_line import run_command
from hack.images.build import build_images
from hack.images.containerd import load_images


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hack.cluster", description="A real Kubernetes cluster, locally.")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="build what is missing, start the cluster, say how to use it")
    up.add_argument("--name", default=DEFAULT_NAME, help="clusters of different names run side by side")
    up.add_argument("--gang-scheduling", action="store_true", help="turn on Kubernetes' own gang scheduling (alpha)")
    down = commands.add_parser("down", help="stop the cluster and remove all that it made")
    down.add_argument("--name", default=DEFAULT_NAME)
    commands.add_parser("status", help="list the clusters and say whether they answer")
    images = commands.add_parser("images", help="build all images, and load them into the cluster if it runs")
    images.add_argument("--name", default=DEFAULT_NAME)
    commands.add_parser("build", help="build the programs and say where they are")
    commands.add_parser("control-plane", help="run etcd and kube-apiserver alone until interrupted")
    return parser


def usage(state: State) -> str:
    """Return the lines that tell a person how to use a running cluster."""
    kubectl = build_program(KUBERNETES) / "kubectl"
    return f"""
cluster {state.node.name} is ready: one node {state.node.node_name} at {state.node.server}
  export KUBECONFIG={state.node.kubeconfig("admin")}
  {kubectl} get nodes                  # or any kubectl near version 1.35
  logs: {state.node.directory}/*.log
  stop: make cluster-down{"" if state.node.name == DEFAULT_NAME else f" NAME={state.node.name}"}
"""


def _up(arguments: argparse.Namespace) -> None:
    started = time.monotonic()
    state = start_cluster(arguments.name, gang_scheduling=arguments.gang_scheduling)
    print(usage(state), f"up after {time.monotonic() - started:.1f} s")


def _down(arguments: argparse.Namespace) -> None:
    stopped = stop_cluster(arguments.name)
    print(f"cluster {arguments.name} {'is stopped and removed' if stopped else 'does not run'}")


def _status() -> None:
    states = running_clusters()
    for state in states:
        print(f"{state.node.name:20} {state.node.server:30} {'ready' if is_ready(state) else 'broken: see its logs'}")
    if not states:
        print("no cluster runs; start one with `make cluster`")


def _images(name: str) -> None:
    state = read_state(name)
    if state is not None and is_ready(state):
        load_images(containerd_address=state.node.containerd_address)
    else:
        build_images()
        print(f"cluster {name} does not run: the images are kept for when it does")


def _control_plane() -> None:
    with ControlPlane() as plane:
        print(f"export KUBECONFIG={plane.kubeconfig}\nended by Ctrl-C")
        signal.pause()


def _run(arguments: argparse.Namespace) -> None:
    match arguments.command:
        case "up":
            _up(arguments)
        case "down":
            _down(arguments)
        case "status":
            _status()
        case "images":
            _images(arguments.name)
        case "build":
            for program in (KUBERNETES, COREDNS, SCHEDULER_PLUGINS):
                print(build_program(program))
        case "control-plane":
            _control_plane()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = _parser().parse_args(argv)
    return run_command(lambda: _run(arguments), interrupted="what was started has been removed")


if __name__ == "__main__":
    sys.exit(main())
