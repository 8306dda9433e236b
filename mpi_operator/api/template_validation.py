"""What is wrong with a replica's pod template, as far as the operator cares; the API server judges the rest."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from mpi_operator.api.pod_template import PodTemplate, read_template
from mpi_operator.api.violation import Violation, invalid, required
from mpi_operator.names import RESERVED_VOLUMES

_RESERVED = "is reserved by the operator"


def validate_template(field: str, template: Mapping[str, Any], *, mount_paths: Iterable[str]) -> Iterator[Violation]:
    """Yield the violations of one template; `mount_paths` are where the operator mounts into its main container.

    Total: fields that are read and have a wrong JSON type are a violation too (B027, B044).
    """
    try:
        view = read_template(template)
    except msgspec.ValidationError as error:
        yield invalid(field, None, f"must be a pod template: {error}")
        return
    if not view.spec.containers:
        yield required(f"{field}.spec.containers", "must define at least one container")
    for index, volume in enumerate(view.spec.volumes or ()):
        if volume.name in RESERVED_VOLUMES:
            yield invalid(f"{field}.spec.volumes[{index}].name", volume.name, _RESERVED)
    yield from _validate_mounts(field, view, {normal_path(path) for path in mount_paths if path})


def normal_path(path: str) -> str:
    """Return the path without doubled, trailing or relative parts (A1.24)."""
    return "/" + posixpath.normpath(path).lstrip("/")


def _validate_mounts(field: str, view: PodTemplate, reserved: set[str]) -> Iterator[Violation]:
    if not view.spec.containers:
        return
    index = view.main_container_index
    for position, mount in enumerate(view.spec.containers[index].volume_mounts or ()):
        if mount.mount_path and normal_path(mount.mount_path) in reserved:
            where = f"{field}.spec.containers[{index}].volumeMounts[{position}].mountPath"
            yield invalid(where, mount.mount_path, _RESERVED)
