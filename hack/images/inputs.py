"""Reads what images are made of, so that a change is noticed."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from hack.cluster.cache import digest
from hack.cluster.errors import ClusterError


def _files_below(path: Path) -> Iterator[Path]:
    if path.is_dir():
        for child in sorted(path.iterdir()):
            if child.name != "__pycache__":
                yield from _files_below(child)
    else:
        yield path


def digest_files(project: Path, inputs: Sequence[str]) -> str:
    """Return a hash of the names, execute bits and contents of all files in `inputs`, folders wholly.

    Byte code caches do not count. Raises ClusterError when an input is missing.
    """
    parts: list[bytes | str] = []
    for name in inputs:
        if not (project / name).exists():
            raise ClusterError(f"{name} is missing in {project}, but an image is made of it")
        for file in _files_below(project / name):
            executable = "x" if file.stat().st_mode & stat.S_IXUSR else "-"
            parts += [str(file.relative_to(project)), executable, file.read_bytes()]
    return digest(parts)
