"""What `--version` says (B274, B283)."""

from __future__ import annotations

from mpi_operator.version import build_version_text, read_version


def test_B274_the_lines_and_their_order() -> None:
    text = build_version_text(read_version({"MPI_OPERATOR_REVISION": "abc", "MPI_OPERATOR_BUILT": "today"}))
    lines = dict(line.split(": ", 1) for line in text.splitlines())
    assert list(lines) == ["API Version", "Version", "Git SHA", "Built", "Python Version", "Platform"]
    assert (lines["API Version"], lines["Git SHA"], lines["Built"]) == ("v2", "abc", "today")
    assert lines["Version"].startswith("v")


def test_B283_what_a_build_did_not_say() -> None:
    version = read_version({"MPI_OPERATOR_REVISION": ""})
    assert (version.revision, version.built) == ("Not provided.", "Not provided.")
