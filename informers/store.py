"""The objects of one informer, with their indices (informers.md 1.4)."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Mapping
from typing import Generic

from informers.index import Index, IndexFunction
from informers.metadata import Object
from informers.resource_version import compare


class Store(Generic[Object]):
    """Objects by key. What goes in and comes out is shared, so nobody changes it.

    Promises: every method is safe from any thread; each read is answered from one state; a list that is returned is
    the caller's own; `replace` is one step for readers; an update is never seen under its old and new index value at
    once. A read never calls the server. Not promised: that the store is as new as the server, or that two reads see
    the same state.

    Writers take turns on one lock and call index functions under it, before they take the readers' lock for the few
    dict operations of the write itself; an index function may therefore read a store but must not write to it.
    """

    def __init__(self, indexers: Mapping[str, IndexFunction[Object]] | None = None, *, name: str = "") -> None:
        self._name = name
        self._writing = threading.Lock()
        self._lock = threading.Lock()
        self._objects: dict[str, Object] = {}
        self._resource_version = ""
        self._indices: dict[str, Index[Object]] = {
            index_name: Index(index_name, function, store_name=name)
            for index_name, function in (indexers or {}).items()
        }

    def get(self, key: str) -> Object | None:
        """Return the object, or None."""
        with self._lock:
            return self._objects.get(key)

    def list(self) -> builtins.list[Object]:
        """Return all objects."""
        with self._lock:
            return list(self._objects.values())

    def keys(self) -> builtins.list[str]:
        """Return all keys."""
        with self._lock:
            return list(self._objects)

    def items(self) -> dict[str, Object]:
        """Return all objects by key."""
        with self._lock:
            return self._objects.copy()

    def __len__(self) -> int:
        return len(self._objects)

    def by_index(self, name: str, value: str) -> builtins.list[Object]:
        """Return the objects that have the value; raise KeyError for an unknown index."""
        with self._lock:
            return [self._objects[key] for key in self._index(name).keys(value)]

    def index_keys(self, name: str, value: str) -> builtins.list[str]:
        """Return the keys of the objects that have the value; raise KeyError for an unknown index."""
        with self._lock:
            return self._index(name).keys(value)

    def index_values(self, name: str) -> builtins.list[str]:
        """Return the values that any object has; raise KeyError for an unknown index."""
        with self._lock:
            return self._index(name).values()

    def _index(self, name: str) -> Index[Object]:
        index = self._indices.get(name)
        if index is None:
            raise KeyError(f"store {self._name!r} has no index {name!r}; it has {sorted(self._indices)}")
        return index

    @property
    def last_resource_version(self) -> str:
        """The version up to which the store has seen changes, "" before the first: what read-your-writes compares."""
        return self._resource_version

    @property
    def index_errors(self) -> int:
        """How many times an index function raised."""
        return sum(index.errors for index in self._indices.values())

    def add_index(self, name: str, function: IndexFunction[Object]) -> None:
        """Add an index over what is stored and what will be; raise ValueError when the name is taken."""
        with self._writing:
            if name in self._indices:
                raise ValueError(f"store {self._name!r} already has an index {name!r}; choose another name")
            index = Index(name, function, store_name=self._name).over(self._objects)
            with self._lock:
                self._indices = {**self._indices, name: index}

    def put(self, key: str, obj: Object, resource_version: str = "") -> Object | None:
        """Store the object and return what it takes the place of.

        `resource_version` is that of the event; an older one than was seen before, or none, leaves
        `last_resource_version` as it is.
        """
        with self._writing:
            values = [(index, index.values_of(key, obj)) for index in self._indices.values()]
            newest = self._newest(resource_version)
            with self._lock:
                old = self._objects.get(key)
                self._objects[key] = obj
                for index, index_values in values:
                    index.put(key, index_values)
                self._resource_version = newest
            return old

    def delete(self, key: str, resource_version: str = "") -> Object | None:
        """Remove the object and return it; `resource_version` as in `put`."""
        with self._writing:
            newest = self._newest(resource_version)
            with self._lock:
                old = self._objects.pop(key, None)
                if old is not None:
                    for index in self._indices.values():
                        index.remove(key)
                self._resource_version = newest
            return old

    def replace(self, objects: Mapping[str, Object], resource_version: str) -> dict[str, Object]:
        """Store exactly these objects, in one step, and return the former ones.

        `resource_version` is the list's, and is taken even when it is older than what was seen: a new list begins a
        new generation.
        """
        with self._writing:
            content = dict(objects)
            indices = {name: index.over(content) for name, index in self._indices.items()}
            with self._lock:
                former, self._objects = self._objects, content
                self._indices = indices
                self._resource_version = resource_version
            return former

    def observe(self, resource_version: str) -> None:
        """Note that everything up to this version has been seen: what a bookmark says."""
        with self._writing:
            newest = self._newest(resource_version)
            with self._lock:
                self._resource_version = newest

    def _newest(self, resource_version: str) -> str:
        seen = self._resource_version
        # Versions without an order are taken as they come: the stream's order is all there is.
        if not resource_version or compare(resource_version, seen) == -1:
            return seen
        return resource_version
