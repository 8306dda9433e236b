from __future__ import annotations

from pathlib import Path

from mpi_operator.children.ssh_secret.build import SSHKeyPair, build_ssh_secret, build_ssh_secret_data
from test.builders.jobs import a_job, a_suspended_job
from test.golden import assert_golden

PAIR = SSHKeyPair(b"private\n", b"ecdsa-sha2-nistp521 AAAA\n")


def test_b109_b110_the_whole_secret() -> None:
    assert_golden(Path(__file__).parent / "golden" / "ssh_secret.yaml", build_ssh_secret(a_job(), PAIR))


def test_b115_the_data_of_a_repair_are_those_of_a_new_secret() -> None:
    assert build_ssh_secret(a_job(), PAIR)["data"] == build_ssh_secret_data(PAIR)


def test_b116_suspension_makes_no_difference() -> None:
    assert build_ssh_secret(a_suspended_job(), PAIR) == build_ssh_secret(a_job(), PAIR)


def test_a_key_pair_shows_its_keys_to_nobody() -> None:
    assert f"{PAIR} {PAIR!r} {(PAIR,)}".count("SSHKeyPair(...)") == 3
