"""Small typed objects, and the JSON that a server would send of them."""

from __future__ import annotations

from typing import Any

import msgspec

from informers.resource import Resource

PODS = Resource("", "v1", "pods", "Pod")
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)


class ItemMetadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The metadata that tests read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None


class ItemSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One field of a known type."""

    node_name: str = ""


class Item(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An object of any kind."""

    metadata: ItemMetadata
    spec: ItemSpec = ItemSpec()


def an_item(name: str = "a", *, version: str = "7", resource: Resource = PODS, **fields: Any) -> dict[str, Any]:
    """Return an object as JSON data."""
    metadata = {"name": name, "namespace": "team", "uid": f"uid-{name}", "resourceVersion": version}
    return {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata, **fields}


def a_page(*items: Any, **metadata: Any) -> bytes:
    """Return the body of an answer to a list."""
    return msgspec.json.encode(
        {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "9", **metadata}, "items": list(items)}
    )


def a_line(kind: str, item: Any) -> bytes:
    """Return a line of a watch."""
    return msgspec.json.encode({"type": kind, "object": item})
