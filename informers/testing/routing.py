"""From a request line to the resource and the verb that it means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from informers.resource import Resource
from informers.testing.rejection import Rejection, build_bad_request

_VERBS = {"POST": "create", "PUT": "replace", "PATCH": "patch"}


class Route(msgspec.Struct, frozen=True):
    """What a request addresses, and what it wants with it."""

    verb: str
    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def build_route(method: str, path: str, query: Mapping[str, str], resources: Iterable[Resource]) -> Route:
    """Return the route of a request, with its resource if that is known, else one made up from the path.

    Raises Rejection for a path outside of /api and /apis.
    """
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) > 2:  # noqa: PLR2004 - /api/v1/pods
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:  # noqa: PLR2004 - /apis/batch/v1/jobs
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise Rejection(404, "NotFound", "the server could not find the requested resource")
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):  # noqa: PLR2004 - as above
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource, *_ = [*rest, "", ""]
    resource = _find_resource(resources, group, version, plural) or Resource(
        group, version, plural, _guess_kind(plural), namespaced=bool(namespace)
    )
    return Route(_verb(method, name, query), resource, namespace, name, subresource)


def _find_resource(resources: Iterable[Resource], group: str, version: str, plural: str) -> Resource | None:
    wanted = (group, version, plural)
    return next((known for known in resources if (known.group, known.version, known.plural) == wanted), None)


def _guess_kind(plural: str) -> str:
    singular = f"{plural[:-3]}y" if plural.endswith("ies") else plural.removesuffix("s")
    return singular.capitalize()


def _verb(method: str, name: str, query: Mapping[str, str]) -> str:
    if method == "GET":
        if query.get("watch") in ("1", "true"):
            return "watch"
        return "get" if name else "list"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    if method not in _VERBS:
        raise build_bad_request(f"method {method} is not supported")
    return _VERBS[method]
