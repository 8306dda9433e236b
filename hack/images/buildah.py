"""Builds Dockerfiles with buildah, in a storage of our own that keeps the layers of earlier builds."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hack.cluster.errors import ClusterError
from hack.images.logged import Echo, run_logged
from hack.images.plan import Target

# Layers of past builds make the next one short; past this size they are thrown away, as nothing needs them.
LARGEST_STORAGE_BYTES = 12 * 1024**3


def mount_points_below(mounts: str, directory: Path) -> tuple[str, ...]:
    """Return the mount points in or at `directory`, innermost first; `mounts` is the text of /proc/self/mounts."""
    points = (line.split()[1].encode().decode("unicode_escape") for line in mounts.splitlines() if line.strip())
    return tuple(sorted((point for point in points if Path(point).is_relative_to(directory)), key=len, reverse=True))


def _unmount_below(directory: Path) -> None:
    for point in mount_points_below(Path("/proc/self/mounts").read_text(), directory):
        subprocess.run(["umount", "--lazy", point], check=False, capture_output=True)


def _size_bytes(directory: Path) -> int:
    answer = subprocess.run(["du", "-s", "-B1", directory], check=False, capture_output=True, text=True).stdout
    return int(answer.split()[0]) if answer else 0


def _discard(directory: Path) -> None:
    _unmount_below(directory)
    shutil.rmtree(directory, ignore_errors=True)


class Buildah:
    """buildah with its storage in one folder. Not thread-safe; `opened_storage` makes one."""

    def __init__(self, directory: Path, *, echo: Echo) -> None:
        self._command = ["buildah", "--root", str(directory / "storage"), "--runroot", str(directory / "run")]
        self._echo = echo

    def _has(self, reference: str) -> bool:
        command = [*self._command, "inspect", "--type", "image", reference]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0

    def import_base(self, target: Target, archive: Path) -> None:
        """Make the built image `target` known to the storage under its local reference."""
        reference = local_reference(target)
        if self._has(reference):
            return
        command = [*self._command, "pull", "--quiet", f"docker-archive:{archive}"]
        answer = subprocess.run(command, check=False, capture_output=True, text=True)
        if answer.returncode:
            raise ClusterError(
                f"buildah cannot read {archive}: {answer.stderr.strip()}; remove its folder and try again"
            )
        self._tag(answer.stdout.split()[-1], reference)

    def build(
        self,
        target: Target,
        *,
        dockerfile: Path,
        context: Path,
        arguments: Mapping[str, str],
        volumes: Mapping[str, str],
        archive: Path,
        log: Path,
    ) -> None:
        """Build the Dockerfile and write the image to `archive` under the reference of `target`.

        `volumes` (path on this machine to path in the build) are seen by RUN only and leave no trace in the image.
        Raises ClusterError with the end of the log when a step fails.
        """
        identity = archive.with_suffix(".id")
        # chroot isolation needs no runtime and no namespaces of its own, so that this works inside containers.
        build = [*self._command, "bud", "--layers", "--isolation", "chroot", "--pull-never"]
        for name, value in arguments.items():
            build += ["--build-arg", f"{name}={value}"]
        for source, destination in volumes.items():
            build += ["--volume", f"{source}:{destination}:ro"]
        build += ["--iidfile", str(identity), "--file", str(dockerfile), str(context)]
        doing = f"building {target.image.name}"
        run_logged(build, log=log, doing=doing, echo=self._echo)
        # An archive holds all names of its image, so ours is given only once it is written.
        image = identity.read_text().strip()
        push = [*self._command, "push", "--quiet", image, f"docker-archive:{archive}:{target.image.reference}"]
        run_logged(push, log=log, doing=doing, echo=self._echo)
        self._tag(image, local_reference(target))
        identity.unlink()

    def _tag(self, image: str, reference: str) -> None:
        subprocess.run([*self._command, "tag", image, reference], check=True, capture_output=True)


def local_reference(target: Target) -> str:
    """Return the name under which only our own buildah knows the image; it changes with the content."""
    return f"localhost/{target.image.name}:{target.content_hash}"


@contextmanager
def opened_storage(directory: Path, *, echo: Echo = print) -> Iterator[Buildah]:
    """Yield buildah on the storage in `directory`; one process at a time.

    A mark in the folder tells a storage that was left properly from one whose build was killed; the latter is thrown
    away, as is one that has grown too large. Mounts of the storage are taken down at the end.
    """
    mark = directory / "in-use"
    if mark.exists() or _size_bytes(directory) > LARGEST_STORAGE_BYTES:
        _discard(directory)
    directory.mkdir(parents=True, exist_ok=True)
    mark.touch()
    try:
        yield Buildah(directory, echo=echo)
    except ClusterError:
        # A failed step has ended properly; only an interruption leaves the mark.
        mark.unlink()
        raise
    else:
        mark.unlink()
    finally:
        _unmount_below(directory)
