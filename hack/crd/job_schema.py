"""The schema of an MPIJob: its shape from the operator's own types, its words and limits from the table of fields."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from hack.crd.fields import DESCRIPTIONS, EXTRA_PROPERTIES, FIELDS
from hack.crd.pod_schema import Schema, pod_template_schema
from mpi_operator.api.types import MPIJob, MPIJobStatus, ReplicaSpec, ReplicaStatus, SchedulingPolicy

_SCALARS: dict[object, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int32"},
    datetime: {"type": "string", "format": "date-time"},
}


def job_schema() -> Schema:
    """Return the structural schema of an MPIJob. Every field of the types must have an entry in the table."""
    schema = _struct(MPIJob)
    schema["x-kubernetes-validations"] = FIELDS["MPIJob"][""]["x-kubernetes-validations"]
    return schema


def _struct(struct: type[msgspec.Struct]) -> Schema:
    properties: Schema = {}
    hints = typing.get_type_hints(struct)
    for field in msgspec.structs.fields(struct):
        properties[field.encode_name] = _field(struct, field.encode_name, hints[field.name])
    properties |= EXTRA_PROPERTIES.get(struct.__name__, {})
    schema: Schema = {"description": DESCRIPTIONS[struct.__name__], "type": "object", "properties": properties}
    required = [name for name in properties if FIELDS[struct.__name__].get(name, {}).get("required")]
    return {**schema, "required": required} if required else schema


def _field(struct: type[msgspec.Struct], name: str, hint: object) -> Schema:
    limits = {key: value for key, value in FIELDS[struct.__name__][name].items() if key != "required"}
    shape: Schema
    if (struct, name) == (MPIJob, "metadata"):
        shape = {"type": "object"}
    elif (struct, name) == (ReplicaSpec, "template"):
        shape = pod_template_schema()
    elif (struct, name) == (SchedulingPolicy, "minResources"):
        shape = _resource_list()
    elif (struct, name) == (MPIJobStatus, "replicaStatuses"):
        shape = {"type": "object", "additionalProperties": _struct(ReplicaStatus)}
    else:
        shape = _shape(hint)
    return {**shape, **limits}


def _shape(hint: Any) -> Schema:  # noqa: ANN401 - a type hint is any object
    """Return the schema of a type: scalars, structs, tuples of one type, maps; optional ones like their content."""
    origin = typing.get_origin(hint)
    if origin in {types.UnionType, typing.Union}:
        [inner] = [choice for choice in typing.get_args(hint) if choice is not type(None)]
        return _shape(inner)
    if origin is tuple:
        return {"type": "array", "items": _shape(typing.get_args(hint)[0])}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _shape(typing.get_args(hint)[1])}
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _struct(hint)
    return dict(_SCALARS[hint])


def _resource_list() -> Schema:
    template = pod_template_schema()["properties"]["spec"]["properties"]["containers"]["items"]["properties"]
    limits: Schema = template["resources"]["properties"]["limits"]
    return limits
