"""Resolves the dependencies of pyproject.toml into requirements/runtime.txt and requirements/dev.txt, with hashes.

The files name no index: whoever installs uses the one that their client is set up for.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNTIME, DEV = "requirements/runtime.txt", "requirements/dev.txt"


def compile_command(output: str, *options: str) -> list[str]:
    """Return the command that resolves for every supported platform and Python into `output`."""
    uv = str(Path(sys.executable).with_name("uv"))
    fixed = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--no-header"]
    return [uv, "pip", "compile", "pyproject.toml", "--quiet", *fixed, *options, "--output-file", output]


def main() -> int:
    """Write both lock files; `--upgrade` takes the newest versions, else what is locked stays where it can."""
    for output, options in ((RUNTIME, []), (DEV, ["--extra", "dev", "--constraint", RUNTIME])):
        subprocess.run(compile_command(output, *options, *sys.argv[1:]), cwd=ROOT, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
