"""Noticing that something an image is made of has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hack.cluster.errors import ClusterError
from hack.images.inputs import digest_files


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "source" / "inner").mkdir(parents=True)
    (tmp_path / "source" / "program.c").write_text("int main")
    (tmp_path / "source" / "inner" / "script").write_text("echo")
    (tmp_path / "unrelated").write_text("no input")
    return tmp_path


CHANGES: list[tuple[str, Callable[[Path], object]]] = [
    ("a file's content", lambda project: (project / "source/program.c").write_text("int main(void)")),
    ("a file in an inner folder", lambda project: (project / "source/inner/script").write_text("printf")),
    ("a new file", lambda project: (project / "source/new").write_text("")),
    ("a removed file", lambda project: (project / "source/program.c").unlink()),
    ("a new name", lambda project: (project / "source/program.c").rename(project / "source/main.c")),
    ("an execute bit", lambda project: (project / "source/inner/script").chmod(0o755)),
]


@pytest.mark.parametrize("change", [pytest.param(change, id=name) for name, change in CHANGES])
def test_every_change_that_a_build_could_see_changes_the_digest(
    project: Path, change: Callable[[Path], object]
) -> None:
    before = digest_files(project, ["source"])
    change(project)
    assert digest_files(project, ["source"]) != before


def test_what_is_no_input_does_not_count(project: Path) -> None:
    before = digest_files(project, ["source"])
    (project / "unrelated").write_text("changed")
    (project / "source" / "__pycache__").mkdir()
    (project / "source" / "__pycache__" / "module.pyc").write_text("byte code")
    assert digest_files(project, ["source"]) == before


def test_a_missing_input_is_named(project: Path) -> None:
    with pytest.raises(ClusterError, match="LICENSE is missing"):
        digest_files(project, ["source", "LICENSE"])
