"""Which images there are and what each is made of."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

DEBIAN_SUITE = "bookworm"

# The name under which containerd asks for the sandbox of every pod, unless its configuration says otherwise.
DEFAULT_PAUSE_REFERENCE = "registry.k8s.io/pause:3.6"


class DebianRecipe(msgspec.Struct, frozen=True, kw_only=True, tag="debian"):
    """A minimal Debian, the local stand-in for Debian's published image."""

    suite: str


class StaticProgramRecipe(msgspec.Struct, frozen=True, kw_only=True, tag="static-program"):
    """One C program, linked statically, and nothing else."""

    source: str


class DockerfileRecipe(msgspec.Struct, frozen=True, kw_only=True, tag="dockerfile"):
    """A Dockerfile. Paths are relative to the project; `bases` maps build arguments to the names of other images.

    `inputs` are the files and folders whose content decides whether the image must be built again.
    """

    dockerfile: str
    context: str
    inputs: tuple[str, ...]
    bases: Mapping[str, str]


Recipe = DebianRecipe | StaticProgramRecipe | DockerfileRecipe


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """An image: our short name, the reference under which pods ask for it, and how it is made."""

    name: str
    reference: str
    recipe: Recipe


def _mpi_image(implementation: str) -> Image:
    folder = f"images/{implementation}"
    return Image(
        name=implementation,
        reference=f"docker.io/mpioperator/mpi-pi:{implementation}",
        recipe=DockerfileRecipe(
            dockerfile=f"{folder}/Dockerfile",
            context="images",
            inputs=(folder, "images/programs"),
            bases={"DEBIAN_IMAGE": "debian", "BASE_IMAGE": "base"},
        ),
    )


def build_catalog(pause_reference: str = DEFAULT_PAUSE_REFERENCE) -> dict[str, Image]:
    """Return all images by name; `pause_reference` is what the cluster's containerd calls its sandbox image."""
    images = (
        Image(
            name="debian",
            reference=f"docker.io/library/debian:{DEBIAN_SUITE}-slim",
            recipe=DebianRecipe(suite=DEBIAN_SUITE),
        ),
        Image(name="pause", reference=pause_reference, recipe=StaticProgramRecipe(source="images/pause/pause.c")),
        Image(
            name="base",
            reference="docker.io/mpioperator/base:latest",
            recipe=DockerfileRecipe(
                dockerfile="images/base/Dockerfile",
                context="images",
                inputs=("images/base",),
                bases={"DEBIAN_IMAGE": "debian"},
            ),
        ),
        _mpi_image("openmpi"),
        _mpi_image("openmpi5"),
        _mpi_image("mpich"),
        _mpi_image("intel"),
        Image(
            name="operator",
            reference="docker.io/mpioperator/mpi-operator:latest",
            recipe=DockerfileRecipe(
                dockerfile="Dockerfile",
                context=".",
                inputs=(
                    "Dockerfile",
                    ".dockerignore",
                    "LICENSE",
                    "THIRD_PARTY_LICENCES.md",
                    "pyproject.toml",
                    "requirements",
                    "images/operator",
                    "clockwork",
                    "informers",
                    "workqueue",
                    "mpi_operator",
                ),
                bases={"DEBIAN_IMAGE": "debian"},
            ),
        ),
    )
    return {image.name: image for image in images}


# What `build` and `load` take when no name is given; debian is only a base.
DEFAULT_NAMES = ("pause", "base", "openmpi", "openmpi5", "mpich", "intel", "operator")
