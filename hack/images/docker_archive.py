"""Writes docker-archive files, the form in which containerd and buildah import images."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import msgspec


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def _digest_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_layer(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a layer of root's executable `files` (path to content) to `path`; equal files give equal bytes."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as layer:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name.lstrip("/"))
            entry.size = len(data)
            entry.mode = 0o755
            layer.addfile(entry, io.BytesIO(data))


def write_archive(
    path: Path, *, layer: Path, reference: str, architecture: str, process: Mapping[str, object] | None = None
) -> None:
    """Write an image of one uncompressed `layer` under the name `reference` to `path`.

    `process` is the image configuration's part on how to run it, with the keys of the OCI image specification
    (Entrypoint, Cmd, Env, User).
    """
    diff_id = _digest_file(layer)
    configuration = msgspec.json.encode(
        {
            "architecture": architecture,
            "os": "linux",
            "config": dict(process or {}),
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{diff_id}"]},
            "history": [{"created_by": "hack.images"}],
        }
    )
    configuration_name = f"{hashlib.sha256(configuration).hexdigest()}.json"
    layer_name = f"{diff_id}/layer.tar"
    manifest = [{"Config": configuration_name, "RepoTags": [reference], "Layers": [layer_name]}]
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        _add(archive, configuration_name, configuration)
        archive.add(layer, layer_name, recursive=False)
        _add(archive, "manifest.json", msgspec.json.encode(manifest))
