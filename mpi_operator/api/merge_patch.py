"""JSON merge patches (RFC 7386) between two states of a map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def build_merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the smallest merge patch that turns `old` into `new`: empty if they are equal.

    Keys that go become null; maps merge; lists and everything else are replaced whole. A key with the value None
    counts as absent, because a merge patch cannot say anything else. Both maps are only read.
    """
    patch: dict[str, Any] = {}
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            inner = build_merge_patch(before, after)
            if inner:
                patch[key] = inner
        else:
            patch[key] = after
    return patch
