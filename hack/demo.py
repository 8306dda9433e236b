"""The demonstration: a cluster, our operator on it, and a real MPI program running as an MPIJob."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from hack.cluster.access import Access, open_cluster
from hack.cluster.choice import KINDS, Kind, choose, reason_against_kind
from hack.cluster.errors import ClusterError
from hack.command_line import run_command
from hack.deploy import NAMESPACE, deploy_operator

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "v2beta1" / "pi" / "pi.yaml"
_JOB_SECONDS = 180


def _step(text: str) -> None:
    print(f"\n==> {text}", flush=True)


def _show(access: Access, *arguments: str) -> None:
    print(f"$ kubectl {' '.join(arguments)}", flush=True)
    subprocess.run([str(access.kubectl_path), *arguments], env=access.env(), check=False)


def _watch_until_finished(access: Access) -> None:
    """Show the job's line each time it changes, until it has finished; raise ClusterError when it does not."""
    print("$ kubectl get mpijob pi --watch", flush=True)
    watch = subprocess.Popen([str(access.kubectl_path), "get", "mpijob", "pi", "--watch"], env=access.env())
    try:
        access.kubectl("wait", "--for=condition=Succeeded", f"--timeout={_JOB_SECONDS}s", "mpijob/pi")
    finally:
        watch.terminate()
        watch.wait()


def run_demo(access: Access) -> None:
    """Deploy the operator, run the example, and show all that a person would look at."""
    _step("the operator, from its own image and manifests")
    deploy_operator(access)
    _show(access, "get", "pods", f"--namespace={NAMESPACE}")
    _step("two workers and a launcher: examples/v2beta1/pi/pi.yaml")
    access.load_images(["openmpi"])
    access.kubectl("delete", "--ignore-not-found", "--wait", "mpijob/pi")
    started = time.monotonic()
    _show(access, "apply", "-f", str(EXAMPLE))
    try:
        _watch_until_finished(access)
    except ClusterError:
        _show(access, "describe", "mpijob/pi")
        _show(access, "get", "pods")
        raise
    print(f"finished {time.monotonic() - started:.1f} s after it was applied")
    _step("what the launcher printed: one rank on each worker")
    _show(access, "logs", "job/pi-launcher")
    _step("its final state")
    _show(access, "get", "mpijob", "pi", "--output=wide")
    _show(access, "get", "events", "--field-selector=involvedObject.kind=MPIJob,involvedObject.name=pi")


def epilogue(access: Access) -> str:
    """Return how to look around and how to clean up."""
    removal = "make cluster-down" if access.choice.kind == "local" else "kubectl delete mpijob pi"
    return f"""
Look around:
  export KUBECONFIG={access.kubeconfig}
  alias kubectl={access.kubectl_path}
  kubectl get mpijobs -A; kubectl explain mpijob.spec; kubectl describe mpijob pi
  kubectl logs -n {NAMESPACE} deployment/mpi-operator
Clean up:
  {removal}
"""


def _demonstrate(asked: Kind | None) -> None:
    choice = choose(asked, os.environ, reason_against_kind)
    _step(str(choice))
    access = open_cluster(choice)
    run_demo(access)
    print(epilogue(access))


def main() -> int:
    """Run the demonstration; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cluster", choices=KINDS, help="which cluster to use (default: the best one here)")
    arguments = parser.parse_args()
    return run_command(lambda: _demonstrate(arguments.cluster), interrupted="run it again to go on")


if __name__ == "__main__":
    sys.exit(main())
