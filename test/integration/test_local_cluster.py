"""The local cluster's life: it starts, is the same when started again, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.cluster import node_configuration
from hack.cluster.component import await_true
from hack.cluster.errors import ClusterError
from hack.cluster.go_programs import KUBERNETES, build_program
from hack.cluster.local import State, clusters_directory, is_ready, read_state, start_cluster, stop_cluster
from hack.cluster.namespaces import cgroup_roots, start_time
from hack.images.containerd import load_images

NAME, OTHER = "life-test", "life-test-other"


def traces(name: str) -> list[str]:
    """Return what a cluster of this name has on the machine: processes, mounts, control groups, its folder."""
    directory = str(clusters_directory() / name)
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if directory in command or f"--hostname-override={name}-node" in command:
            found.append(f"process {command}")
    mounts = Path("/proc/self/mounts").read_text()
    found += [f"mount {line}" for line in mounts.splitlines() if directory in line]
    found += [f"cgroup {root}" for root in cgroup_roots(mounts) if (root / f"mpi-cluster-{name}").exists()]
    if Path(directory).exists():
        found.append(f"folder {directory}")
    return found


def interfaces() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}


def iptables_rules() -> str:
    return subprocess.run(["iptables-save"], capture_output=True, text=True, check=True).stdout


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    for name in (NAME, OTHER):
        stop_cluster(name)
    before = interfaces()
    yield
    for name in (NAME, OTHER):
        stop_cluster(name)
        assert traces(name) == []
    assert interfaces() == before


def kubectl(state: State, *arguments: str) -> str:
    command = [str(build_program(KUBERNETES) / "kubectl"), f"--kubeconfig={state.node.kubeconfig('admin')}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_cluster_runs_pods_and_leaves_nothing_behind() -> None:
    rules = iptables_rules()
    state = start_cluster(NAME)
    load_images(["pause"], containerd_address=state.node.containerd_address)
    pause = node_configuration.PAUSE_IMAGE
    kubectl(state, "run", "idle", f"--image={pause}", "--image-pull-policy=Never")
    kubectl(state, "wait", "--for=condition=Ready", "pod/idle", "--timeout=60s")
    assert traces(NAME)
    assert start_cluster(NAME) == state, "a cluster that runs is not started again"
    assert stop_cluster(NAME) is True
    assert traces(NAME) == []
    assert start_time(state.namespaces.init_pid) == ""
    assert iptables_rules() == rules
    assert stop_cluster(NAME) is False


def test_two_clusters_run_side_by_side() -> None:
    first, second = start_cluster(NAME), start_cluster(OTHER)
    kubectl(first, "create", "configmap", "mark")
    assert "mark" in kubectl(first, "get", "configmaps", "--output=name")
    assert "mark" not in kubectl(second, "get", "configmaps", "--output=name")
    stop_cluster(OTHER)
    assert is_ready(first)


def test_other_options_need_another_cluster() -> None:
    start_cluster(NAME)
    with pytest.raises(ClusterError, match="stop it first, or give another --name"):
        start_cluster(NAME, gang_scheduling=True)


def test_a_broken_start_names_the_part_shows_its_log_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_configuration, "scheduler_flags", lambda _: ["--no-such-flag"])
    with pytest.raises(
        ClusterError, match=r"kube-scheduler ended with code \d+(?s:.*)no-such-flag(?s:.*)failed-starts"
    ):
        start_cluster(NAME)
    assert traces(NAME) == []
    monkeypatch.undo()
    assert is_ready(start_cluster(NAME)), "the next start works"


def _up(until: str) -> subprocess.Popen[str]:
    """Start the command line and return it when it has printed `until`."""
    command = [sys.executable, "-u", "-m", "hack.cluster", "up", "--name", NAME]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert any(until in line for line in process.stdout), "the start ended before it was interrupted"
    return process


def test_an_interrupted_start_removes_what_it_started() -> None:
    process = _up("etcd is up")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in errors
    assert traces(NAME) == []


def test_a_killed_start_is_cleared_away_by_the_next() -> None:
    process = _up("etcd is up")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert traces(NAME)
    assert is_ready(start_cluster(NAME))


def test_a_cluster_whose_api_server_died_is_started_anew() -> None:
    state = start_cluster(NAME)
    state.namespaces.kill()
    await_true(lambda: not is_ready(state), 10, AssertionError)
    again = start_cluster(NAME)
    assert is_ready(again)
    assert read_state(NAME) == again
