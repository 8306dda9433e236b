"""From the bytes of an API server to objects: pages of a list and lines of a watch (informers.md 1.2.4, 1.2.5, 3.6)."""

from __future__ import annotations

from typing import Any, Generic, cast

import msgspec
import structlog

from informers.errors import DecodeError, Status, from_status
from informers.list_watch import EventType, Page, Undecodable, WatchEvent
from informers.metadata import Object
from informers.nesting import cut_nesting
from informers.resource import Resource

_LOG = structlog.get_logger(__name__)
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_OBJECT_EVENTS = frozenset({"ADDED", "MODIFIED", "DELETED"})
# Invalid UTF-8 in a string comes out as the second.
_MALFORMED = (msgspec.DecodeError, UnicodeDecodeError)
# An API server stores what is nested up to 10,000 levels; the decoder gives up at about 1,000.
_MOST_LEVELS = 500
_CUT = b'"(nested too deeply)"'


class _ListMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    resource_version: str | None = None
    continue_: str | None = msgspec.field(default=None, name="continue")
    remaining_item_count: int | None = None


class _TypedPage(msgspec.Struct, Generic[Object], frozen=True, gc=False, rename="camel"):
    kind: str = ""
    metadata: _ListMeta = _ListMeta()
    items: tuple[Object, ...] | None = None


