import json
import tomllib
from pathlib import Path

import pytest

from hack.cluster import node_configuration as configuration
from hack.cluster.node_configuration import Node

NODE = Node("local", Path("/clusters/local"), "10.213.0.2")


def test_containerd_leaves_oom_scores_alone_and_listens_in_the_clusters_folder() -> None:
    config = tomllib.loads(configuration.build_containerd_configuration(NODE))
    cri = config["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["restrict_oom_score_adj"] is True
    assert cri["sandbox_image"] == configuration.PAUSE_IMAGE
    assert config["grpc"]["address"] == "/clusters/local/containerd.sock"


def test_the_kubelet_keeps_pods_in_the_clusters_own_control_group() -> None:
    config = json.loads(configuration.build_kubelet_configuration(NODE))
    assert config["cgroupRoot"] == "/mpi-cluster-local"
    assert config["containerRuntimeEndpoint"] == "unix:///clusters/local/containerd.sock"
    assert config["clusterDNS"] == ["10.213.0.2"]
    assert config["authentication"]["anonymous"]["enabled"] is False


def test_dns_answers_are_never_kept() -> None:
    assert "ttl 0" in configuration.build_corefile(NODE)


@pytest.mark.parametrize(
    "flags",
    [
        configuration.apiserver_flags(NODE),
        configuration.controller_manager_flags(NODE),
        configuration.scheduler_flags(NODE),
        configuration.kubelet_flags(NODE),
    ],
    ids=["apiserver", "controller-manager", "scheduler", "kubelet"],
)
def test_no_program_is_told_a_thing_twice_or_listens_anywhere_but_at_the_node(flags: list[str]) -> None:
    names = [flag.split("=")[0] for flag in flags]
    assert len(names) == len(set(names))
    assert not [flag for flag in flags if "0.0.0.0" in flag]


def test_gang_scheduling_is_on_only_when_asked_for() -> None:
    gang = Node("local", Path("/c"), "10.213.0.2", gang_scheduling=True)
    for flags in (configuration.apiserver_flags, configuration.scheduler_flags):
        assert [flag for flag in flags(gang) if "GenericWorkload=true" in flag]
        assert not [flag for flag in flags(NODE) if "GenericWorkload" in flag]
