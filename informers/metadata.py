"""What is read of any object: its metadata, and the key under which it is stored (informers.md 0.5)."""

from __future__ import annotations

from typing import Protocol, TypeVar


class Metadata(Protocol):
    """The part of an object's metadata that is read here; None and "" both mean absent."""

    @property
    def name(self) -> str | None:
        """The object's name."""
        ...

    @property
    def namespace(self) -> str | None:
        """The object's namespace, absent for a cluster-scoped one."""
        ...

    @property
    def uid(self) -> str | None:
        """What tells two incarnations of one name apart."""
        ...

    @property
    def resource_version(self) -> str | None:
        """The version of this state of the object."""
        ...


class KubernetesObject(Protocol):
    """Any decoded object: it has metadata, and nobody changes it."""

    @property
    def metadata(self) -> Metadata:
        """The object's metadata."""
        ...


Object = TypeVar("Object", bound=KubernetesObject)


def build_key(namespace: str | None, name: str | None) -> str:
    """Return `namespace/name`, or the bare name of a cluster-scoped object; raise ValueError without a name."""
    if not name:
        raise ValueError(f"an object in namespace {namespace!r} has no metadata.name, so it cannot be stored")
    return f"{namespace}/{name}" if namespace else name


def key_of(obj: KubernetesObject) -> str:
    """Return the store key of an object. The UID is not part of it. Raises ValueError for an object without a name."""
    metadata = obj.metadata
    return build_key(metadata.namespace, metadata.name)


def split_key(key: str) -> tuple[str, str]:
    """Return namespace ("" for a cluster-scoped object) and name; raise ValueError for what is no key."""
    namespace, slash, name = key.rpartition("/")
    if not name or "/" in namespace or (slash and not namespace):
        raise ValueError(f"{key!r} is no key: expected `namespace/name` or `name`")
    return namespace, name
