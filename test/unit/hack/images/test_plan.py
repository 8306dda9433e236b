"""Which images are built, in which order, and when again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hack.images.catalog import DebianRecipe, DockerfileRecipe, Image
from hack.images.plan import Target, plan_builds, plan_order, plan_targets


def an_image(name: str, *bases: str) -> Image:
    recipe = (
        DockerfileRecipe(
            dockerfile=f"{name}/Dockerfile",
            context=name,
            inputs=(name,),
            bases={f"BASE_{index}": base for index, base in enumerate(bases)},
        )
        if bases
        else DebianRecipe(suite="bookworm")
    )
    return Image(name=name, reference=f"example/{name}", recipe=recipe)


CATALOG = {
    image.name: image
    for image in (
        an_image("openmpi", "debian", "base"),
        an_image("base", "debian"),
        an_image("mpich", "debian", "base"),
        an_image("debian"),
        an_image("pause"),
    )
}
INPUTS = {name: f"inputs of {name}" for name in CATALOG}


def the_targets(names: Sequence[str], inputs: dict[str, str] | None = None) -> dict[str, Target]:
    return plan_targets(plan_order(CATALOG, names), lambda image: (inputs or INPUTS)[image.name])


def built_names(names: Sequence[str], kept: Sequence[str]) -> list[str]:
    targets = the_targets(names)
    return [target.image.name for target in plan_builds(targets, names, {targets[name].key for name in kept})]


@given(st.lists(st.sampled_from(sorted(CATALOG)), unique=True))
def test_each_base_stands_before_what_stands_on_it(names: list[str]) -> None:
    order = [image.name for image in plan_order(CATALOG, names)]
    assert len(order) == len(set(order))
    assert set(names) <= set(order)
    for name in order:
        recipe = CATALOG[name].recipe
        bases = recipe.bases.values() if isinstance(recipe, DockerfileRecipe) else ()
        assert all(order.index(base) < order.index(name) for base in bases)


def test_an_unknown_name_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(ValueError, match="no image 'opnmpi'; choose from: openmpi, base, mpich, debian, pause"):
        plan_order(CATALOG, ["opnmpi"])


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param("debian", {"debian", "base", "openmpi"}, id="a base changes all that stands on it"),
        pytest.param("base", {"base", "openmpi"}, id="what is below a changed image stays"),
        pytest.param("openmpi", {"openmpi"}, id="a leaf changes alone"),
        pytest.param("pause", set(), id="an image elsewhere changes nothing"),
    ],
)
def test_a_changed_input_changes_the_hash_of_the_image_and_of_what_stands_on_it(
    changed: str, expected: set[str]
) -> None:
    before = the_targets(["openmpi"])
    after = the_targets(["openmpi"], {**INPUTS, changed: "something else"})
    assert {name for name in before if before[name].key != after[name].key} == expected


def test_a_changed_recipe_changes_the_hash() -> None:
    other = Image(name="debian", reference="example/debian", recipe=DebianRecipe(suite="trixie"))
    assert (
        plan_targets([other], lambda _: "same")["debian"]
        != plan_targets([CATALOG["debian"]], lambda _: "same")["debian"]
    )


@pytest.mark.parametrize(
    ("names", "kept", "expected"),
    [
        pytest.param(["openmpi"], [], ["debian", "base", "openmpi"], id="nothing is kept: all is built, bases first"),
        pytest.param(["openmpi"], ["debian", "base", "openmpi"], [], id="everything is kept: nothing is built"),
        pytest.param(["openmpi"], ["debian", "base"], ["openmpi"], id="kept bases are used"),
        pytest.param(["openmpi"], ["openmpi"], [], id="the bases of a kept image are not needed"),
        pytest.param(
            ["mpich", "openmpi"], ["debian", "base", "openmpi"], ["mpich"], id="only what is missing is built"
        ),
    ],
)
def test_only_what_is_missing_is_built(names: list[str], kept: list[str], expected: list[str]) -> None:
    assert built_names(names, kept) == expected
