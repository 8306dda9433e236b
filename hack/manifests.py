"""Generates deploy/v2beta1/mpi-operator.yaml from the overlay `standalone`, and renders the overlay `dev`."""

from __future__ import annotations

import argparse
import os
import shutil
import string
import subprocess
import sys
from pathlib import Path

from hack.cluster.go_programs import KUBERNETES, build_program

ROOT = Path(__file__).resolve().parent.parent
OVERLAYS = ROOT / "manifests" / "overlays"
DEPLOYMENT_FILE = ROOT / "deploy" / "v2beta1" / "mpi-operator.yaml"
IMAGE = "mpioperator/mpi-operator"
DEV_TAG = "local"
_HEADER = """\
# The MPI Operator: apply it with `kubectl apply -f`. Generated from manifests/overlays/standalone by
# `make generate`; do not edit.
"""


def find_kubectl() -> str:
    """Return the kubectl on PATH, else the one built for the local cluster."""
    return shutil.which("kubectl") or str(build_program(KUBERNETES) / "kubectl")


def build_overlay(name: str) -> str:
    """Return an overlay as YAML; raise CalledProcessError with kustomize's complaint."""
    command = [find_kubectl(), "kustomize", str(OVERLAYS / name)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def build_deployment_file(version: str) -> str:
    """Return the text of deploy/v2beta1/mpi-operator.yaml, with the released image's tag (B330)."""
    rendered = build_overlay("standalone")
    return _HEADER + rendered.replace(f"image: {IMAGE}:master", f"image: {IMAGE}:{version}")


def read_version() -> str:
    """Return the tag of the released image that belongs to this tree."""
    for line in (ROOT / "pyproject.toml").read_text().splitlines():
        if line.startswith("version = "):
            return "v" + line.split('"')[1]
    raise ValueError('pyproject.toml has no line `version = "…"`; add it under [project]')


def write_deployment_file(*, check: bool) -> int:
    """Write the file anew; with `check`, only say whether it is current."""
    wanted = build_deployment_file(read_version())
    if check:
        if DEPLOYMENT_FILE.exists() and DEPLOYMENT_FILE.read_text() == wanted:
            return 0
        print(f"{DEPLOYMENT_FILE.relative_to(ROOT)} is not current; run `make generate`", file=sys.stderr)
        return 1
    DEPLOYMENT_FILE.parent.mkdir(parents=True, exist_ok=True)
    DEPLOYMENT_FILE.write_text(wanted)
    return 0


def render_dev_overlay(image_name: str, image_tag: str) -> Path:
    """Write the dev overlay's kustomization.yaml for that image, and return its path (B329)."""
    template = string.Template((OVERLAYS / "dev" / "kustomization.yaml.template").read_text())
    path = OVERLAYS / "dev" / "kustomization.yaml"
    path.write_text(template.substitute(IMAGE_NAME=image_name, IMAGE_TAG=image_tag))
    return path


def main(arguments: list[str]) -> int:
    """Do what the command line says and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when the file is not current")
    parser.add_argument("target", nargs="?", choices=["deploy", "dev"], default="deploy")
    options = parser.parse_args(arguments)
    if options.target == "dev":
        name, tag = os.environ.get("IMAGE_NAME", IMAGE), os.environ.get("IMAGE_TAG", DEV_TAG)
        print(render_dev_overlay(name, tag).relative_to(ROOT))
        return 0
    return write_deployment_file(check=options.check)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