class _RawPage(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    kind: str = ""
    metadata: _ListMeta = _ListMeta()
    items: tuple[msgspec.Raw, ...] | None = None


class _TypedEvent(msgspec.Struct, Generic[Object], frozen=True, gc=False):
    type: EventType
    object: Object


class _RawEvent(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: msgspec.Raw


class _HeadMetadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Head(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    kind: str = ""
    api_version: str = ""
    metadata: _HeadMetadata = _HeadMetadata()


class ObjectDecoder(Generic[Object]):
    """Decodes the objects of one resource into `item_type`, a msgspec Struct that names the fields to keep.

    Promises: an object that does not fit the type is left out and told of, and never hides the others; an answer or a
    line that is not JSON, or not what was asked for, raises DecodeError. Each object is decoded once, without an
    intermediate dict. A `msgspec.Raw` field would keep the whole page in memory. Safe from any thread.
    """

    def __init__(self, resource: Resource, item_type: type[Object]) -> None:
        self._resource = resource
        self._item = msgspec.json.Decoder(item_type)
        # The types are made from a value, which a type checker cannot follow.
        self._typed_page = msgspec.json.Decoder(cast("type[_TypedPage[Object]]", _TypedPage[item_type]))  # type: ignore[valid-type]
        self._typed_event = msgspec.json.Decoder(cast("type[_TypedEvent[Object]]", _TypedEvent[item_type]))  # type: ignore[valid-type]
        self._usual_beginnings = tuple(
            f'{{"type":"{event}","object":{{{head},'.encode()
            for event in sorted(_OBJECT_EVENTS)
            for head in (
                f'"kind":"{resource.kind}","apiVersion":"{resource.api_version}"',
                f'"apiVersion":"{resource.api_version}","kind":"{resource.kind}"',
            )
        )

    def decode_page(self, body: bytes, *, action: str = "") -> Page[Object]:
        """Return the page in the body of an answer to a list."""
        try:
            page = self._typed_page.decode(body)
        except msgspec.ValidationError:
            return self._decode_page_one_by_one(body, action)
        except RecursionError:
            return self._decode_page_one_by_one(cut_nesting(body, _MOST_LEVELS, _CUT), action)
        except _MALFORMED as error:
            raise DecodeError(f"the page is not JSON: {error}", action=action) from error
        _check_list_kind(page.kind, action)
        return _build_page(page.metadata, page.items or (), ())

    def _decode_page_one_by_one(self, body: bytes, action: str) -> Page[Object]:
        try:
            page = _RAW_PAGE.decode(body)
        except _MALFORMED as error:
            raise DecodeError(f"the answer is not a list of objects: {error}", action=action) from error
        _check_list_kind(page.kind, action)
        items: list[Object] = []
        undecodable: list[Undecodable] = []
        for raw in page.items or ():
            decoded = self._decode_item(raw)
            if isinstance(decoded, Undecodable):
                undecodable.append(decoded)
            else:
                items.append(decoded)
        return _build_page(page.metadata, tuple(items), tuple(undecodable))

    def _decode_item(self, raw: msgspec.Raw) -> Object | Undecodable:
        if _CUT in bytes(raw):
            return _build_undecodable(raw, f"it is nested deeper than {_MOST_LEVELS} levels")
        try:
            return self._item.decode(raw)
        except _MALFORMED as error:
            return _build_undecodable(raw, str(error))

    def decode_event(self, line: bytes, *, action: str = "") -> WatchEvent[Object] | None:
        """Return the event in a line of a watch; None for one to skip: of an unknown type, of another kind, a Table.

        An ERROR event is raised as the error that its Status stands for.
        """
        # A server writes type, kind and apiVersion first; for such a line one pass tells all there is to know.
        if line.startswith(self._usual_beginnings):
            try:
                event = self._typed_event.decode(line)
            except (*_MALFORMED, RecursionError):
                pass
            else:
                if version := event.object.metadata.resource_version:
                    return WatchEvent(event.type, event.object, version)
        try:
            return self._decode_unusual_event(line, action)
        except RecursionError:
            return self._decode_unusual_event(cut_nesting(line, _MOST_LEVELS, _CUT), action)

    def _decode_unusual_event(self, line: bytes, action: str) -> WatchEvent[Object] | None:
        try:
            event = _RAW_EVENT.decode(line)
            if event.type == "ERROR":
                raise from_status(_STATUS.decode(event.object), action=action)
            head = _HEAD.decode(event.object)
        except _MALFORMED as error:
            raise DecodeError(f"a line of the watch is no event: {error}: {line[:200]!r}", action=action) from error
        is_ours = (head.kind, head.api_version) == (self._resource.kind, self._resource.api_version)
        if not is_ours or event.type not in {*_OBJECT_EVENTS, "BOOKMARK"}:
            _LOG.warning(
                "skipping a watch event that this client did not ask for",
                resource=self._resource.name,
                event_type=event.type,
                found=f"{head.api_version} {head.kind}",
                expected=f"{self._resource.api_version} {self._resource.kind}",
            )
            return None
        version = head.metadata.resource_version
        if not version:
            raise DecodeError(f"a {event.type} event has no metadata.resourceVersion: {line[:200]!r}", action=action)
        if event.type == "BOOKMARK":
            is_end = (head.metadata.annotations or {}).get(_INITIAL_EVENTS_END) == "true"
            return WatchEvent("BOOKMARK", None, version, initial_events_end=is_end)
        decoded = self._decode_item(event.object)
        kind = cast("EventType", event.type)
        if isinstance(decoded, Undecodable):
            return WatchEvent(kind, None, version, undecodable=decoded)
        return WatchEvent(kind, decoded, version)


def _build_page(metadata: _ListMeta, items: tuple[Object, ...], undecodable: tuple[Undecodable, ...]) -> Page[Object]:
    return Page(
        items, metadata.resource_version or "", metadata.continue_ or "", metadata.remaining_item_count, undecodable
    )


def _check_list_kind(kind: str, action: str) -> None:
    if not kind.endswith("List"):
        raise DecodeError(f"the answer to a list is of kind {kind!r}, expected one that ends in List", action=action)


def _build_undecodable(raw: msgspec.Raw, error: str) -> Undecodable:
    """Return what can be told of an object that may be of any shape."""
    try:
        found: Any = msgspec.json.decode(raw)
    except _MALFORMED:
        found = None
    metadata = found.get("metadata") if isinstance(found, dict) else None
    if not isinstance(metadata, dict):
        metadata = {}
    namespace, name, uid, version = (
        str(metadata.get(field) or "") for field in ("namespace", "name", "uid", "resourceVersion")
    )
    return Undecodable(namespace, name, error, uid, version)


_RAW_PAGE = msgspec.json.Decoder(_RawPage)
_RAW_EVENT = msgspec.json.Decoder(_RawEvent)
_HEAD = msgspec.json.Decoder(_Head)
_STATUS = msgspec.json.Decoder(Status)
