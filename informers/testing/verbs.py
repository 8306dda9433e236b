"""The verbs of the fake API server that answer once: what each reads or writes, and what it refuses."""

from __future__ import annotations

import base64
import itertools
import uuid
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from clockwork import Clock
from informers.api import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from informers.resource import Resource
from informers.testing.history import History, JsonObject, Key
from informers.testing.patching import apply_json_patch, apply_merge_patch, apply_strategic_merge_patch
from informers.testing.rejection import (
    Rejection,
    build_bad_request,
    build_conflict,
    build_invalid,
    build_not_found,
)
from informers.testing.routing import Route
from informers.testing.selectors import build_field_predicate, build_label_predicate

Query = Mapping[str, str]
Body = dict[str, Any]


class ContinueToken(msgspec.Struct, frozen=True):
    """Where the next page begins: after which key, at which version, and which page it is."""

    version: int
    after: Key
    page: int

    def text(self) -> str:
        """Return the token as clients see it."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode()


def read_continue_token(text: str) -> ContinueToken:
    """Return the token of a query; raise Rejection for one that this server did not make."""
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text), type=ContinueToken)
    except (ValueError, msgspec.MsgspecError) as error:
        raise build_bad_request(f"continue key is not valid: {error}") from error


def build_predicate(route: Route, query: Query) -> Callable[[JsonObject], bool]:
    """Return which objects a list or watch is about: by namespace, labels and fields."""
    by_label = build_label_predicate(query.get("labelSelector", ""))
    by_field = build_field_predicate(query.get("fieldSelector", ""))
    namespace = route.namespace

    def is_selected(item: JsonObject) -> bool:
        in_namespace = not namespace or item["metadata"].get("namespace") == namespace
        return in_namespace and by_label(item) and by_field(item)

    return is_selected


class Verbs:
    """Reads and writes of a History, in the manner of an API server. Safe from any thread."""

    def __init__(self, history: History, clock: Clock, *, watch_cache: bool) -> None:
        self._history = history
        self._clock = clock
        self._watch_cache = watch_cache
        # Counted, not drawn: two creates of one test never get the same name.
        self._suffixes = itertools.count(1)

    def answer(self, route: Route, query: Query, content_type: str, raw: bytes) -> tuple[int, Body]:
        """Return code and body of the answer; raise Rejection."""
        body = _decode_body(raw)
        if route.verb in ("create", "replace", "patch") and body is None:
            raise build_bad_request("the request has no body")
        if route.subresource not in ("", "status"):
            raise Rejection(HTTPStatus.NOT_FOUND, "NotFound", f"no subresource {route.subresource!r} here")
        if route.verb == "create":
            return HTTPStatus.CREATED, self.create(route.resource, route.namespace, _mapping(body))
        return HTTPStatus.OK, self._answer_ok(route, query, content_type, body)

    def _answer_ok(self, route: Route, query: Query, content_type: str, body: Any) -> Body:  # noqa: ANN401 - JSON
        match route.verb:
            case "get":
                return self.get(route)
            case "list":
                return self.list(route, query)
            case "replace":
                return self.replace(route, _mapping(body))
            case "patch":
                return self.patch(route, content_type, body)
            case "delete":
                return self.delete(route, _mapping(body or {}))
            case _:
                return self._delete_collection(route, query)

    def get(self, route: Route) -> Body:
        """Return one object."""
        found = self._history.get(route.resource, (route.namespace, route.name))
        if found is None:
            raise build_not_found(route.resource.name, route.name)
        return found

    def list(self, route: Route, query: Query) -> Body:
        """Return a page: what is selected at one version, after the continue token, up to the limit."""
        token, version, objects = self._state(route.resource, query)
        is_selected = build_predicate(route, query)
        selected = [
            (key, item) for key, item in objects.items() if is_selected(item) and (token is None or key > token.after)
        ]
        limit = int(query.get("limit") or "0")
        if self._watch_cache and query.get("resourceVersion") == "0":
            # The watch cache answers from memory and whole, whatever the limit.
            limit = 0
        metadata: Body = {"resourceVersion": str(version)}
        if limit and len(selected) > limit:
            page = token.page if token else 1
            metadata["continue"] = ContinueToken(version, selected[limit - 1][0], page + 1).text()
            if not query.get("labelSelector") and not query.get("fieldSelector"):
                metadata["remainingItemCount"] = len(selected) - limit
            selected = selected[:limit]
        return {
            "kind": f"{route.resource.kind}List",
            "apiVersion": route.resource.api_version,
            "metadata": metadata,
            "items": [item for _, item in selected],
        }

    def _state(self, resource: Resource, query: Query) -> tuple[ContinueToken | None, int, dict[Key, JsonObject]]:
        asked, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
        if text := query.get("continue"):
            if asked not in ("", "0") or match:
                raise build_bad_request("specifying resource version is not allowed when using continue")
            token = read_continue_token(text)
            return token, token.version, self._history.read_at(resource, token.version)
        if match and not asked:
            raise build_invalid("resourceVersionMatch is forbidden unless resourceVersion is provided")
        if match == "Exact":
            version = _read_version(asked)
            return None, version, self._history.read_at(resource, version)
        self._history.check_reached(_read_version(asked))
        return None, *self._history.read(resource)

    def create(self, resource: Resource, namespace: str, body: Body) -> Body:
        """Store a new object with uid, times and version; `metadata.generateName` makes up a name."""
        metadata = dict(body.get("metadata") or {})
        name = metadata.get("name") or ""
        if not name and metadata.get("generateName"):
            name = f"{metadata['generateName']}{next(self._suffixes):05d}"
        if not name:
            raise build_invalid(f"{resource.kind} is invalid: metadata.name: Required value")
        if resource.namespaced and metadata.get("namespace", namespace) != namespace:
            raise build_bad_request("the namespace of the object does not match the namespace of the request")
        if metadata.get("resourceVersion"):
            raise build_bad_request("resourceVersion should not be set on objects to be created")
        metadata |= {
            "name": name,
            "uid": str(uuid.uuid4()),
            "generation": 1,
            "creationTimestamp": self._now(),
        } | ({"namespace": namespace} if resource.namespaced else {})
        created = {"apiVersion": resource.api_version, "kind": resource.kind, **body, "metadata": metadata}
        created.pop("status", None)

        def put(old: JsonObject | None) -> JsonObject:
            if old is not None:
                raise Rejection(HTTPStatus.CONFLICT, "AlreadyExists", f'{resource.name} "{name}" already exists')
            return created

        return self._history.write(resource, (namespace, name), put)

    def replace(self, route: Route, body: Body) -> Body:
        """Store `body` in the place of the object, or its status in the place of the object's."""
        return self._update(route, lambda _: body)

    def patch(self, route: Route, content_type: str, body: Any) -> Body:  # noqa: ANN401 - a JSON patch is a list
        """Apply a merge, strategic merge or JSON patch."""
        patches: dict[str, Callable[[JsonObject, Any], JsonObject]] = {
            MERGE_PATCH: apply_merge_patch,
            STRATEGIC_MERGE_PATCH: apply_strategic_merge_patch,
            JSON_PATCH: apply_json_patch,
        }
        apply = patches.get(content_type)
        if apply is None:
            raise Rejection(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", f"no patch of {content_type!r}")
        return self._update(route, lambda old: apply(old, body), is_patch=True)

    def _update(self, route: Route, change: Callable[[JsonObject], JsonObject], *, is_patch: bool = False) -> Body:
        def put(old: JsonObject | None) -> JsonObject | None:
            if old is None:
                raise build_not_found(route.resource.name, route.name)
            new = change(old)
            _check_preconditions(route, old, new.get("metadata") or {}, is_required=not is_patch)
            return _build_updated(route, old, new)

        return self._history.write(route.resource, (route.namespace, route.name), put)

    def delete(self, route: Route, options: Body) -> Body:
        """Remove the object, or mark it as being deleted while it has finalizers."""

        def remove(old: JsonObject | None) -> JsonObject | None:
            if old is None:
                raise build_not_found(route.resource.name, route.name)
            _check_preconditions(route, old, options.get("preconditions") or {}, is_required=False)
            metadata = old["metadata"]
            if not metadata.get("finalizers"):
                return None
            return {**old, "metadata": {"deletionTimestamp": self._now(), **metadata}}

        removed = self._history.write(route.resource, (route.namespace, route.name), remove)
        if removed["metadata"].get("finalizers"):
            return removed
        details = {"name": route.name, "kind": route.resource.plural, "uid": removed["metadata"].get("uid", "")}
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}

    def _delete_collection(self, route: Route, query: Query) -> Body:
        items = self.list(route, {key: value for key, value in query.items() if key.endswith("Selector")})["items"]
        for item in items:
            metadata = item["metadata"]
            self.delete(
                msgspec.structs.replace(route, namespace=metadata.get("namespace", ""), name=metadata["name"]), {}
            )
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}

    def _now(self) -> str:
        return self._clock.wall().strftime("%Y-%m-%dT%H:%M:%SZ")


