from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hack.cluster.cache import cache_directory, cached, digest, require_free_space
from hack.cluster.errors import ClusterError


def test_the_cache_folder_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "mpi-operator"


@given(st.lists(st.binary(max_size=4), max_size=4), st.lists(st.binary(max_size=4), max_size=4))
def test_different_inputs_have_different_digests(one: list[bytes], other: list[bytes]) -> None:
    assert (digest(one) == digest(other)) == (one == other)


def test_a_build_is_made_once(tmp_path: Path) -> None:
    made: list[Path] = []

    def build(folder: Path) -> None:
        made.append(folder)
        (folder / "result").write_text("done")

    for _ in range(2):
        assert (cached(tmp_path / "thing", build) / "result").read_text() == "done"
    assert len(made) == 1


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_interrupted_build_is_no_result_and_the_next_one_starts_clean(
    tmp_path: Path, error: type[BaseException]
) -> None:
    def interrupted(folder: Path) -> None:
        (folder / "half").write_text("")
        raise error

    with pytest.raises(error):
        cached(tmp_path / "thing", interrupted)
    assert not (tmp_path / "thing").exists()

    def whole(folder: Path) -> None:
        assert not list(folder.iterdir())
        (folder / "whole").write_text("")

    assert [path.name for path in cached(tmp_path / "thing", whole).iterdir()] == ["whole"]


def test_a_full_disk_is_named_with_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"GiB free; building needs .* XDG_CACHE_HOME"):
        require_free_space(tmp_path / "not" / "there", minimum_bytes=1 << 60)
