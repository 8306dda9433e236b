"""Builds the Go programs under `programs/`, each once for each state of its inputs."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from hack.cluster.cache import cache_directory, cached, digest
from hack.cluster.errors import ClusterError

SOURCES = Path(__file__).parent / "programs"
PROGRESS_SECONDS = 15.0
Echo = Callable[[str], None]


class GoProgram(msgspec.Struct, frozen=True):
    """A Go program of `programs/<name>`, its linker flags, and the names that its binary answers to."""

    name: str
    names: tuple[str, ...]
    linker_flags: str = "-s -w"
    minutes: float = 1.0
    """How long a cold build takes on two cores, for the message that says so."""


_VERSION = "k8s.io/component-base/version"
KUBERNETES = GoProgram(
    name="kubernetes",
    names=(
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kubelet",
        "kube-proxy",
        "kubectl",
    ),
    linker_flags=f"-s -w -X {_VERSION}.gitVersion=v1.35.4 -X {_VERSION}.gitMajor=1 -X {_VERSION}.gitMinor=35",
    minutes=6,
)
COREDNS = GoProgram(name="coredns", names=("coredns",), minutes=2.5)


def inputs(program: GoProgram) -> list[Path]:
    """Return the files that decide what is built, in a fixed order."""
    folder = SOURCES / program.name
    return sorted(path for path in folder.iterdir() if path.suffix == ".go" or path.name in {"go.mod", "go.sum"})


@functools.cache
def go_version() -> str:
    """Return what `go env GOVERSION` says; raise ClusterError when Go is missing."""
    try:
        return subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout.strip()
    except FileNotFoundError as error:
        raise ClusterError("the `go` command is not on PATH: install Go 1.25 or newer to build the cluster") from error


def program_directory(program: GoProgram) -> Path:
    """Return the cache folder of `program` in its present state, built or not."""
    parts: list[bytes | str] = [program.linker_flags, *program.names, go_version(), *os.uname()[4:]]
    for path in inputs(program):
        parts += [path.name, path.read_bytes()]
    return cache_directory() / "programs" / f"{program.name}-{digest(parts)}"


def build_program(program: GoProgram, *, echo: Echo = print) -> Path:
    """Return the folder that holds the program's binary under each of its names, building it if need be."""
    return cached(program_directory(program), lambda folder: _build(program, folder, echo))


def is_built(program: GoProgram) -> bool:
    """Return whether `build_program` would return at once."""
    return program_directory(program).is_dir()


def _build(program: GoProgram, folder: Path, echo: Echo) -> None:
    echo(f"building {program.name} (about {program.minutes:g} minutes on 2 cores, once per machine)")
    binary = folder / program.name
    command = ["go", "build", "-v", "-trimpath", "-ldflags", program.linker_flags, "-o", str(binary), "."]
    _run_with_progress(program, command, folder / "build.log", echo)
    for name in program.names:
        if name != program.name:
            (folder / name).symlink_to(binary.name)


def _environment() -> dict[str, str]:
    return {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false -mod=readonly", "GOTOOLCHAIN": "local"}


def _run_with_progress(program: GoProgram, command: Sequence[str], log: Path, echo: Echo) -> None:
    started = time.monotonic()
    folder = SOURCES / program.name
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=_environment(), stdout=output, stderr=output)
        try:
            while True:
                try:
                    code = process.wait(PROGRESS_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    packages = sum(1 for line in log.open() if not line.startswith("go: "))
                    echo(f"  {program.name}: {time.monotonic() - started:.0f} s, {packages} packages compiled")
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if code:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        shutil.rmtree(log.parent, ignore_errors=True)
        raise ClusterError(f"building {program.name} failed (go build in {folder} exited with {code}):\n{tail}")
    echo(f"  {program.name}: built in {time.monotonic() - started:.0f} s")
