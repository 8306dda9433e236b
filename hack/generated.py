"""Writes every generated file anew, or with --check says which are not current and how to make them so."""

from __future__ import annotations

import subprocess
import sys

GENERATORS = ("hack.crd", "hack.manifests", "hack.licences")


def main(arguments: list[str]) -> int:
    """Run all generators with `arguments` and return the worst exit code."""
    return max(
        subprocess.run([sys.executable, "-m", generator, *arguments], check=False).returncode
        for generator in GENERATORS
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
