"""Where built things are kept between runs, found by the hash of what they were built from."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hack.cluster.errors import ClusterError

MINIMUM_FREE_BYTES = 15 * 1024**3


def cache_directory() -> Path:
    """Return this project's folder below the user's cache folder (XDG_CACHE_HOME, else ~/.cache)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mpi-operator"


def digest(parts: Iterable[bytes | str]) -> str:
    """Return a short hash of `parts`, each delimited, so that ("ab", "c") and ("a", "bc") differ."""
    value = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        value.update(len(data).to_bytes(8, "big"))
        value.update(data)
    return value.hexdigest()[:16]


def require_free_space(path: Path, minimum_bytes: int = MINIMUM_FREE_BYTES) -> None:
    """Raise ClusterError when the disk that holds `path` has less than `minimum_bytes` left."""
    while not path.exists():
        path = path.parent
    free = shutil.disk_usage(path).free
    if free < minimum_bytes:
        raise ClusterError(
            f"{path} has {free / 1024**3:.1f} GiB free; building needs {minimum_bytes / 1024**3:.0f} GiB. "
            "Free some space, or set XDG_CACHE_HOME to a folder on a larger disk"
        )


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on the file `path` (made if absent); another process waits for its turn."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cached(directory: Path, build: Callable[[Path], None]) -> Path:
    """Return `directory`, having called `build` to fill it if it was not there.

    `build` fills a temporary folder beside it, which is renamed only when all went well: what an interrupted or failed
    build leaves is never taken for a result, and is removed by the next build. Concurrent callers build once.
    """
    if directory.is_dir():
        return directory
    with locked(directory.with_name(directory.name + ".lock")):
        if directory.is_dir():
            return directory
        require_free_space(directory)
        partial = directory.with_name(directory.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        build(partial)
        partial.rename(directory)
    return directory
