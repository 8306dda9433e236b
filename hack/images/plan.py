"""Which images are to be built, in which order, and under which content hash each is kept. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from hack.cluster.cache import digest
from hack.images.catalog import DockerfileRecipe, Image

# To be raised when this package builds something else from the same inputs.
RECIPE_VERSION = 2


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """An image and the hash of all that it is made from, its bases included."""

    image: Image
    content_hash: str

    @property
    def key(self) -> str:
        """The name under which the built image is kept."""
        return f"{self.image.name}-{self.content_hash}"


def base_names(image: Image) -> tuple[str, ...]:
    """Return the names of the images on which `image` stands."""
    return tuple(image.recipe.bases.values()) if isinstance(image.recipe, DockerfileRecipe) else ()


def plan_order(catalog: Mapping[str, Image], names: Sequence[str]) -> tuple[Image, ...]:
    """Return the named images and all their bases, each base before what stands on it, each once.

    Raises ValueError for an unknown name, with the names that exist.
    """
    ordered: dict[str, Image] = {}

    def visit(name: str) -> None:
        if name not in catalog:
            raise ValueError(f"there is no image {name!r}; choose from: {', '.join(catalog)}")
        if name not in ordered:
            for base in base_names(catalog[name]):
                visit(base)
            ordered[name] = catalog[name]

    for name in names:
        visit(name)
    return tuple(ordered.values())


def plan_targets(order: Sequence[Image], read_inputs: Callable[[Image], str]) -> dict[str, Target]:
    """Return each image with its content hash, by name; `order` has bases first.

    `read_inputs` gives the digest of what the image's recipe reads. A changed input changes the hash of the image and
    of everything that stands on it.
    """
    targets: dict[str, Target] = {}
    for image in order:
        parts: tuple[bytes | str, ...] = (
            str(RECIPE_VERSION),
            msgspec.json.encode(image),
            read_inputs(image),
            *(targets[name].content_hash for name in base_names(image)),
        )
        targets[image.name] = Target(image=image, content_hash=digest(parts))
    return targets


def plan_builds(targets: Mapping[str, Target], names: Sequence[str], kept: Collection[str]) -> tuple[Target, ...]:
    """Return what has to be built, bases first: the named images not in `kept` (keys), and the bases these need."""
    needed: set[str] = set()

    def visit(name: str) -> None:
        if targets[name].key not in kept:
            needed.add(name)
            for base in base_names(targets[name].image):
                visit(base)

    for name in names:
        visit(name)
    return tuple(target for name, target in targets.items() if name in needed)
