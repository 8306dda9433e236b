"""How each kind of image is made: a minimal Debian, a static program, a Dockerfile."""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from hack.cluster.cache import digest
from hack.cluster.errors import ClusterError
from hack.images.apt_sources import select_sources
from hack.images.buildah import Buildah, local_reference
from hack.images.catalog import DebianRecipe, DockerfileRecipe, Image, StaticProgramRecipe
from hack.images.docker_archive import write_archive, write_layer
from hack.images.inputs import digest_files
from hack.images.logged import Echo, run_logged
from hack.images.pip_configuration import CERTIFICATE_IN_BUILD, build_pip_configuration
from hack.images.plan import Target

PROJECT = Path(__file__).parents[2]
ARCHIVE_NAME = "image.tar"

_LOG_NAME = "build.log"
# As the published slim image has it: no manuals, translations or documents but the licences.
_SLIM = (
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/man/*",
)
_IMAGE_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class BuiltImage(msgspec.Struct, frozen=True, kw_only=True):
    """An image that lies in the cache as a docker-archive."""

    target: Target
    archive: Path


def read_apt_sources(suite: str, directory: Path = Path("/etc/apt")) -> tuple[str, ...]:
    """Return the machine's apt sources of `suite`. Raises ClusterError when it has none."""
    files = [directory / "sources.list", *sorted((directory / "sources.list.d").glob("*"))]
    lines = select_sources({file.name: file.read_text() for file in files if file.is_file()}, suite)
    if not lines:
        raise ClusterError(f"{directory} names no source of Debian {suite}, from which the images are made; add one")
    return lines


def read_inputs(image: Image) -> str:
    """Return the digest of all that the image's own recipe reads."""
    match image.recipe:
        case DebianRecipe(suite=suite):
            return digest((*_SLIM, *read_apt_sources(suite)))
        case StaticProgramRecipe(source=source):
            return digest_files(PROJECT, [source])
        case DockerfileRecipe(inputs=inputs):
            return digest_files(PROJECT, inputs)


def required_packages(image: Image) -> tuple[str, ...]:
    """Return the Debian packages that building `image` needs on this machine."""
    match image.recipe:
        case DebianRecipe():
            return ("mmdebstrap",)
        case StaticProgramRecipe():
            return ("gcc", "libc6-dev")
        case DockerfileRecipe():
            return ("buildah",)


def build_image(target: Target, folder: Path, *, bases: Mapping[str, BuiltImage], buildah: Buildah, echo: Echo) -> None:
    """Fill `folder` with the docker-archive of `target` and the log of its build; `bases` are by name.

    Raises ClusterError when a step fails.
    """
    match target.image.recipe:
        case DebianRecipe() as recipe:
            _build_debian(target, recipe, folder, echo)
        case StaticProgramRecipe() as recipe:
            _build_static_program(target, recipe, folder, echo)
        case DockerfileRecipe() as recipe:
            _build_dockerfile(target, recipe, folder, bases=bases, buildah=buildah)


def _build_debian(target: Target, recipe: DebianRecipe, folder: Path, echo: Echo) -> None:
    root, sources = folder / "root.tar", folder / "sources.list"
    sources.write_text("".join(f"{line}\n" for line in read_apt_sources(recipe.suite)))
    options = [f"--dpkgopt={option}" for option in _SLIM]
    command = ["mmdebstrap", "--variant=minbase", *options, recipe.suite, str(root), str(sources)]
    run_logged(command, log=folder / _LOG_NAME, doing=f"building {target.image.name}", echo=echo)
    _write_archive(target, folder, root, {"Cmd": ["bash"]})
    root.unlink()


def _build_static_program(target: Target, recipe: StaticProgramRecipe, folder: Path, echo: Echo) -> None:
    source = PROJECT / recipe.source
    program, layer = folder / source.stem, folder / "layer.tar"
    command = ["gcc", "-static", "-Os", "-s", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(source)]
    run_logged(command, log=folder / _LOG_NAME, doing=f"building {target.image.name}", echo=echo)
    write_layer(layer, {program.name: program.read_bytes()})
    _write_archive(target, folder, layer, {"Entrypoint": [f"/{program.name}"], "User": "65535:65535"})
    layer.unlink()


def _write_archive(target: Target, folder: Path, layer: Path, process: Mapping[str, object]) -> None:
    write_archive(
        folder / ARCHIVE_NAME,
        layer=layer,
        reference=target.image.reference,
        architecture=_IMAGE_ARCHITECTURES.get(platform.machine(), platform.machine()),
        process=process,
    )


def _build_dockerfile(
    target: Target, recipe: DockerfileRecipe, folder: Path, *, bases: Mapping[str, BuiltImage], buildah: Buildah
) -> None:
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    arguments = {"VERSION": version, "REVISION": f"content-{target.content_hash}"}
    for argument, name in recipe.bases.items():
        buildah.import_base(bases[name].target, bases[name].archive)
        arguments[argument] = local_reference(bases[name].target)
    pip_settings = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    pip = build_pip_configuration(pip_settings.stdout)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(pip.text)
        file.flush()
        volumes = {file.name: "/etc/pip.conf"}
        if pip.certificates:
            volumes[pip.certificates] = CERTIFICATE_IN_BUILD
        buildah.build(
            target,
            dockerfile=PROJECT / recipe.dockerfile,
            context=PROJECT / recipe.context,
            arguments=arguments,
            volumes=volumes,
            archive=folder / ARCHIVE_NAME,
            log=folder / _LOG_NAME,
        )
