"""Building what changed, keeping it, and never mistaking half a build for a whole one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from clockwork import FakeClock
from hack.cluster import cache
from hack.cluster.errors import ClusterError
from hack.images import build
from hack.images.build import KEPT_STATES, build_images, images_directory, remove_old_states
from hack.images.catalog import DebianRecipe, DockerfileRecipe, Image
from hack.images.plan import Target
from hack.images.recipes import ARCHIVE_NAME, BuiltImage

CATALOG = {
    "debian": Image(name="debian", reference="example/debian", recipe=DebianRecipe(suite="bookworm")),
    "base": Image(
        name="base",
        reference="example/base",
        recipe=DockerfileRecipe(dockerfile="Dockerfile", context=".", inputs=(), bases={"DEBIAN_IMAGE": "debian"}),
    ),
}


class Workshop:
    """Stands in for mmdebstrap and buildah: writes an archive that tells what it was made from."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
        self.inputs = {"debian": "packages of today", "base": "a Dockerfile"}
        self.built: list[str] = []
        self.packages: list[str] = []
        self.disturb: Callable[[], None] = lambda: None
        monkeypatch.setenv("XDG_CACHE_HOME", str(home))
        for module in (build, cache):
            monkeypatch.setattr(module, "require_free_space", lambda _: None)
        monkeypatch.setattr(build, "read_inputs", lambda image: self.inputs[image.name])
        monkeypatch.setattr(build, "build_image", self.build_image)
        monkeypatch.setattr(build, "ensure_packages", lambda packages, echo: self.packages.extend(packages))

    def build_image(
        self, target: Target, folder: Path, *, bases: Mapping[str, BuiltImage], buildah: object, echo: object
    ) -> None:
        self.built.append(target.image.name)
        made_from = [self.inputs[target.image.name], *(base.archive.read_text() for base in bases.values())]
        (folder / ARCHIVE_NAME).write_text(" on ".join(made_from))
        self.disturb()

    def build(self, *names: str) -> dict[str, BuiltImage]:
        return build_images(names, catalog=CATALOG, echo=lambda _: None, clock=FakeClock())


@pytest.fixture
def workshop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Workshop:
    return Workshop(monkeypatch, tmp_path)


def test_an_image_is_built_on_its_bases_and_only_it_is_returned(workshop: Workshop) -> None:
    images = workshop.build("base")
    assert workshop.built == ["debian", "base"]
    assert workshop.packages == ["mmdebstrap", "buildah"]
    assert list(images) == ["base"]
    assert images["base"].archive.read_text() == "a Dockerfile on packages of today"


def test_what_is_kept_is_not_built_again_and_needs_no_packages(workshop: Workshop) -> None:
    first = workshop.build("base")
    workshop.built.clear()
    workshop.packages.clear()
    assert workshop.build("base") == first
    assert workshop.built == []
    assert workshop.packages == []


def test_a_change_builds_what_it_touches(workshop: Workshop) -> None:
    before = workshop.build("base")
    workshop.inputs["base"] = "another Dockerfile"
    workshop.built.clear()
    after = workshop.build("base")
    assert workshop.built == ["base"]
    assert after["base"].archive != before["base"].archive


def test_going_back_to_an_earlier_state_builds_nothing(workshop: Workshop) -> None:
    workshop.build("base")
    workshop.inputs["base"] = "another Dockerfile"
    workshop.build("base")
    workshop.inputs["base"] = "a Dockerfile"
    workshop.built.clear()
    workshop.build("base")
    assert workshop.built == []


@pytest.mark.parametrize(
    "failure",
    [pytest.param(KeyboardInterrupt(), id="interrupted"), pytest.param(ClusterError("no space"), id="failed")],
)
def test_half_a_build_is_never_taken_for_a_whole_one(workshop: Workshop, failure: BaseException) -> None:
    def disturb() -> None:
        raise failure

    workshop.disturb = disturb
    with pytest.raises(type(failure)):
        workshop.build("debian")
    assert not list(images_directory().glob(f"debian-????????????????/{ARCHIVE_NAME}"))
    workshop.disturb = lambda: None
    workshop.built.clear()
    assert workshop.build("debian")["debian"].archive.exists()
    assert workshop.built == ["debian"]


def test_an_unknown_image_is_explained(workshop: Workshop) -> None:
    with pytest.raises(ClusterError, match="no image 'bas'; choose from: debian, base"):
        workshop.build("bas")


def test_only_the_newest_states_of_an_image_are_kept(tmp_path: Path) -> None:
    for age in range(6):
        (tmp_path / f"base-{age}").mkdir()
        os.utime(tmp_path / f"base-{age}", (1000 - age, 1000 - age))
    (tmp_path / "debian-0").mkdir()
    remove_old_states(tmp_path, "base", keep=tmp_path / "base-5")
    assert KEPT_STATES == 3
    assert {path.name for path in tmp_path.iterdir()} == {"base-0", "base-1", "base-5", "debian-0"}
