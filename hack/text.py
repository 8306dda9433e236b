"""Checks text files: no trailing blanks, no carriage returns, one final newline, no conflict marks."""

from __future__ import annotations

import re
import sys
from pathlib import Path

_CONFLICT = re.compile(rb"^(<{7} |={7}$|>{7} )", re.MULTILINE)
_TRAILING = re.compile(rb"[ \t]+$", re.MULTILINE)


def faults(data: bytes) -> list[str]:
    """Return what is wrong with a file's content."""
    found = []
    if b"\r" in data:
        found.append("carriage returns")
    if data and (not data.endswith(b"\n") or data.endswith(b"\n\n")):
        found.append("does not end in exactly one newline")
    if _TRAILING.search(data):
        found.append("blanks at the end of a line")
    if _CONFLICT.search(data):
        found.append("conflict marks")
    return found


def main(paths: list[str]) -> int:
    """Print the faults of all files; return 1 when there are any."""
    lines = [f"{path}: {fault}" for path in paths for fault in faults(Path(path).read_bytes())]
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
