"""Runs all checks one after the other, and ends with a table of what passed and how long each took."""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from hack.cluster.choice import KINDS

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent


class Stage(msgspec.Struct, frozen=True):
    """One check: its name and the command that makes it."""

    name: str
    command: tuple[str, ...]


class Outcome(msgspec.Struct, frozen=True):
    """How a stage ended: its exit code, its seconds, and the last line of its test runner, if any."""

    name: str
    code: int
    seconds: float
    summary: str = ""


def build_stages(cluster: str | None) -> list[Stage]:
    """Return the stages in order; `cluster` is the kind of cluster for those that need one."""
    pytest = str(BIN / "pytest")
    option = [f"--cluster={cluster}"] if cluster else []
    return [
        Stage("lint", (str(BIN / "pre-commit"), "run", "--all-files", "--show-diff-on-failure", "--color=never")),
        Stage("unit", (pytest, "test/unit", "--color=no", "--durations=10")),
        Stage("build", (sys.executable, "-m", "hack.cluster", "build")),
        Stage("integration", (pytest, "test/integration", "--color=no", "--durations=10")),
        Stage("images", (sys.executable, "-m", "hack.images", "build")),
        Stage("e2e", (pytest, "test/e2e", "--color=no", "--durations=10", *option)),
    ]


def runner_summary(output: str) -> str:
    """Return pytest's last line without its frame, or nothing for other programs."""
    found = re.findall(r"^=+ (\d+ (?:passed|failed|error).*?) =+$", output, re.MULTILINE)
    return found[-1] if found else ""


def run_stage(stage: Stage) -> Outcome:
    """Run one stage, showing its output as it comes."""
    print(f"\n--- {stage.name}: {' '.join(stage.command)}", flush=True)
    started = time.monotonic()
    lines: list[str] = []
    with subprocess.Popen(
        stage.command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    seconds = time.monotonic() - started
    return Outcome(stage.name, process.returncode, seconds, runner_summary("".join(lines)))


def build_summary(outcomes: Sequence[Outcome]) -> str:
    """Return the table that ends a run."""
    rows = []
    for each in outcomes:
        result = "ok" if each.code == 0 else f"FAILED ({each.code})"
        rows.append(f"{each.name:14}{result:14}{each.seconds:7.0f} s   {each.summary}".rstrip())
    passed = sum(outcome.code == 0 for outcome in outcomes)
    return "\n".join(["", "summary", *rows, "", f"stages: {passed} passed, {len(outcomes) - passed} failed"])


def versions() -> str:
    """Return one line about what the stages run on."""
    go = "no Go"
    if shutil.which("go"):
        go = subprocess.run(["go", "version"], capture_output=True, text=True, check=True).stdout.split()[2]
    return f"Python {platform.python_version()}, {go}, {platform.platform()}"


def main() -> int:
    """Run all stages, each whether or not those before it passed; return 1 when one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cluster", choices=KINDS)
    parser.add_argument("stages", nargs="*", help="only these stages")
    arguments = parser.parse_args()
    print(versions())
    wanted = [each for each in build_stages(arguments.cluster) if not arguments.stages or each.name in arguments.stages]
    outcomes = [run_stage(stage) for stage in wanted]
    print(build_summary(outcomes))
    return 1 if any(outcome.code for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
