"""Makes the virtual environment from the lock files; runs on a bare Python 3.11 or newer."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

from hack.cluster.debian import ensure_packages
from hack.cluster.errors import ClusterError

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "dev.txt"
MINIMUM = (3, 11)


def locked_requirement(lock: str, name: str) -> str:
    """Return the lines of a lock file that pin `name`, with its hashes."""
    match = re.search(rf"^{re.escape(name)}==(?:.*\\\n)*.*", lock, re.MULTILINE)
    if match is None:
        raise ClusterError(f"{name} is not in the lock file; run `make lock`")
    return match.group(0)


def require_version(version: tuple[int, ...]) -> None:
    """Raise ClusterError when the running Python is too old."""
    if version[:2] < MINIMUM:
        found, wanted = ".".join(map(str, version[:2])), ".".join(map(str, MINIMUM))
        raise ClusterError(f"Python {found} is too old, {wanted} or newer is needed: make setup PYTHON=python3.12")


def _make_venv(venv: Path) -> Path:
    if importlib.util.find_spec("ensurepip") is None:
        ensure_packages([f"python3.{sys.version_info[1]}-venv"])
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
    return venv / "bin" / "python"


def setup(venv: Path) -> None:
    """Make `venv` anew with exactly the locked packages, each checked against its hash."""
    require_version(tuple(sys.version_info[:3]))
    python = _make_venv(venv)
    bootstrap = venv / "bootstrap.txt"
    bootstrap.write_text(locked_requirement(LOCK.read_text(), "uv"))
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([*pip, "--requirement", str(bootstrap)], check=True)
    sync = [str(venv / "bin" / "uv"), "pip", "sync", "--quiet", "--python", str(python), "--require-hashes", str(LOCK)]
    subprocess.run(sync, check=True, env=_uv_environment())


def _uv_environment() -> dict[str, str]:
    """Return the environment in which uv trusts the certificates that pip has been told to trust."""
    environment = dict(os.environ)
    if "PIP_CERT" in environment:
        environment.setdefault("SSL_CERT_FILE", environment["PIP_CERT"])
    environment.setdefault("UV_HTTP_TIMEOUT", "180")
    return environment


def main() -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv")
    arguments = parser.parse_args()
    try:
        setup(arguments.venv)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"error: `{' '.join(map(str, error.cmd))}` failed; see above", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
