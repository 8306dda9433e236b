"""The local cluster: one node with everything, started and stopped as a whole."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from hack.cluster import node_configuration as configuration
from hack.cluster.cache import cache_directory, locked
from hack.cluster.certificates import Authority
from hack.cluster.component import Component, await_true, is_healthy
from hack.cluster.control_plane import apiserver_flags, etcd_flags
from hack.cluster.debian import ensure_packages
from hack.cluster.errors import ClusterError
from hack.cluster.go_programs import COREDNS, KUBERNETES, Echo, build_program
from hack.cluster.kubeconfig import write_kubeconfig
from hack.cluster.namespaces import (
    MAXIMUM_SLOTS,
    Namespaces,
    Network,
    connect,
    create_cgroups,
    create_namespaces,
    disconnect,
    remove_cgroups,
)
from hack.cluster.node_configuration import Node

PACKAGES = ("containerd", "runc", "containernetworking-plugins", "iptables", "iproute2", "conntrack", "procps", "mount")
DEFAULT_NAME = "local"
READY_SECONDS = 90.0
_NAME = re.compile(r"[a-z][a-z0-9-]{0,19}")


class State(msgspec.Struct, frozen=True):
    """What is kept about a started cluster, in `state.json` of its folder."""

    node: Node
    network: Network
    namespaces: Namespaces
    ready: bool = False


def clusters_directory() -> Path:
    """Return the folder that holds one folder for each cluster."""
    return cache_directory() / "clusters"


def kubeconfig_path(name: str) -> Path:
    """Return where the administrator's kubeconfig of cluster `name` is while it runs."""
    return clusters_directory() / name / "admin.kubeconfig"


def read_state(name: str) -> State | None:
    """Return what is known of cluster `name`, or None when it was never started or has been stopped."""
    path = clusters_directory() / name / "state.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=State, dec_hook=lambda kind, value: kind(value))
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise ClusterError(
            f"{path} is not readable ({error}); remove the folder {path.parent} and try again"
        ) from error


def is_ready(state: State) -> bool:
    """Return whether the cluster has started wholly and its API server answers."""
    return (
        state.ready
        and state.namespaces.is_alive()
        and is_healthy(state.node.address, configuration.API_PORT, "/readyz")
    )


def start_cluster(name: str = DEFAULT_NAME, *, gang_scheduling: bool = False, echo: Echo = print) -> State:
    """Return the running cluster `name`, starting it if it is not there; what is half-started is started anew.

    Raises ClusterError, saying which part failed and with the end of its log; nothing of the cluster is left then but
    its logs. A KeyboardInterrupt removes what was started as well.
    """
    _require_possible(name)
    with locked(clusters_directory() / f"{name}.lock"):
        state = read_state(name)
        if state is not None and is_ready(state):
            if state.node.gang_scheduling != gang_scheduling:
                raise ClusterError(f"cluster {name} runs with other options; stop it first, or give another --name")
            return state
        _remove(name, state)
        ensure_packages(PACKAGES, echo=echo)
        programs = {program.name: build_program(program, echo=echo) for program in (KUBERNETES, COREDNS)}
        return _start(name, programs, gang_scheduling=gang_scheduling, echo=echo)


def stop_cluster(name: str = DEFAULT_NAME) -> bool:
    """Stop cluster `name` and remove all that it made; return whether there was anything to stop."""
    with locked(clusters_directory() / f"{name}.lock"):
        state = read_state(name)
        existed = (clusters_directory() / name).exists()
        _remove(name, state)
    (clusters_directory() / f"{name}.lock").unlink(missing_ok=True)
    return existed


def running_clusters() -> list[State]:
    """Return what is known of all clusters, by name."""
    states = [read_state(path.parent.name) for path in sorted(clusters_directory().glob("*/state.json"))]
    return [state for state in states if state is not None]


