"""What the patch types make of an object; inputs are never changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from informers.testing.rejection import build_bad_request, build_invalid

JsonObject = dict[str, Any]

_MERGE_KEYS = {
    "ownerReferences": "uid",
    "conditions": "type",
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
}


def apply_merge_patch(target: Any, patch: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return `target` merged with `patch` (RFC 7386): null removes, objects merge, all else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = apply_merge_patch(merged.get(key), value)
    return merged


def apply_strategic_merge_patch(target: Any, patch: Any, field: str = "") -> Any:  # noqa: ANN401 - any JSON value
    """Return `target` merged with `patch`; the lists of well-known fields merge by their key.

    Of the directives only `$patch: delete` on a list's item and `finalizers` as a set are known.
    """
    if isinstance(patch, Mapping):
        merged = dict(target) if isinstance(target, Mapping) else {}
        for key, value in patch.items():
            if value is None:
                merged.pop(key, None)
            else:
                merged[key] = apply_strategic_merge_patch(merged.get(key), value, key)
        return merged
    if isinstance(patch, list) and field == "finalizers":
        return [*(target or []), *(item for item in patch if item not in (target or []))]
    if isinstance(patch, list) and field in _MERGE_KEYS:
        return _merge_lists(list(target or []), patch, _MERGE_KEYS[field])
    return patch


def _merge_lists(target: list[Any], patch: Sequence[Any], key: str) -> list[Any]:
    merged = {item.get(key): item for item in target}
    for item in patch:
        if item.get("$patch") == "delete":
            merged.pop(item.get(key), None)
        else:
            merged[item.get(key)] = apply_strategic_merge_patch(merged.get(item.get(key)), item)
    return list(merged.values())


def apply_json_patch(target: JsonObject, operations: Any) -> JsonObject:  # noqa: ANN401 - checked here
    """Return `target` after `operations` (RFC 6902); raise Rejection when one does not apply."""
    if not isinstance(operations, list):
        raise build_bad_request("a JSON patch is a list of operations")
    result: Any = target
    for operation in operations:
        result = _apply_operation(result, operation)
    if not isinstance(result, dict):
        raise build_invalid("a JSON patch must leave an object")
    return result


def _apply_operation(target: Any, operation: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    name, path = operation.get("op"), _pointer(operation.get("path", ""))
    if name == "test":
        if _value_at(target, path) != operation.get("value"):
            raise build_invalid(f"the test of {operation.get('path')!r} failed")
        return target
    if name == "remove":
        return _changed(target, path, _remove)
    if name in ("add", "replace"):
        value = operation.get("value")
        if name == "replace":
            _value_at(target, path)
        return _changed(target, path, lambda parent, key: _put(parent, key, value, insert=name == "add"))
    if name in ("move", "copy"):
        source = _pointer(operation.get("from", ""))
        value = _value_at(target, source)
        remaining = _changed(target, source, _remove) if name == "move" else target
        return _changed(remaining, path, lambda parent, key: _put(parent, key, value, insert=True))
    raise build_bad_request(f"unknown JSON patch operation {name!r}")


def _pointer(text: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _value_at(target: Any, path: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON value
    for part in path:
        try:
            target = target[int(part)] if isinstance(target, list) else target[part]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise build_invalid(f"the path {'/'.join(path)!r} does not exist") from error
    return target


def _changed(target: Any, path: Sequence[str], change: Callable[[Any, str], Any]) -> Any:  # noqa: ANN401 - any JSON
    """Return a copy of `target` with `change` applied to the parent of `path`'s last part."""
    if not path:
        raise build_invalid("the whole object cannot be replaced")
    if len(path) == 1:
        return change(list(target) if isinstance(target, list) else dict(target), path[0])
    child = _changed(_value_at(target, path[:1]), path[1:], change)
    return _put(list(target) if isinstance(target, list) else dict(target), path[0], child, insert=False)


def _put(parent: Any, key: str, value: Any, *, insert: bool) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(parent, dict):
        parent[key] = value
    elif key == "-":
        parent.append(value)
    elif insert:
        parent.insert(int(key), value)
    else:
        parent[int(key)] = value
    return parent


def _remove(parent: Any, key: str) -> Any:  # noqa: ANN401 - any JSON value
    _value_at(parent, [key])
    del parent[int(key) if isinstance(parent, list) else key]
    return parent