def _decode_body(raw: bytes) -> Any:  # noqa: ANN401 - any JSON value
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except msgspec.MsgspecError as error:
        raise build_bad_request(f"the body is not JSON: {error}") from error


def _mapping(body: Any) -> Body:  # noqa: ANN401 - any JSON value
    if not isinstance(body, dict):
        raise build_bad_request("the body is not an object")
    return body


def _read_version(text: str) -> int:
    if not text:
        return 0
    if not text.isdecimal():
        raise build_invalid(f"resourceVersion: Invalid value: {text!r}")
    return int(text)


def _check_preconditions(route: Route, old: JsonObject, asked: Body, *, is_required: bool) -> None:
    found = old["metadata"]
    what = f'{route.resource.name} "{route.name}"'
    if asked.get("uid") and asked["uid"] != found.get("uid"):
        raise build_conflict(f"Precondition failed: UID in precondition: {asked['uid']}, of {what}: {found.get('uid')}")
    version = asked.get("resourceVersion")
    if version and version != found["resourceVersion"]:
        raise build_conflict(f"Operation cannot be fulfilled on {what}: the object has been modified")
    if is_required and asked.get("name", route.name) != route.name:
        raise build_bad_request("the name of the object does not match the name on the URL")


def _build_updated(route: Route, old: JsonObject, new: JsonObject) -> JsonObject | None:
    """Return what an update stores; None when it takes the last finalizer from an object that is being deleted."""
    if route.subresource == "status":
        return {**old, "status": new["status"]} if "status" in new else {k: v for k, v in old.items() if k != "status"}
    metadata = {**(new.get("metadata") or {})}
    for name in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "generation"):
        if name in old["metadata"]:
            metadata[name] = old["metadata"][name]
        else:
            metadata.pop(name, None)
    if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
        return None
    updated = {**new, "apiVersion": old["apiVersion"], "kind": old["kind"], "metadata": metadata}
    updated.pop("status", None)
    if "status" in old:
        updated["status"] = old["status"]
    if _desired(updated) != _desired(old):
        metadata["generation"] = metadata.get("generation", 1) + 1
    return updated


def _desired(item: JsonObject) -> Body:
    return {key: value for key, value in item.items() if key not in ("metadata", "status")}
