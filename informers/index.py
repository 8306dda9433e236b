"""One index of a store: the keys of the objects that have a value (informers.md 1.4.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic

import structlog

from informers.metadata import Object

IndexFunction = Callable[[Object], Iterable[str]]
"""Returns an object's values: none, one or many. Pure; may be called again for the same object at any time."""

_LOG = structlog.get_logger(__name__)


class Index(Generic[Object]):
    """Values to keys and keys to values; a value without keys is not kept.

    `values_of` and `over` call the user's function and touch nothing that readers see; `put` and `remove` do not.
    Not safe by itself: the store calls `values_of` under its writers' lock and the rest under its readers' lock.
    """

    def __init__(self, name: str, function: IndexFunction[Object], *, store_name: str = "") -> None:
        self.name = name
        self.errors = 0
        self._function = function
        self._store_name = store_name
        self._keys_by_value: dict[str, dict[str, None]] = {}
        self._values_by_key: dict[str, tuple[str, ...]] = {}
        self._reported: set[str] = set()

    def values_of(self, key: str, obj: Object) -> tuple[str, ...]:
        """Return the object's distinct values; none when the function raises: counted, and logged once a key."""
        try:
            values = tuple(dict.fromkeys(self._function(obj)))
        except Exception:  # noqa: BLE001 - a user's function; logged with its traceback
            self.errors += 1
            if key not in self._reported:
                self._reported.add(key)
                _LOG.exception(
                    "an index function failed; the object is stored but not found through this index",
                    informer=self._store_name,
                    index=self.name,
                    key=key,
                )
            return ()
        self._reported.discard(key)
        return values

    def put(self, key: str, values: tuple[str, ...]) -> None:
        """Move the key to exactly these values."""
        old = self._values_by_key.get(key, ())
        if old == values:
            return
        for value in old:
            if value not in values:
                self._take_out(key, value)
        for value in values:
            self._keys_by_value.setdefault(value, {})[key] = None
        if values:
            self._values_by_key[key] = values
        else:
            self._values_by_key.pop(key, None)

    def remove(self, key: str) -> None:
        """Forget the key."""
        for value in self._values_by_key.pop(key, ()):
            self._take_out(key, value)
        self._reported.discard(key)

    def _take_out(self, key: str, value: str) -> None:
        keys = self._keys_by_value[value]
        del keys[key]
        if not keys:
            del self._keys_by_value[value]

    def over(self, objects: Mapping[str, Object]) -> Index[Object]:
        """Return a new index, of the same name, function and count of errors, over exactly these objects."""
        index = Index(self.name, self._function, store_name=self._store_name)
        index.errors = self.errors
        index._reported = self._reported & objects.keys()
        for key, obj in objects.items():
            index.put(key, index.values_of(key, obj))
        return index

    def keys(self, value: str) -> list[str]:
        """Return the keys of the objects that have the value."""
        return list(self._keys_by_value.get(value, ()))

    def values(self) -> list[str]:
        """Return every value that some object has."""
        return list(self._keys_by_value)
