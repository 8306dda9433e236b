"""The schema of a pod template: reduced from Kubernetes' OpenAPI document, then expanded for a CRD.

The reduced copy is checked in (`pod_template.json`), so that generating needs no network and no Kubernetes sources.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

REDUCED = Path(__file__).parent / "pod_template.json"

_PREFIX = "#/definitions/"
_ROOT = "io.k8s.api.core.v1.PodSpec"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "int-or-string"
_KEPT = (
    "type",
    "format",
    "properties",
    "required",
    "items",
    "additionalProperties",
    "$ref",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)
_QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_KEY_DEFAULTS = {"protocol": "TCP", "name": ""}
"""What Kubernetes takes for a map-list's key that is not required; a CRD needs the default."""


def reduce_openapi(document: Path) -> Schema:
    """Return what a pod template needs of Kubernetes' `api/openapi-spec/swagger.json`, without descriptions."""
    definitions = json.loads(document.read_text())["definitions"]
    wanted, names = [_ROOT], set[str]()
    while wanted:
        name = wanted.pop()
        if name not in names:
            names.add(name)
            wanted.extend(reference.removeprefix(_PREFIX) for reference in _references(definitions[name]))
    return {name: _reduce(definitions[name]) for name in sorted(names)}


def pod_template_schema() -> Schema:
    """Return the structural schema of a pod template (B320-B322, api.md).

    `spec` keeps fields that are newer than the schema; of the metadata only what may reach pods, or is known to be
    written there, is kept.
    """
    definitions = json.loads(REDUCED.read_text())
    spec = _expand(definitions[_ROOT], definitions)
    spec["x-kubernetes-preserve-unknown-fields"] = True
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    metadata = {
        "type": "object",
        "properties": {
            "annotations": texts,
            "finalizers": {"type": "array", "items": {"type": "string"}},
            "labels": texts,
            "name": {"type": "string"},
            "namespace": {"type": "string"},
        },
    }
    return {"type": "object", "properties": {"metadata": metadata, "spec": spec}}


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref" and isinstance(inner, str):
                yield inner
            else:
                yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _reduce(schema: Schema) -> Schema:
    reduced = {key: value for key, value in schema.items() if key in _KEPT}
    if "properties" in reduced:
        reduced["properties"] = {name: _reduce(inner) for name, inner in reduced["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(reduced.get(key), dict):
            reduced[key] = _reduce(reduced[key])
    return reduced


def _expand(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Put every definition in the place of its reference, as a structural schema asks for."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_PREFIX)
        return _quantity() if name == _QUANTITY else _expand(definitions[name], definitions)
    if schema.get("format") == _INT_OR_STRING:
        return _int_or_string()
    expanded = dict(schema)
    if "properties" in schema:
        expanded["properties"] = {name: _expand(inner, definitions) for name, inner in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in schema:
            expanded[key] = _expand(schema[key], definitions)
    for key in expanded.get("x-kubernetes-list-map-keys", ()):
        item = expanded["items"]
        if key not in item.get("required", ()):
            item["properties"][key] = {**item["properties"][key], "default": _KEY_DEFAULTS[key]}
    return expanded


def _int_or_string() -> Schema:
    return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}


def _quantity() -> Schema:
    return {**_int_or_string(), "pattern": _QUANTITY_PATTERN}
