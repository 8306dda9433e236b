"""Label and field selectors, as the query parameters of a list or watch spell them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from informers.testing.rejection import build_bad_request

Predicate = Callable[[Mapping[str, Any]], bool]

_SET = re.compile(r"^(?P<key>[^\s=!,()]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^)]*)\)$")
_EQUALITY = re.compile(r"^(?P<key>[^\s=!,()]+)\s*(?P<operator>==|=|!=)\s*(?P<value>[^\s=!,()]*)$")
_EXISTENCE = re.compile(r"^(?P<absent>!?)\s*(?P<key>[^\s=!,()]+)$")
_TERMS = re.compile(r",(?![^(]*\))")


def build_label_predicate(selector: str) -> Predicate:
    """Return whether an object's labels match `selector`; raise Rejection for one that cannot be read."""
    terms = [_label_term(term.strip()) for term in _TERMS.split(selector) if term.strip()]
    return lambda item: all(term((item.get("metadata") or {}).get("labels") or {}) for term in terms)


def _label_term(term: str) -> Predicate:
    if found := _SET.match(term):
        key, wanted = found["key"], {value.strip() for value in found["values"].split(",")}
        if found["operator"] == "in":
            return lambda labels: labels.get(key) in wanted
        return lambda labels: labels.get(key) not in wanted
    if found := _EQUALITY.match(term):
        key, value = found["key"], found["value"]
        if found["operator"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if found := _EXISTENCE.match(term):
        key, present = found["key"], not found["absent"]
        return lambda labels: (key in labels) is present
    raise build_bad_request(f"unable to parse requirement: {term!r}")


def build_field_predicate(selector: str) -> Predicate:
    """Return whether an object's fields match `selector`, by dotted path: `metadata.name=a,status.phase!=Failed`."""
    terms = [_field_term(term.strip()) for term in selector.split(",") if term.strip()]
    return lambda item: all(term(item) for term in terms)


def _field_term(term: str) -> Predicate:
    found = _EQUALITY.match(term)
    if found is None:
        raise build_bad_request(f"invalid field selector: {term!r}")
    path, value, equal = found["key"].split("."), found["value"], found["operator"] != "!="
    return lambda item: (_field(item, path) == value) is equal


def _field(item: Mapping[str, Any], path: list[str]) -> str:
    found: Any = item
    for part in path:
        found = found.get(part) if isinstance(found, Mapping) else None
    return "" if found is None else str(found)
