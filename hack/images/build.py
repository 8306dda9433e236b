"""Builds the images that changed, one at a time, and keeps each in the user's cache folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from clockwork import Clock, SystemClock
from hack.cluster.cache import cache_directory, cached, locked, require_free_space
from hack.cluster.debian import ensure_packages
from hack.cluster.errors import ClusterError
from hack.images.buildah import Buildah, opened_storage
from hack.images.catalog import DEFAULT_NAMES, Image, build_catalog
from hack.images.logged import Echo
from hack.images.plan import Target, base_names, plan_builds, plan_order, plan_targets
from hack.images.recipes import ARCHIVE_NAME, BuiltImage, build_image, read_inputs, required_packages

# A few earlier states stay, so that going back and forth between two branches builds nothing.
KEPT_STATES = 3


def images_directory() -> Path:
    """Return the cache folder that holds one folder for each image and state of its inputs."""
    return cache_directory() / "images"


def build_images(
    names: Sequence[str] = DEFAULT_NAMES,
    *,
    catalog: Mapping[str, Image] | None = None,
    echo: Echo = print,
    clock: Clock | None = None,
) -> dict[str, BuiltImage]:
    """Return the named images, having built those whose inputs changed since they were last built here.

    One process builds at a time; another waits. An interrupted or failed build leaves nothing that a later one would
    take for a result. Raises ClusterError when an image is unknown, a package, an input or space is missing, or a
    build fails.
    """
    catalog = build_catalog() if catalog is None else catalog
    try:
        order = plan_order(catalog, names)
    except ValueError as error:
        raise ClusterError(str(error)) from error
    targets = plan_targets(order, read_inputs)
    directory = images_directory()
    archives = {
        name: BuiltImage(target=target, archive=directory / target.key / ARCHIVE_NAME)
        for name, target in targets.items()
    }
    builds = plan_builds(targets, names, _kept_keys(directory))
    if builds:
        _build(builds, archives, echo=echo, clock=clock or SystemClock())
    return {name: archives[name] for name in names}


def _kept_keys(directory: Path) -> frozenset[str]:
    return frozenset(path.parent.name for path in directory.glob(f"*/{ARCHIVE_NAME}"))


def _build(builds: Sequence[Target], archives: Mapping[str, BuiltImage], *, echo: Echo, clock: Clock) -> None:
    directory = images_directory()
    require_free_space(directory)
    packages = dict.fromkeys(package for target in builds for package in required_packages(target.image))
    ensure_packages(tuple(packages), echo=echo)
    with locked(directory / "build.lock"), opened_storage(directory / "layers", echo=echo) as buildah:
        for target in builds:
            _build_one(target, archives, buildah=buildah, echo=echo, clock=clock)


def _build_one(
    target: Target, archives: Mapping[str, BuiltImage], *, buildah: Buildah, echo: Echo, clock: Clock
) -> None:
    name, folder = target.image.name, archives[target.image.name].archive.parent
    bases = {base: archives[base] for base in base_names(target.image)}
    started = clock.monotonic()
    echo(f"building {name}")
    cached(folder, partial(build_image, target, bases=bases, buildah=buildah, echo=echo))
    mebibytes = archives[name].archive.stat().st_size / 1024**2
    echo(f"built {name} in {clock.monotonic() - started:.0f} s, {mebibytes:.0f} MiB")
    remove_old_states(folder.parent, name, keep=folder)


def remove_old_states(directory: Path, name: str, *, keep: Path) -> None:
    """Remove all but the newest states of the image `name`, never `keep`."""
    states = [path for path in directory.glob(f"{name}-*") if path.is_dir() and path != keep]
    newest_first = sorted(states, key=lambda path: path.stat().st_mtime, reverse=True)
    for state in newest_first[KEPT_STATES - 1 :]:
        shutil.rmtree(state, ignore_errors=True)
