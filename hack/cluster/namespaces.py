"""Processes, mounts and network of one cluster, apart from the machine's (docs/design/0001-local-cluster.md)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from hack.cluster.component import Component, await_true, kill_process
from hack.cluster.errors import ClusterError

MAXIMUM_SLOTS = 200
_START_SECONDS = 10.0
_INIT = Path(__file__).with_name("init.py")


class Network(msgspec.Struct, frozen=True):
    """The addresses of the cluster in `slot`: a pair of interfaces joins the machine to the node."""

    slot: int

    @property
    def host_address(self) -> str:
        """The machine's end."""
        return f"10.213.{self.slot}.1"

    @property
    def node_address(self) -> str:
        """The node's end, at which all servers listen."""
        return f"10.213.{self.slot}.2"

    @property
    def host_interface(self) -> str:
        """The machine's interface."""
        return f"mpi-cluster{self.slot}"


class Namespaces(msgspec.Struct, frozen=True):
    """Running namespaces, known by their first process and the moment it started (so that a reused pid is not ours)."""

    init_pid: int
    init_started: str

    def is_alive(self) -> bool:
        """Return whether the first process runs, and with it the namespaces exist."""
        return start_time(self.init_pid) == self.init_started

    def enter(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs `command` inside."""
        return ["nsenter", "--target", str(self.init_pid), "--mount", "--net", "--pid", "--", *command]

    def run(self, command: Sequence[str]) -> str:
        """Run `command` inside and return what it prints; raise ClusterError when it fails."""
        return run(self.enter(command))

    def kill(self) -> None:
        """End everything inside; returns when the first process is gone. Does nothing when it is not alive."""
        if self.is_alive():
            kill_process(self.init_pid)


def run(command: Sequence[str]) -> str:
    """Run `command` and return what it prints; raise ClusterError with its error output when it fails."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise ClusterError(f"`{' '.join(command)}` exited with {result.returncode}: {result.stderr.strip()}")
    return result.stdout


def start_time(pid: int) -> str:
    """Return the kernel's start time of a process, in clock ticks since boot; empty when there is none or a zombie."""
    fields = _stat(Path(f"/proc/{pid}/stat"))
    return "" if not fields or fields[0] == "Z" else fields[19]


def _stat(path: Path) -> list[str]:
    """Return the fields of a process's stat file after its name, which may hold blanks."""
    try:
        return path.read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return []


def _children(pid: int) -> list[int]:
    return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/stat") if _stat(path)[1:2] == [str(pid)]]


def create_namespaces(directory: Path) -> Namespaces:
    """Start the first process of new namespaces, its output in `directory`, and give them private system folders.

    Inside, /run is empty, and /var/lib and /var/log are folders below `directory`.
    """
    unshare = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
    parent = Component(
        "init", [*unshare, sys.executable, "-I", "-S", str(_INIT)], directory / "init.log", detached=True
    )
    found: list[int] = []

    def has_started() -> bool:
        found[:] = _children(parent.pid)
        return bool(found) and b"init.py" in Path(f"/proc/{found[0]}/cmdline").read_bytes()

    parent.await_ready(has_started, _START_SECONDS)
    namespaces = Namespaces(init_pid=found[0], init_started=start_time(found[0]))
    namespaces.run(["mount", "--make-rshared", "/"])
    namespaces.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"])
    for name in ("lib", "log"):
        private = directory / f"var-{name}"
        private.mkdir(exist_ok=True)
        namespaces.run(["mount", "--bind", str(private), f"/var/{name}"])
    return namespaces


def connect(namespaces: Namespaces, network: Network) -> None:
    """Join the machine and the node by a pair of interfaces, and let the node forward."""
    run(["ip", "link", "add", network.host_interface, "type", "veth", "peer", "name", "node0",
         "netns", str(namespaces.init_pid)])  # fmt: skip
    run(["ip", "address", "add", f"{network.host_address}/30", "dev", network.host_interface])
    run(["ip", "link", "set", network.host_interface, "up"])
    for command in (
        "ip link set lo up",
        f"ip address add {network.node_address}/30 dev node0",
        "ip link set node0 up",
        f"ip route add default via {network.host_address}",
        "sysctl --quiet --write net.ipv4.ip_forward=1",
    ):
        namespaces.run(command.split())


def disconnect(network: Network) -> None:
    """Remove the machine's interface if the kernel has not done it yet with the namespace."""
    subprocess.run(["ip", "link", "delete", network.host_interface], capture_output=True, check=False)


def cgroup_roots(mounts: str) -> list[Path]:
    """Return the mount points of all cgroup hierarchies, given the text of /proc/self/mounts."""
    lines = [line.split() for line in mounts.splitlines()]
    return [Path(fields[1]) for fields in lines if fields[2] in {"cgroup", "cgroup2"}]


def create_cgroups(name: str) -> None:
    """Make the group `name` in every hierarchy; the kubelet puts all pods below it."""
    for root in cgroup_roots(Path("/proc/self/mounts").read_text()):
        (root / name).mkdir(exist_ok=True)


def remove_cgroups(name: str) -> None:
    """Remove the group `name` and all below it from every hierarchy; the processes in it must have ended."""
    for root in cgroup_roots(Path("/proc/self/mounts").read_text()):
        top = root / name
        in_use = partial(ClusterError, f"the control group {top} is still in use")
        await_true(partial(_remove_cgroup, top), _START_SECONDS, in_use)


def _remove_cgroup(top: Path) -> bool:
    if not top.is_dir():
        return True
    try:
        for folder in sorted((path for path in top.rglob("*") if path.is_dir()), reverse=True):
            folder.rmdir()
        top.rmdir()
    except OSError:
        return False  # the kernel is still ending what was in it
    return True
