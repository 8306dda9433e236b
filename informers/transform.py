"""Making objects smaller before anything else sees them (informers.md 1.6.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Generic

import msgspec

from clockwork import StopToken
from informers.list_watch import ListOptions, ListWatch, Page, Undecodable, WatchEvent, WatchOptions, WatchStream
from informers.metadata import Object

Transform = Callable[[Object], Object]
"""Returns the object that is stored instead, with the same name, namespace, uid and resourceVersion."""


class TransformedListWatch(Generic[Object]):
    """A ListWatch whose objects have passed through `transform`, each exactly once.

    An object for which it raises, or whose identity it changes, counts as undecodable: it is not stored, and comes
    back only with its next event. Safe from any thread if `transform` is.
    """

    def __init__(self, inner: ListWatch[Object], transform: Transform[Object]) -> None:
        self._inner = inner
        self._transform = transform

    @property
    def name(self) -> str:
        """The inner source's name."""
        return self._inner.name

    def list(self, options: ListOptions, stop: StopToken) -> Page[Object]:
        """Return one page of transformed objects; raise ApiError."""
        page = self._inner.list(options, stop)
        items: list[Object] = []
        undecodable = list(page.undecodable)
        for item in page.items:
            outcome = self._apply(item)
            if isinstance(outcome, Undecodable):
                undecodable.append(outcome)
            else:
                items.append(outcome)
        return msgspec.structs.replace(page, items=tuple(items), undecodable=tuple(undecodable))

    def watch(self, options: WatchOptions, stop: StopToken) -> AbstractContextManager[WatchStream[Object]]:
        """Open a watch whose events carry transformed objects."""
        return self._watch(options, stop)

    @contextmanager
    def _watch(self, options: WatchOptions, stop: StopToken) -> Iterator[WatchStream[Object]]:
        with self._inner.watch(options, stop) as stream:
            yield _TransformedStream(stream, self._apply)

    def _apply(self, obj: Object) -> Object | Undecodable:
        try:
            transformed = self._transform(obj)
        except Exception as error:  # noqa: BLE001 - a user's function; counted and reported like a bad object
            return _undecodable(obj, f"the transform raised {error!r}")
        if _identity(transformed) != _identity(obj):
            return _undecodable(obj, f"the transform changed the identity to {_identity(transformed)}")
        return transformed


class _TransformedStream(Generic[Object]):
    def __init__(self, inner: WatchStream[Object], apply: Callable[[Object], Object | Undecodable]) -> None:
        self._inner = inner
        self._apply = apply

    def __iter__(self) -> Iterator[WatchEvent[Object]]:
        for event in self._inner:
            if event.object is None:
                yield event
                continue
            outcome = self._apply(event.object)
            if isinstance(outcome, Undecodable):
                yield msgspec.structs.replace(event, object=None, undecodable=outcome)
            else:
                yield msgspec.structs.replace(event, object=outcome)

    def stop(self) -> None:
        self._inner.stop()


def _identity(obj: Object) -> tuple[str | None, str | None, str | None, str | None]:
    metadata = obj.metadata
    return metadata.namespace, metadata.name, metadata.uid, metadata.resource_version


def _undecodable(obj: Object, error: str) -> Undecodable:
    namespace, name, uid, version = _identity(obj)
    return Undecodable(namespace or "", name or "", error, uid or "", version or "")
