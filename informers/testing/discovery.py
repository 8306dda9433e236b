"""What the fake API server answers outside of resources: version, health, and which resources there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from informers.resource import Resource
from informers.testing.rejection import Rejection


def answer_discovery(path: str, resources: Iterable[Resource]) -> dict[str, Any]:
    """Return the body for `path`; raise Rejection for a group version without resources and for unknown paths."""
    if path == "/version":
        return {"major": "1", "minor": "36", "gitVersion": "v1.36.0-fake"}
    if path in ("/livez", "/readyz", "/healthz"):
        return {}
    group_version = path.removeprefix("/apis/").removeprefix("/api/").strip("/")
    listed = [
        {"name": each.plural, "kind": each.kind, "namespaced": each.namespaced, "verbs": ["get", "list", "watch"]}
        for each in resources
        if each.api_version == group_version
    ]
    if not listed:
        raise Rejection(404, "NotFound", "the server could not find the requested resource")
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}
