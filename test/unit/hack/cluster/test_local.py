import os
from pathlib import Path

import pytest

from hack.cluster import local
from hack.cluster.errors import ClusterError
from hack.cluster.local import read_state, running_clusters, start_cluster, stop_cluster
from hack.cluster.namespaces import Namespaces, Network
from hack.cluster.node_configuration import Node


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "mpi-operator"


@pytest.mark.parametrize("name", ["", "UPPER", "9lives", "a/b", "x" * 21])
def test_a_name_that_cannot_be_is_refused_with_what_can(name: str) -> None:
    with pytest.raises(ClusterError, match="letters, digits and dashes"):
        start_cluster(name)


def test_without_root_the_other_ways_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ClusterError, match=r"needs root(?s:.*)KUBECONFIG"):
        start_cluster("test")


def test_a_cache_that_the_cluster_would_hide_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("XDG_CACHE_HOME", "/run/cache")
    with pytest.raises(ClusterError, match="cannot be below /run"):
        start_cluster("test")


def test_a_state_survives_its_file(cache: Path) -> None:
    directory = cache / "clusters" / "test"
    directory.mkdir(parents=True)
    state = local.State(Node("test", directory, "10.213.7.2"), Network(7), Namespaces(1, "x"), ready=True)
    local._write_state(state)
    assert read_state("test") == state
    assert running_clusters() == [state]


def test_a_damaged_state_says_what_to_remove(cache: Path) -> None:
    (cache / "clusters" / "test").mkdir(parents=True)
    (cache / "clusters" / "test" / "state.json").write_text("{")
    with pytest.raises(ClusterError, match="remove the folder"):
        read_state("test")


def test_stopping_what_never_ran_is_nothing(cache: Path) -> None:
    assert stop_cluster("test") is False
    assert not (cache / "clusters" / "test").exists()
