"""The catalog agrees with the Dockerfiles."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import pytest

from hack.images.catalog import DEFAULT_NAMES, DockerfileRecipe, build_catalog
from hack.images.recipes import PROJECT

DOCKERFILES = {
    name: image.recipe for name, image in build_catalog().items() if isinstance(image.recipe, DockerfileRecipe)
}


def copied_paths(recipe: DockerfileRecipe) -> list[str]:
    lines = (PROJECT / recipe.dockerfile).read_text().splitlines()
    instructions = [line.split()[1:] for line in lines if line.startswith("COPY ") and "--from=" not in line]
    return [word for words in instructions for word in words[:-1] if not word.startswith("--")]


@pytest.mark.parametrize("name", DOCKERFILES)
def test_whatever_a_dockerfile_copies_is_an_input(name: str) -> None:
    recipe = DOCKERFILES[name]
    copied = [PurePosixPath(recipe.context) / path for path in copied_paths(recipe)]
    read = [*copied, PurePosixPath(recipe.dockerfile)]
    unnoticed = [path for path in read if not any(path.is_relative_to(PurePosixPath(entry)) for entry in recipe.inputs)]
    assert copied
    assert unnoticed == []


@pytest.mark.parametrize("name", DOCKERFILES)
def test_every_base_is_a_build_argument_with_a_public_default(name: str) -> None:
    recipe = DOCKERFILES[name]
    text = (PROJECT / recipe.dockerfile).read_text()
    arguments = set(re.findall(r"^ARG (\w+_IMAGE)=\S+$", text, re.MULTILINE))
    assert arguments == set(recipe.bases)
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) - {"scratch"} == {f"${{{name}}}" for name in arguments}


def test_every_image_but_debian_is_built_by_default() -> None:
    assert set(DEFAULT_NAMES) == set(build_catalog()) - {"debian"}


def test_B287_the_operator_starts_as_its_entry_point_and_explains_itself_by_default() -> None:
    text = (PROJECT / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["/opt/mpi-operator"]\nCMD ["--help"]' in text


def test_B331_the_operator_is_not_root_and_its_image_is_labelled() -> None:
    final_stage = (PROJECT / "Dockerfile").read_text().split("\nFROM ")[-1]
    assert "\nUSER 65532:65532\n" in final_stage
    for label in ("licenses", "revision", "source", "version"):
        assert f"org.opencontainers.image.{label}=" in final_stage


def test_no_file_of_the_images_names_a_package_index() -> None:
    pattern = re.compile(r"(--index-url|--extra-index-url|deb\s+https?://|mirror=)")
    files = [path for path in (PROJECT / "images").rglob("*") if path.is_file()] + [PROJECT / "Dockerfile"]
    assert [str(path) for path in files if pattern.search(Path(path).read_text())] == []
