"""The verbs of an API server with typed answers, for controllers that write (informers.md 3.6 row 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from clockwork import StopToken
from informers.api import JSON, MERGE_PATCH, Answer, Api
from informers.errors import DecodeError
from informers.list_watch import ListOptions, Page
from informers.metadata import Object
from informers.resource import Resource
from informers.resource_list_watch import ResourceListWatch

Body = Mapping[str, Any] | msgspec.Struct
Patch = Body | Sequence[Mapping[str, Any]]
PropagationPolicy = Literal["Background", "Foreground", "Orphan"]

_Answer = TypeVar("_Answer")


class Preconditions(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What must hold for a delete to happen; an empty field is not checked."""

    uid: str = ""
    resource_version: str = ""


class Client:
    """Reads and writes single objects of any resource. Keeps nothing; safe from any thread.

    Answers are decoded into the type that the caller names, `dict` included. Bodies are dicts or Structs, and are not
    changed. Every method raises `informers.errors.ApiError`, whose text names the verb, the kind and
    `namespace/name`; an answer that does not fit the type raises DecodeError, after the write has happened.

    A Struct drops the fields it does not know, so a read, change and `replace()` of one loses them: patch instead,
    unless the type is complete.
    """

    def __init__(self, api: Api, *, timeout: float | None = None, stop: StopToken | None = None) -> None:
        self._api = api
        self._timeout = timeout
        self._stop = stop

    def get(self, resource: Resource, namespace: str, name: str, answer_type: type[_Answer]) -> _Answer:
        """Return the object as the server has it now."""
        action = _describe("get", resource, namespace, name)
        path = resource.path(namespace=namespace, name=name)
        return _decode(self._send("GET", path, action), answer_type, action)

    def list(
        self,
        resource: Resource,
        item_type: type[Object],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        options: ListOptions = ListOptions(),  # noqa: B008 - frozen
    ) -> Page[Object]:
        """Return one page, of all objects unless `options` have a limit."""
        source = ResourceListWatch(
            self._api,
            resource,
            item_type,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
        )
        return source.list(options, self._stop or StopToken())

    def create(self, resource: Resource, namespace: str, body: Body, answer_type: type[_Answer]) -> _Answer:
        """Create an object and return it as stored."""
        action = _describe("create", resource, namespace, _name_of(body))
        return _decode(self._send("POST", resource.path(namespace=namespace), action, body), answer_type, action)

    def replace(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: Body,
        answer_type: type[_Answer],
        *,
        subresource: str = "",
    ) -> _Answer:
        """Put `body` in the place of the object; Conflict if its resourceVersion is not the present one."""
        action = _describe("replace", resource, namespace, name, subresource)
        path = resource.path(namespace=namespace, name=name, subresource=subresource)
        return _decode(self._send("PUT", path, action, body), answer_type, action)

    def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: Patch,
        answer_type: type[_Answer],
        *,
        subresource: str = "",
        content_type: str = MERGE_PATCH,
    ) -> _Answer:
        """Change the object; a `metadata.resourceVersion` or `uid` in a merge patch is a precondition."""
        action = _describe("patch", resource, namespace, name, subresource)
        path = resource.path(namespace=namespace, name=name, subresource=subresource)
        answer = self._send("PATCH", path, action, body, content_type=content_type)
        return _decode(answer, answer_type, action)

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        preconditions: Preconditions | None = None,
        propagation_policy: PropagationPolicy = "Background",
        grace_period_seconds: int | None = None,
    ) -> None:
        """Delete the object, or begin to; NotFound if it is gone, Conflict if a precondition does not hold."""
        options: dict[str, Any] = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": propagation_policy,
            "preconditions": preconditions,
            "gracePeriodSeconds": grace_period_seconds,
        }
        options = {option: value for option, value in options.items() if value is not None}
        action = _describe("delete", resource, namespace, name)
        self._send("DELETE", resource.path(namespace=namespace, name=name), action, options)

    def _send(self, method: str, path: str, action: str, body: Patch | None = None, content_type: str = JSON) -> Answer:
        return self._api.request(
            method,
            path,
            body=None if body is None else msgspec.json.encode(body),
            content_type=content_type,
            timeout=self._timeout,
            action=action,
            stop=self._stop,
        )


def _decode(answer: Answer, answer_type: type[_Answer], action: str) -> _Answer:
    try:
        return msgspec.json.decode(answer.body, type=answer_type)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DecodeError(f"the answer does not fit {answer_type.__name__}: {error}", action=action) from error


def _describe(verb: str, resource: Resource, namespace: str, name: str, subresource: str = "") -> str:
    what = f"{subresource} of {resource.name}" if subresource else resource.name
    return f"{verb} {what} {namespace}/{name}" if namespace else f"{verb} {what} {name}"


def _name_of(body: Body) -> str:
    metadata = body.get("metadata") if isinstance(body, Mapping) else getattr(body, "metadata", None)
    if isinstance(metadata, Mapping):
        return str(metadata.get("name") or metadata.get("generateName") or "")
    return str(getattr(metadata, "name", "") or "")
