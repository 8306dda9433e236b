"""Imports images into a containerd, skipping those that it already has."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from hack.cluster.debian import ensure_packages
from hack.cluster.errors import ClusterError
from hack.images.build import build_images
from hack.images.catalog import DEFAULT_NAMES, Image
from hack.images.logged import Echo

CONTENT_LABEL = "mpi-operator.content-hash"


def is_loaded(listing: str, reference: str, content_hash: str) -> bool:
    """Return whether `listing`, what `ctr images ls` prints, has `reference` with our label of that content. Pure."""
    label = f"{CONTENT_LABEL}={content_hash}"
    rows = (line.split() for line in listing.splitlines())
    return any(row[0] == reference and label in row[-1].split(",") for row in rows if row)


def load_images(
    names: Sequence[str] = DEFAULT_NAMES,
    *,
    containerd_address: Path,
    namespace: str = "k8s.io",
    catalog: Mapping[str, Image] | None = None,
    echo: Echo = print,
) -> None:
    """Build the named images where needed and import them into the containerd whose socket is `containerd_address`.

    An image that containerd has with the same content is left alone. Raises ClusterError when an image cannot be
    built or containerd does not take it.
    """
    images = build_images(names, catalog=catalog, echo=echo)
    ensure_packages(("containerd",), echo=echo)
    ctr = ["ctr", "--address", str(containerd_address), "--namespace", namespace, "images"]
    listing = _run([*ctr, "ls"])
    for name, image in images.items():
        reference, content_hash = image.target.image.reference, image.target.content_hash
        if is_loaded(listing, reference, content_hash):
            continue
        echo(f"importing {name} as {reference}")
        _run([*ctr, "import", str(image.archive)])
        _run([*ctr, "label", reference, f"{CONTENT_LABEL}={content_hash}"])


def _run(command: Sequence[str]) -> str:
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise ClusterError(f"`{' '.join(command)}` failed: {answer.stderr.strip()}; is containerd running there?")
    return answer.stdout