def _require_possible(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ClusterError(
            f"{name!r} cannot be a cluster's name: use up to 20 letters, digits and dashes, a letter first"
        )
    if os.uname().sysname != "Linux":
        raise ClusterError("the local cluster runs on Linux only; name an existing cluster in KUBECONFIG instead")
    if os.geteuid() != 0:
        raise ClusterError(
            "the local cluster needs root, for namespaces, mounts and containerd; run this as root, or name an "
            "existing cluster in KUBECONFIG"
        )
    for hidden in ("/run", "/var/lib", "/var/log"):
        if cache_directory().resolve().is_relative_to(hidden):
            raise ClusterError(f"the cache folder {cache_directory()} cannot be below {hidden}: set XDG_CACHE_HOME")


def _remove(name: str, state: State | None) -> None:
    if state is not None:
        state.namespaces.kill()
        disconnect(state.network)
    remove_cgroups(Node(name, Path(), "").cgroup)
    directory = clusters_directory() / name
    await_true(
        lambda: _remove_tree(directory),
        READY_SECONDS,
        lambda: ClusterError(f"{directory} cannot be removed: see what still uses it, and try again"),
    )


def _remove_tree(directory: Path) -> bool:
    shutil.rmtree(directory, ignore_errors=True)
    return not directory.exists()


def _free_slot() -> int:
    taken = {state.network.slot for state in running_clusters()}
    taken |= {int(path.name.removeprefix("mpi-cluster")) for path in Path("/sys/class/net").glob("mpi-cluster*")}
    return next(slot for slot in range(MAXIMUM_SLOTS) if slot not in taken)


def _start(name: str, programs: dict[str, Path], *, gang_scheduling: bool, echo: Echo) -> State:
    directory = clusters_directory() / name
    directory.mkdir(parents=True)
    state: State | None = None
    try:
        with locked(clusters_directory() / "slots.lock"):
            network = Network(_free_slot())
            state = State(
                node=Node(name, directory, network.node_address, gang_scheduling),
                network=network,
                namespaces=create_namespaces(directory),
            )
            _write_state(state)
        connect(state.namespaces, network)
        Starter(state, programs, echo).start()
    except BaseException as error:
        if state is not None:
            state.namespaces.kill()
            disconnect(state.network)
        kept = _keep_logs(directory)
        _remove(name, state)
        if isinstance(error, ClusterError):
            raise ClusterError(f"{error}\nall logs of this start are in {kept}") from error
        raise
    ready = msgspec.structs.replace(state, ready=True)
    _write_state(ready)
    return ready


def _write_state(state: State) -> None:
    partial = state.node.directory / "state.partial"
    partial.write_bytes(msgspec.json.encode(state, enc_hook=str))
    partial.rename(state.node.directory / "state.json")


def _keep_logs(directory: Path) -> Path:
    kept = cache_directory() / "failed-starts" / directory.name
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for log in directory.glob("*.log"):
        shutil.copy(log, kept)
    return kept


class Starter:
    """Starts the programs of one cluster in order, and waits for each."""

    def __init__(self, state: State, programs: dict[str, Path], echo: Echo) -> None:
        self._node = state.node
        self._namespaces = state.namespaces
        self._programs = programs
        self._echo = echo
        self._authority = Authority()
        self._started = time.monotonic()

    def start(self) -> None:
        """Start everything; return when the node is Ready and names resolve."""
        node, address = self._node, self._node.address
        self._write_files()
        create_cgroups(node.cgroup)
        etcd_url = f"http://{address}:{configuration.ETCD_PORT}"
        kubernetes = self._programs["kubernetes"]
        containerd = self._spawn("containerd", ["containerd", "--config", f"{node.directory}/containerd.toml"])
        etcd = self._spawn(
            "etcd",
            [
                f"{kubernetes}/etcd",
                *etcd_flags(node.directory / "etcd", etcd_url, address, configuration.ETCD_PEER_PORT),
            ],
        )
        shared = apiserver_flags(node.directory, self._authority, etcd_url, address, configuration.API_PORT)
        apiserver = self._spawn(
            "kube-apiserver", [f"{kubernetes}/kube-apiserver", *shared, *configuration.apiserver_flags(node)]
        )
        self._await(etcd, lambda: is_healthy(address, configuration.ETCD_PORT, "/health", tls=False))
        self._await(apiserver, lambda: is_healthy(address, configuration.API_PORT, "/readyz"))
        self._await(containerd, node.containerd_address.exists)
        self._start_clients(kubernetes)

    def _start_clients(self, kubernetes: Path) -> None:
        node = self._node
        flags = {
            "kube-controller-manager": configuration.controller_manager_flags(node),
            "kube-scheduler": configuration.scheduler_flags(node),
            "kubelet": configuration.kubelet_flags(node),
            "kube-proxy": [f"--config={node.directory}/kube-proxy.json"],
        }
        components = {name: self._spawn(name, [f"{kubernetes}/{name}", *flags[name]]) for name in flags}
        coredns = f"{self._programs['coredns']}/coredns"
        dns = self._spawn("coredns", [coredns, "-conf", f"{node.directory}/Corefile"])
        for name, component in components.items():
            port, tls = configuration.HEALTH_PORTS[name], name in {"kube-controller-manager", "kube-scheduler"}
            self._await(component, partial(is_healthy, node.address, port, "/healthz", tls=tls))
        self._await(dns, lambda: is_healthy(node.address, configuration.DNS_HEALTH_PORT, "/health", tls=False))
        self._await(components["kubelet"], self._is_node_usable)

    def _spawn(self, name: str, command: Sequence[str]) -> Component:
        log = self._node.directory / f"{name}.log"
        return Component(name, self._namespaces.enter(command), log, detached=True)

    def _await(self, component: Component, is_up: Callable[[], bool]) -> None:
        component.await_ready(is_up, READY_SECONDS)
        self._echo(f"  {time.monotonic() - self._started:5.1f} s  {component.name} is up")

    def _write_files(self) -> None:
        node, directory = self._node, self._node.directory
        users = {
            **configuration.USERS,
            "admin": ("system:masters",),
            "kubelet": ("system:nodes",),
            "kubelet-client": ("system:masters",),
        }
        for user, groups in users.items():
            pair = self._authority.client(f"system:node:{node.node_name}" if user == "kubelet" else user, groups)
            name = f"mpi-operator-{node.name}"
            write_kubeconfig(node.kubeconfig(user), node.server, self._authority.certificate, pair, name=name)
            if user == "kubelet-client":
                pair.write(directory, user)
        for folder in ("cni", "registries/_default"):
            (directory / folder).mkdir(parents=True)
        texts = {
            "containerd.toml": configuration.build_containerd_configuration(node),
            "registries/_default/hosts.toml": configuration.build_registry_configuration(),
            "cni/10-pods.conflist": configuration.build_network_configuration(),
            "kubelet.json": configuration.build_kubelet_configuration(node),
            "kube-proxy.json": configuration.build_proxy_configuration(node),
            "Corefile": configuration.build_corefile(node),
        }
        for name, text in texts.items():
            (directory / name).write_text(text)

    def _is_node_usable(self) -> bool:
        """Return whether the node is Ready and untainted, and pods of the default namespace have their account."""
        kubectl = [f"{self._programs['kubernetes']}/kubectl", f"--kubeconfig={self._node.kubeconfig('admin')}"]
        template = '{.status.conditions[?(@.type=="Ready")].status}{.spec.taints}'
        node = subprocess.run(
            [*kubectl, "get", "node", self._node.node_name, f"--output=jsonpath={template}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        account = [*kubectl, "--namespace=default", "get", "serviceaccount", "default"]
        return node.stdout == "True" and subprocess.run(account, capture_output=True, check=False).returncode == 0
