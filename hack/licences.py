"""Writes THIRD_PARTY_LICENCES.md: each package that the operator runs with, its version and its licence."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "THIRD_PARTY_LICENCES.md"
LOCK = ROOT / "requirements" / "runtime.txt"
_HEAD = """\
# Third-party licences

The operator's image contains these Python packages, pinned in `requirements/runtime.txt`. Their licence texts are in
the image under `/usr/share/licenses/mpi-operator`. Made by `python -m hack.licences`; do not edit.

| package | version | licence |
|---|---|---|
"""


def locked_packages(lock: str) -> list[str]:
    """Return the names of the packages in a lock file that are installed on Linux with CPython."""
    lines = re.findall(r"^([a-z0-9][^\\\n]*?)\s*\\?$", lock, re.MULTILINE | re.IGNORECASE)
    requirements = [Requirement(line) for line in lines]
    return [each.name for each in requirements if each.marker is None or each.marker.evaluate()]


def build_table(packages: list[dict[str, str]]) -> str:
    """Return the document for `packages` as pip-licenses describes them."""
    ordered = sorted(packages, key=lambda package: package["Name"].lower())
    rows = (f"| {each['Name']} | {each['Version']} | {each['License']} |\n" for each in ordered)
    return _HEAD + "".join(rows)


def build_document() -> str:
    """Return the document for the packages locked now; they must be installed beside this Python."""
    command = [
        str(Path(sys.executable).with_name("pip-licenses")),
        "--format=json",
        "--from=mixed",
        "--packages",
        *locked_packages(LOCK.read_text()),
    ]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return build_table(json.loads(answer))


def main() -> int:
    """Write the document, or with --check compare it and return 1 when it is not current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    document = build_document()
    if not arguments.check:
        OUTPUT.write_text(document)
    elif not OUTPUT.exists() or OUTPUT.read_text() != document:
        print(f"{OUTPUT.name} is not current: run `make generate`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
