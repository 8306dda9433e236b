"""The entry point of the MPI images: the launcher waits for DNS, bounded, and says for whom."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hack.images.recipes import PROJECT

ENTRYPOINT = PROJECT / "images/base/mpi-entrypoint"
OWN_NAME = "pi-launcher.pi.default.svc.cluster.local"

# DNS is a file of names; an hour is a file of seconds; sleeping adds to it, and lets the next name appear.
STUBS = {
    "getent": 'echo "$*" >> "$WORLD/asked"; [ "$1 $2" = "--service=hosts:dns ahosts" ] && grep -qxF "$3" "$WORLD/dns"',
    "hostname": f'if [ "$1" = -f ]; then echo "${{FULL_NAME:-{OWN_NAME}}}"; else echo pi-launcher; fi',
    "date": 'cat "$WORLD/now"',
    "sleep": (
        'echo "$1" >> "$WORLD/pauses"; echo $(($(cat "$WORLD/now") + 1)) > "$WORLD/now"; '
        'if [ -s "$WORLD/coming" ]; then head -n 1 "$WORLD/coming" >> "$WORLD/dns"; sed -i 1d "$WORLD/coming"; fi'
    ),
}


class World:
    """A container with stubbed DNS and time; `run` starts the entry point with a program that says it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        for name, body in STUBS.items():
            stub = folder / "bin" / name
            stub.write_text(f"#!/bin/sh\n{body}\n")
            stub.chmod(0o755)
        self.hostfile = folder / "hostfile"
        (folder / "now").write_text("1000\n")
        self.tell_dns(OWN_NAME)
        self.will_appear()

    def tell_dns(self, *names: str) -> None:
        (self.folder / "dns").write_text("".join(f"{name}\n" for name in names))

    def will_appear(self, *names: str) -> None:
        (self.folder / "coming").write_text("".join(f"{name}\n" for name in names))

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def run(self, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(ENTRYPOINT), "sh", "-c", 'echo "runs: $*"; exit 7', "program", "a b", "c"],
            env={
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                "WORLD": str(self.folder),
                "MPI_HOSTFILE": str(self.hostfile),
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_program_takes_the_entry_points_place_with_its_arguments_and_exit_code(world: World) -> None:
    ended = world.run()
    assert ended.stdout == "runs: a b c\n"
    assert ended.returncode == 7


@pytest.mark.parametrize("role", ["worker", ""])
def test_B338_only_a_launcher_waits(world: World, role: str) -> None:
    world.tell_dns()
    ended = world.run(K_MPI_JOB_ROLE=role)
    assert ended.stdout == "runs: a b c\n"
    assert world.lines("asked") == []


@pytest.mark.parametrize(
    ("hostfile", "hosts"),
    [
        pytest.param("w-0.pi.default.svc slots=2\nw-1.pi.default.svc slots=2\n", ["w-0", "w-1"], id="Open MPI"),
        pytest.param("w-0.pi.default.svc:2\nw-1.pi.default.svc:2\n", ["w-0", "w-1"], id="Intel MPI and MPICH"),
        pytest.param("pi-launcher:1\nw-0.pi.default.svc:1\n", ["w-0"], id="the launcher runs ranks too"),
        pytest.param("# all\n\n  w-0.pi.default.svc\t slots=1 # first\n", ["w-0"], id="comments and blanks"),
    ],
)
def test_B338_dns_is_asked_for_the_launcher_itself_and_for_every_host(
    world: World, hostfile: str, hosts: list[str]
) -> None:
    names = [f"{host}.pi.default.svc" for host in hosts]
    world.hostfile.write_text(hostfile)
    world.tell_dns(OWN_NAME, *names)
    ended = world.run(K_MPI_JOB_ROLE="launcher")
    assert sorted(world.lines("asked")) == sorted(f"--service=hosts:dns ahosts {name}" for name in [OWN_NAME, *names])
    assert ended.stdout == "runs: a b c\n"
    assert ended.stderr == ""
    assert world.lines("pauses") == []


def test_B338_who_is_missing_is_said_once_and_the_wait_backs_off(world: World) -> None:
    world.hostfile.write_text("w-0.pi.default.svc slots=1\nw-1.pi.default.svc slots=1\n")
    world.will_appear("w-1.pi.default.svc", *["nobody"] * 5, "w-0.pi.default.svc")
    ended = world.run(K_MPI_JOB_ROLE="launcher")
    assert ended.stderr.splitlines() == [
        "mpi-entrypoint: waiting for DNS to know: w-0.pi.default.svc w-1.pi.default.svc",
        "mpi-entrypoint: waiting for DNS to know: w-0.pi.default.svc",
        "mpi-entrypoint: DNS knows all hosts",
    ]
    assert world.lines("pauses") == ["0.1", "0.2", "0.4", "0.8", "1.6", "2.0", "2.0"]
    assert ended.stdout == "runs: a b c\n"


def test_B338_the_wait_ends_and_names_the_missing_host(world: World) -> None:
    world.hostfile.write_text("w-0.pi.default.svc slots=1\n")
    ended = world.run(K_MPI_JOB_ROLE="launcher", MPI_DNS_WAIT_SECONDS="5")
    assert "after 5 s DNS still does not know: w-0.pi.default.svc; running the program all the same" in ended.stderr
    assert len(world.lines("pauses")) == 5
    assert ended.stdout == "runs: a b c\n"


def test_without_a_hostfile_only_the_launchers_own_name_is_waited_for(world: World) -> None:
    world.tell_dns()
    world.will_appear(OWN_NAME)
    ended = world.run(K_MPI_JOB_ROLE="launcher")
    assert f"waiting for DNS to know: {OWN_NAME}\n" in ended.stderr
    assert ended.stdout == "runs: a b c\n"


@pytest.mark.parametrize("node", ["node-1", "node-1.example.com"])
def test_B145_in_the_network_of_its_node_the_launcher_has_no_name_of_its_own_to_wait_for(
    world: World, node: str
) -> None:
    world.hostfile.write_text("w-0.pi.default.svc slots=1\n")
    world.tell_dns("w-0.pi.default.svc")
    ended = world.run(K_MPI_JOB_ROLE="launcher", FULL_NAME=node)
    assert world.lines("asked") == ["--service=hosts:dns ahosts w-0.pi.default.svc"]
    assert ended.stdout == "runs: a b c\n"


def test_a_bound_of_nothing_asks_nothing(world: World) -> None:
    world.tell_dns()
    ended = world.run(K_MPI_JOB_ROLE="launcher", MPI_DNS_WAIT_SECONDS="0")
    assert world.lines("asked") == []
    assert ended.stdout == "runs: a b c\n"
