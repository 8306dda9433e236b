"""The storage of layers: kept after a proper end, thrown away after a killed build."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hack.cluster.errors import ClusterError
from hack.images.buildah import mount_points_below, opened_storage

MOUNTS = """\
/dev/vda / ext4 rw 0 0
overlay /cache/layers/storage/overlay overlay rw 0 0
overlay /cache/layers/storage/overlay/1/merged overlay rw 0 0
tmpfs /cache/layers-of-another tmpfs rw 0 0
tmpfs /cache/layers/with\\040space tmpfs rw 0 0
"""


def test_mounts_of_the_storage_are_found_innermost_first() -> None:
    assert mount_points_below(MOUNTS, Path("/cache/layers")) == (
        "/cache/layers/storage/overlay/1/merged",
        "/cache/layers/storage/overlay",
        "/cache/layers/with space",
    )


def use_storage(directory: Path, work: Callable[[], None]) -> None:
    with opened_storage(directory):
        (directory / "layer").write_text("work of minutes")
        work()


def succeed() -> None:
    pass


def fail() -> None:
    raise ClusterError("a step failed")


def interrupt() -> None:
    raise KeyboardInterrupt


def test_layers_stay_for_the_next_build(tmp_path: Path) -> None:
    use_storage(tmp_path / "layers", succeed)
    with opened_storage(tmp_path / "layers"):
        assert (tmp_path / "layers" / "layer").exists()


def test_layers_stay_after_a_step_that_failed(tmp_path: Path) -> None:
    with pytest.raises(ClusterError):
        use_storage(tmp_path / "layers", fail)
    with opened_storage(tmp_path / "layers"):
        assert (tmp_path / "layers" / "layer").exists()


def test_layers_of_an_interrupted_build_are_not_trusted(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        use_storage(tmp_path / "layers", interrupt)
    with opened_storage(tmp_path / "layers"):
        assert not (tmp_path / "layers" / "layer").exists()


def test_a_storage_that_has_grown_too_large_is_thrown_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_storage(tmp_path / "layers", succeed)
    monkeypatch.setattr("hack.images.buildah.LARGEST_STORAGE_BYTES", 0)
    with opened_storage(tmp_path / "layers"):
        assert not (tmp_path / "layers" / "layer").exists()
