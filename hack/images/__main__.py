"""Builds the project's container images and loads them into a containerd."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from hack.command_line import run_command
from hack.images.build import build_images
from hack.images.catalog import DEFAULT_NAMES, DEFAULT_PAUSE_REFERENCE, build_catalog
from hack.images.containerd import load_images


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line; exits with 2 on a wrong one, as argparse does."""
    parser = argparse.ArgumentParser(prog="python -m hack.images", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build what changed into the cache folder and say where it lies")
    load = commands.add_parser("load", help="build what changed and import it into a containerd")
    for command in (build, load):
        command.add_argument("names", nargs="*", help=f"images, default: {' '.join(DEFAULT_NAMES)}")
        command.add_argument(
            "--pause-reference",
            default=DEFAULT_PAUSE_REFERENCE,
            help="what containerd calls the sandbox image (default: %(default)s)",
        )
    load.add_argument("--address", type=Path, required=True, help="containerd's socket")
    load.add_argument("--namespace", default="k8s.io", help="containerd's namespace (default: %(default)s)")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> None:
    names = options.names or DEFAULT_NAMES
    catalog = build_catalog(options.pause_reference)
    if options.command == "load":
        load_images(names, containerd_address=options.address, namespace=options.namespace, catalog=catalog)
    else:
        for image in build_images(names, catalog=catalog).values():
            print(f"{image.target.image.reference}  {image.archive}")


def main(arguments: Sequence[str]) -> int:
    """Run the command line and return the exit code."""
    options = parse_arguments(arguments)
    return run_command(lambda: _run(options), interrupted="what was half-built is not kept")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
