"""Merge patches between two states of a map (RFC 7386)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mpi_operator.api.merge_patch import build_merge_patch
from test.builders.world import merge

VALUES = st.recursive(
    st.integers(0, 2) | st.text(max_size=1),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
MAPS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


@given(old=MAPS, new=MAPS)
def test_the_patch_turns_one_state_into_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert merge(old, build_merge_patch(old, new)) == new


@given(state=MAPS)
def test_equal_states_need_no_patch(state: dict[str, Any]) -> None:
    assert build_merge_patch(state, state) == {}


def test_only_what_differs_is_named() -> None:
    old = {"same": 1, "gone": 2, "inner": {"same": 1, "changed": 1}, "list": [1, 2]}
    new = {"same": 1, "inner": {"same": 1, "changed": 2}, "list": [2], "new": {}}
    assert build_merge_patch(old, new) == {"gone": None, "inner": {"changed": 2}, "list": [2], "new": {}}


def test_none_counts_as_absent() -> None:
    assert build_merge_patch({"a": None}, {"b": None}) == {}
