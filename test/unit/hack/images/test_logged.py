"""Programs whose output goes to a log."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hack.cluster.errors import ClusterError
from hack.images.logged import run_logged


def test_output_is_appended_to_the_log(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("earlier\n")
    run_logged(["sh", "-c", "echo out; echo err >&2"], log=log, doing="building base")
    assert log.read_text() == "earlier\nout\nerr\n"


def test_a_failure_says_what_was_done_and_how_the_log_ends(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    with pytest.raises(ClusterError) as caught:
        run_logged(["sh", "-c", "seq 1 100; echo no space left; exit 3"], log=log, doing="building base")
    text = str(caught.value)
    assert text.startswith(f"building base failed: sh exited with 3; the end of {log}:\n")
    assert text.endswith("99\n100\nno space left")
    assert "\n50\n" not in text


def test_a_long_step_says_where_it_is(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    lines: list[str] = []

    def let_it_end(line: str) -> None:
        lines.append(line)
        if line == "  building base: STEP 2/9" and lines.count(line) == 1:
            gate.write_text("go on\n")

    command = ["sh", "-c", f"echo STEP 2/9; read _ < {gate}"]
    run_logged(command, log=tmp_path / "log", doing="building base", echo=let_it_end, progress_seconds=0.01)
    assert "  building base: STEP 2/9" in lines


def test_an_interrupted_step_has_ended_before_control_returns(tmp_path: Path) -> None:
    identifier = tmp_path / "pid"

    def interrupt(_: str) -> None:
        if identifier.exists() and identifier.read_text().endswith("\n"):
            raise KeyboardInterrupt

    command = ["sh", "-c", f"echo $$ > {identifier}; exec tail -f /dev/null"]
    with pytest.raises(KeyboardInterrupt):
        run_logged(command, log=tmp_path / "log", doing="building base", echo=interrupt, progress_seconds=0.01)
    assert not Path(f"/proc/{identifier.read_text().strip()}").exists()
