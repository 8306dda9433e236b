"""JSON of any depth, made readable (A2.14: one object must not hide the others)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from informers.decode import ObjectDecoder
from informers.nesting import cut_nesting
from test.builders.items import PODS, Item, a_line, a_page, an_item

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)
PLACE = b'"deep"'


def cut(value: Any, levels: int) -> Any:
    if not isinstance(value, list | dict):
        return value
    if levels == 0:
        return "CUT"
    if isinstance(value, list):
        return [cut(each, levels - 1) for each in value]
    return {key: cut(each, levels - 1) for key, each in value.items()}


@settings(max_examples=200)
@given(value=VALUES, levels=st.integers(0, 4))
def test_what_is_below_the_levels_is_replaced_and_nothing_else(value: Any, levels: int) -> None:
    body = json.dumps(value).encode()
    assert json.loads(cut_nesting(body, levels, b'"CUT"')) == cut(value, levels)


def a_deep_body(body: bytes, opening: bytes, closing: bytes) -> bytes:
    """The body with its place filled by something that no decoder reads."""
    return body.replace(PLACE, opening * 9_000 + b"1" + closing * 9_000)


DEEP = pytest.mark.parametrize(("opening", "closing"), [(b'{"a":', b"}"), (b"[", b"]")], ids=["objects", "arrays"])


@DEEP
def test_A2_14_an_object_nested_too_deeply_is_left_out_of_a_page_and_told_of(opening: bytes, closing: bytes) -> None:
    body = a_deep_body(a_page(an_item("a"), an_item("b", extra="deep"), an_item("c")), opening, closing)
    page = ObjectDecoder(PODS, Item).decode_page(body)
    assert [item.metadata.name for item in page.items] == ["a", "c"]
    (undecodable,) = page.undecodable
    assert (undecodable.name, undecodable.uid) == ("b", "uid-b")
    assert "nested deeper than 500 levels" in undecodable.error


@DEEP
def test_A2_14_an_object_nested_too_deeply_does_not_end_a_watch(opening: bytes, closing: bytes) -> None:
    line = a_deep_body(a_line("ADDED", an_item("b", version="8", extra="deep")), opening, closing)
    event = ObjectDecoder(PODS, Item).decode_event(line)
    assert event is not None
    assert (event.object, event.resource_version) == (None, "8")
    assert event.undecodable is not None
    assert event.undecodable.name == "b"
