"""Archives that containerd and buildah take."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

from hack.images.docker_archive import write_archive, write_layer


def read_member(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as opened:
        member = opened.extractfile(name)
        assert member is not None
        return member.read()


def write_image(folder: Path) -> Path:
    layer, archive = folder / "layer.tar", folder / "image.tar"
    write_layer(layer, {"/pause": b"program"})
    write_archive(
        archive, layer=layer, reference="example/pause:1", architecture="arm64", process={"Entrypoint": ["/pause"]}
    )
    return archive


def test_the_manifest_names_the_image_its_configuration_and_its_layer(tmp_path: Path) -> None:
    archive = write_image(tmp_path)
    (manifest,) = json.loads(read_member(archive, "manifest.json"))
    assert manifest["RepoTags"] == ["example/pause:1"]
    (layer_name,) = manifest["Layers"]
    layer = read_member(archive, layer_name)
    assert layer == (tmp_path / "layer.tar").read_bytes()
    configuration = json.loads(read_member(archive, manifest["Config"]))
    assert configuration["architecture"] == "arm64"
    assert configuration["os"] == "linux"
    assert configuration["config"] == {"Entrypoint": ["/pause"]}
    assert configuration["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]


def test_the_configuration_is_named_by_its_own_hash(tmp_path: Path) -> None:
    archive = write_image(tmp_path)
    (manifest,) = json.loads(read_member(archive, "manifest.json"))
    digest = hashlib.sha256(read_member(archive, manifest["Config"])).hexdigest()
    assert manifest["Config"] == f"{digest}.json"


def test_a_layer_holds_executables_and_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = tmp_path / "first.tar", tmp_path / "second.tar"
    write_layer(first, {"/b": b"2", "/a": b"1"})
    write_layer(second, {"/a": b"1", "/b": b"2"})
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as layer:
        assert [(member.name, member.mode, member.uid) for member in layer] == [("a", 0o755, 0), ("b", 0o755, 0)]
