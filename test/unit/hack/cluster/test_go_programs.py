import subprocess
from pathlib import Path

import pytest

from hack.cluster import go_programs
from hack.cluster.errors import ClusterError
from hack.cluster.go_programs import GoProgram, build_program, inputs, is_built, program_directory

HELLO = GoProgram(name="hello", names=("hello", "hi"))


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A tiny program in a folder of its own, and an empty cache."""
    folder = tmp_path / "programs" / "hello"
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text("module hello\n\ngo 1.21\n")
    (folder / "main.go").write_text('package main\n\nfunc main() { print("hello") }\n')
    (folder / "README.md").write_text("not an input")
    monkeypatch.setattr(go_programs, "SOURCES", tmp_path / "programs")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def test_only_what_the_compiler_reads_is_an_input(source: Path) -> None:
    assert [path.name for path in inputs(HELLO)] == ["go.mod", "main.go"]
    before = program_directory(HELLO)
    (source / "README.md").write_text("changed")
    assert program_directory(HELLO) == before
    (source / "main.go").write_text("package main\n\nfunc main() {}\n")
    assert program_directory(HELLO) != before


def test_a_program_is_built_once_and_answers_to_all_its_names(source: Path) -> None:
    said: list[str] = []
    assert not is_built(HELLO)
    folder = build_program(HELLO, echo=said.append)
    assert subprocess.run([folder / "hi"], capture_output=True, check=True).stderr == b"hello"
    assert said[0].startswith("building hello (about 1 minutes")
    said.clear()
    assert build_program(HELLO, echo=said.append) == folder
    assert said == []


def test_a_program_that_does_not_compile_is_reported_with_the_compilers_words(source: Path) -> None:
    (source / "main.go").write_text("package main\n\nfunc main() { nonsense() }\n")
    with pytest.raises(ClusterError, match=r"building hello failed(?s:.*)undefined: nonsense"):
        build_program(HELLO, echo=lambda _: None)
    assert not is_built(HELLO)
