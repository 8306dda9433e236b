"""What the node's programs are told: configuration files and flags as pure functions of a cluster's description."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

CLUSTER_CIDR = "10.244.0.0/16"
SERVICE_CIDR = "10.96.0.0/16"
PAUSE_IMAGE = "registry.k8s.io/pause:3.6"
API_PORT, ETCD_PORT, ETCD_PEER_PORT, DNS_HEALTH_PORT = 6443, 2379, 2380, 8080
HEALTH_PORTS = {"kube-controller-manager": 10257, "kube-scheduler": 10259, "kubelet": 10248, "kube-proxy": 10256}


class Node(msgspec.Struct, frozen=True):
    """One cluster: its name, its folder, the address of its only node, and the gates that are switched on.

    `gang_scheduling` turns on Kubernetes' own gang scheduling (scheduling.k8s.io/v1alpha1, off by default in 1.35).
    """

    name: str
    directory: Path
    address: str
    gang_scheduling: bool = False

    @property
    def node_name(self) -> str:
        """The name of the node object."""
        return f"{self.name}-node"

    @property
    def cgroup(self) -> str:
        """The control group that holds the cluster's pods."""
        return f"mpi-cluster-{self.name}"

    @property
    def containerd_address(self) -> Path:
        """The socket of containerd, reachable from outside too."""
        return self.directory / "containerd.sock"

    @property
    def server(self) -> str:
        """The API server's URL."""
        return f"https://{self.address}:{API_PORT}"

    def kubeconfig(self, user: str) -> Path:
        """The kubeconfig of one of the cluster's own users."""
        return self.directory / f"{user}.kubeconfig"


USERS: dict[str, tuple[str, ...]] = {
    "system:kube-controller-manager": (),
    "system:kube-scheduler": (),
    "system:kube-proxy": (),
    "system:coredns": ("system:masters",),
}


def build_containerd_configuration(node: Node) -> str:
    """Return containerd's configuration (TOML, version 2)."""
    return f"""\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
  address = "{node.containerd_address}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "{node.directory}/registries"

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "{node.directory}/cni"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
"""


def build_registry_configuration() -> str:
    """Return the file that sends every pull to nobody: the node has no way out, and a missing image is said at once."""
    return 'server = "http://127.0.0.1:1"\n'


def build_network_configuration() -> str:
    """Return the CNI configuration: a bridge with addresses from a file, and host ports."""
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": True,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": CLUSTER_CIDR}]], "routes": [{"dst": "0.0.0.0/0"}]},
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge, portmap]}, indent=1)


def build_kubelet_configuration(node: Node) -> str:
    """Return the KubeletConfiguration, as JSON."""
    configuration: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": node.address,
        "healthzBindAddress": node.address,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{node.directory}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{node.cgroup}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDNS": [node.address],
        "clusterDomain": "cluster.local",
        "containerRuntimeEndpoint": f"unix://{node.containerd_address}",
        "evictionHard": {"memory.available": "1%", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "maxPods": 240,
        "registryPullQPS": 0,
        "resolvConf": "/dev/null",
        "serializeImagePulls": False,
        "syncFrequency": "1m0s",
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
    }
    return json.dumps(configuration, indent=1)


def build_proxy_configuration(node: Node) -> str:
    """Return the KubeProxyConfiguration, as JSON.

    All traffic to services is masqueraded: answers between two pods on one bridge would bypass the translation.
    """
    configuration: dict[str, Any] = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "bindAddress": node.address,
        "healthzBindAddress": f"{node.address}:{HEALTH_PORTS['kube-proxy']}",
        "metricsBindAddress": f"{node.address}:10249",
        "clientConnection": {"kubeconfig": str(node.kubeconfig("system:kube-proxy"))},
        "clusterCIDR": CLUSTER_CIDR,
        "conntrack": {"maxPerCore": 0},
        "hostnameOverride": node.node_name,
        "iptables": {"masqueradeAll": True},
        "mode": "iptables",
    }
    return json.dumps(configuration, indent=1)


def build_corefile(node: Node) -> str:
    """Return CoreDNS's configuration.

    Without `ttl 0` a launcher remembers that a worker that is just starting has no name.
    """
    return f""".:53 {{
    bind {node.address}
    errors
    health {node.address}:{DNS_HEALTH_PORT}
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {node.kubeconfig("system:coredns")}
        pods insecure
        ttl 0
    }}
}}
"""


def apiserver_flags(node: Node) -> list[str]:
    """Return the API server's flags beyond those that every API server here shares."""
    flags = [
        f"--advertise-address={node.address}",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-client-certificate={node.directory}/kubelet-client.crt",
        f"--kubelet-client-key={node.directory}/kubelet-client.key",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        "--enable-admission-plugins=NodeRestriction",
    ]
    if node.gang_scheduling:
        flags += ["--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1alpha1=true"]
    return flags


def _client_flags(node: Node, user: str) -> list[str]:
    kubeconfig = node.kubeconfig(user)
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        f"--bind-address={node.address}",
    ]


def controller_manager_flags(node: Node) -> list[str]:
    """Return kube-controller-manager's flags."""
    return [
        *_client_flags(node, "system:kube-controller-manager"),
        "--use-service-account-credentials",
        f"--service-account-private-key-file={node.directory}/service-accounts.key",
        f"--root-ca-file={node.directory}/ca.crt",
        "--allocate-node-cidrs",
        f"--cluster-cidr={CLUSTER_CIDR}",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
    ]


def scheduler_flags(node: Node) -> list[str]:
    """Return kube-scheduler's flags."""
    flags = _client_flags(node, "system:kube-scheduler")
    if node.gang_scheduling:
        flags.append("--feature-gates=GenericWorkload=true,GangScheduling=true")
    return flags


def kubelet_flags(node: Node) -> list[str]:
    """Return the kubelet's flags."""
    return [
        f"--kubeconfig={node.kubeconfig('kubelet')}",
        f"--config={node.directory}/kubelet.json",
        f"--hostname-override={node.node_name}",
        f"--node-ip={node.address}",
    ]
