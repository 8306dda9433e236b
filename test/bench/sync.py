"""How soon, and in how much memory, a process has 10,000 pods of a real API server: `python -m test.bench.sync`.

Each client is a process of its own, measured from its start, imports included. The kubernetes package's client lists
the typed models and opens a `Watch`, as its users do; it has no cache, so it keeps them in a dict.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import msgspec

from hack.cluster.control_plane import ControlPlane
from informers.client import Client
from informers.transport import Transport, TransportOptions, load_configuration
from mpi_operator.shell.resources import PODS
from test.bench.row import Row
from test.builders.large_pods import a_large_pod
from test.integration.server import NAMESPACES

POD_COUNT = 10_000
NAMESPACE = "bench"
THREADS = 16
LIMIT_SECONDS = 600
INFORMER = "informers, Struct"
PACKAGE = "kubernetes, models"

_PREAMBLE = """
import gc, json, sys, time
def ready(count):
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    fields = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
    started = int(fields[19]) / __import__("os").sysconf("SC_CLK_TCK")
    seconds = time.clock_gettime(time.CLOCK_BOOTTIME) - started
    print(json.dumps({"count": count, "seconds": seconds, "kibibytes": int(status["VmRSS"].split()[0])}), flush=True)
"""
_PROGRAMS = {
    INFORMER: """
from random import Random
import structlog
from clockwork import StopToken, SystemClock
from informers import Informer, wait_for_sync
from informers.resource import Resource
from informers.resource_list_watch import ResourceListWatch
from informers.transport import Transport, load_configuration
from mpi_operator.api.observed import Pod
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
stop, clock = StopToken(), SystemClock()
with Transport(load_configuration(kubeconfig=sys.argv[1], environ={})) as api:
    source = ResourceListWatch(api, Resource("", "v1", "pods", "Pod"), Pod)
    informer = Informer(source, clock=clock, random=Random(0), stop_token=stop)
    informer.start()
    wait_for_sync([informer], timeout_seconds=300, clock=clock, stop=stop)
    ready(len(informer.store))
    informer.stop()
""",
    PACKAGE: """
from kubernetes import client, config, watch
config.load_kube_config(sys.argv[1])
api = client.CoreV1Api()
cache, version, token = {}, None, None
while True:
    page = api.list_pod_for_all_namespaces(limit=500, _continue=token)
    cache.update({(pod.metadata.namespace, pod.metadata.name): pod for pod in page.items})
    token, version = page.metadata._continue, page.metadata.resource_version
    if not token:
        break
for _ in watch.Watch().stream(api.list_pod_for_all_namespaces, resource_version=version, timeout_seconds=1):
    pass
ready(len(cache))
""",
}


class Ready(msgspec.Struct, frozen=True):
    """What a client says once it has all pods."""

    count: int
    seconds: float
    kibibytes: int


def fill(plane: ControlPlane) -> None:
    """Create the pods."""
    configuration = load_configuration(kubeconfig=str(plane.kubeconfig), environ={})
    with Transport(configuration, TransportOptions(pool_size=THREADS)) as api:
        client = Client(api)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        client.create(NAMESPACES, "", namespace, dict)

        def create(number: int) -> None:
            pod = a_large_pod(number)
            metadata = {key: pod["metadata"][key] for key in ("name", "labels", "annotations", "ownerReferences")}
            spec = {key: value for key, value in pod["spec"].items() if key != "serviceAccountName"}
            client.create(PODS, NAMESPACE, {**pod, "metadata": metadata, "spec": spec, "status": {}}, dict)

        with ThreadPoolExecutor(THREADS) as pool:
            for _ in pool.map(create, range(POD_COUNT)):
                pass


def run_client(plane: ControlPlane, name: str) -> Ready:
    """Run one client in a process of its own."""
    command = [sys.executable, "-c", _PREAMBLE + _PROGRAMS[name], str(plane.kubeconfig)]
    ended = subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    found = msgspec.convert(json.loads(ended.stdout.splitlines()[-1]), Ready)
    if found.count != POD_COUNT:
        raise RuntimeError(f"{name} has {found.count} pods, expected {POD_COUNT}")
    return found


def measure() -> Iterator[Row]:
    """Yield the rows of the table."""
    with ControlPlane(echo=lambda _: None) as plane:
        fill(plane)
        run_client(plane, INFORMER)  # compiles the modules, and warms the server's cache
        ours, theirs = run_client(plane, INFORMER), run_client(plane, PACKAGE)
    yield Row(
        f"process start to synced, {POD_COUNT:,} pods of a real API server",
        "<= 3 s",
        f"{ours.seconds:.2f} s",
        f"{theirs.seconds:.2f} s",
        meets=ours.seconds <= 3.0,
    )
    ours_mib, theirs_mib = ours.kibibytes / 1024, theirs.kibibytes / 1024
    yield Row(
        f"resident memory then, {POD_COUNT:,} pods",
        "<= 110 MiB",
        f"{ours_mib:.0f} MiB",
        f"{theirs_mib:.0f} MiB",
        meets=ours_mib <= 110.0,
    )


def main() -> None:
    """Print both rows."""
    for row in measure():
        print(row.format())


if __name__ == "__main__":
    main()
