"""A typed view of those fields of a raw pod template that the operator reads.

The template itself stays raw data and is what pods are built from; the view decides. Absent and null are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mpi_operator.names import ANNOTATION_DEFAULT_CONTAINER


class _View(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the views: fields of the template that are not read are not looked at."""


class SecurityContext(_View, frozen=True, kw_only=True, rename="camel"):
    """As whom a pod or a container runs."""

    run_as_user: int | None = None
    run_as_non_root: bool | None = None


class VolumeMount(_View, frozen=True, kw_only=True, rename="camel"):
    """Where a container sees a volume."""

    mount_path: str | None = None


class EnvironmentVariable(_View, frozen=True, kw_only=True, rename="camel"):
    """A variable of a container, by name."""

    name: str | None = None


class ResourceRequirements(_View, frozen=True, kw_only=True, rename="camel"):
    """What a container asks for; quantities are not read."""

    limits: Mapping[str, Any] | None = None
    requests: Mapping[str, Any] | None = None
    claims: tuple[Any, ...] | None = None


class Container(_View, frozen=True, kw_only=True, rename="camel"):
    """One container."""

    name: str | None = None
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[EnvironmentVariable, ...] | None = None
    volume_mounts: tuple[VolumeMount, ...] | None = None
    resources: ResourceRequirements | None = None
    security_context: SecurityContext | None = None


class Volume(_View, frozen=True, kw_only=True, rename="camel"):
    """A volume, by name."""

    name: str | None = None


class DNSConfig(_View, frozen=True, kw_only=True, rename="camel"):
    """The resolver settings that the user gave."""

    searches: tuple[str, ...] | None = None


class PodSpec(_View, frozen=True, kw_only=True, rename="camel"):
    """The pod's spec."""

    containers: tuple[Container, ...] | None = None
    volumes: tuple[Volume, ...] | None = None
    security_context: SecurityContext | None = None
    host_network: bool | None = None
    dns_config: DNSConfig | None = None
    restart_policy: str | None = None


class TemplateMetadata(_View, frozen=True, kw_only=True, rename="camel"):
    """The labels and annotations that reach the pods; nothing else of the metadata does (B083)."""

    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None


class PodTemplate(_View, frozen=True, kw_only=True, rename="camel"):
    """The whole view."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: PodSpec = PodSpec()

    @property
    def main_container_index(self) -> int:
        """The container that runs MPI: the one that the default-container annotation names, else the first (A1.23)."""
        wanted = (self.metadata.annotations or {}).get(ANNOTATION_DEFAULT_CONTAINER)
        names = [container.name for container in self.spec.containers or ()]
        return names.index(wanted) if wanted in names else 0


def read_template(template: Mapping[str, Any]) -> PodTemplate:
    """Return the view of a raw template.

    Raises `msgspec.ValidationError`, naming the path, where a field that is read has a wrong JSON type. A template
    that passed validation never does.
    """
    present = {key: value for key, value in template.items() if value is not None}
    return msgspec.convert(present, PodTemplate)
