from pathlib import Path

import pytest

from hack.cluster.access import Access, open_cluster
from hack.cluster.choice import Choice
from hack.cluster.errors import ClusterError

EXISTING = Choice("existing", "a test")


@pytest.fixture
def kubectl(tmp_path: Path) -> Path:
    """A kubectl that prints its arguments and its KUBECONFIG, or fails when asked for nothing there is."""
    path = tmp_path / "bin" / "kubectl"
    path.parent.mkdir()
    path.write_text(
        '#!/bin/sh\nif [ "$1" = nothing ]; then echo "no such thing" >&2; exit 4; fi\necho "$KUBECONFIG $@"\n'
    )
    path.chmod(0o755)
    return path


def test_kubectl_runs_against_the_cluster_and_says_what_it_prints(kubectl: Path) -> None:
    access = Access(EXISTING, Path("/the/config"), kubectl)
    assert access.kubectl("get", "pods") == "/the/config get pods\n"


def test_a_failing_kubectl_is_quoted(kubectl: Path) -> None:
    with pytest.raises(ClusterError, match="`kubectl nothing` exited with 4: no such thing"):
        Access(EXISTING, Path("/the/config"), kubectl).kubectl("nothing")


def test_an_existing_cluster_is_used_as_its_kubeconfig_says(
    kubectl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(kubectl.parent))
    config = tmp_path / "config"
    config.write_text("")
    access = open_cluster(EXISTING, {"KUBECONFIG": str(config)})
    assert (access.kubeconfig, access.kubectl_path) == (config, kubectl)
    access.load_images(["operator"])
    assert access.containerd_address is None, "nothing was loaded into a cluster that is not ours"


def test_a_kubeconfig_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="missing is not a file: set KUBECONFIG"):
        open_cluster(EXISTING, {"KUBECONFIG": str(tmp_path / "missing")})


@pytest.mark.parametrize("kind", ["existing", "kind"])
def test_a_missing_program_is_named(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    config = tmp_path / "config"
    config.write_text("")
    with pytest.raises(ClusterError, match="is not on PATH"):
        open_cluster(Choice(kind, "a test"), {"KUBECONFIG": str(config)})  # type: ignore[arg-type]
