"""A check, for debugging, that a streaming list gave what a list at the same version gives (informers.md 1.2.11)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Literal, TypeVar

from clockwork import StopToken
from informers.initial_list import Listed, read_pages
from informers.list_watch import ListOptions, ListWatch
from informers.metadata import KubernetesObject

ConsistencyCheck = Literal["off", "count", "raise"]
ENVIRONMENT_VARIABLE = "INFORMERS_CONSISTENCY_CHECK"
_CHECKS: dict[str, ConsistencyCheck] = {"off": "off", "count": "count", "raise": "raise"}

_Checked = TypeVar("_Checked", bound=KubernetesObject)


class InconsistentListError(AssertionError):
    """A streaming list and a list at the same resourceVersion hold different objects."""


def consistency_check_from_environment(environment: Mapping[str, str] = os.environ) -> ConsistencyCheck:
    """Return what the switch asks for: `raise` in tests, `count` in production, nothing or `off` for no check."""
    value = environment.get(ENVIRONMENT_VARIABLE) or "off"
    if value not in _CHECKS:
        raise ValueError(f"{ENVIRONMENT_VARIABLE} is {value!r}; expected one of {', '.join(_CHECKS)}")
    return _CHECKS[value]


def check_consistency(list_watch: ListWatch[_Checked], listed: Listed[_Checked], stop: StopToken) -> None:
    """List at exactly the version of `listed` and compare name, uid and version of each object.

    Raises InconsistentListError naming what differs, and ApiError when the list fails, as it may once the version has
    expired.
    """
    options = ListOptions(resource_version=listed.resource_version, resource_version_match="Exact")
    expected = _identities(read_pages(list_watch, options, stop).items)
    found = _identities(listed.items)
    if expected != found:
        raise InconsistentListError(
            f"the streaming list of {list_watch.name} at version {listed.resource_version} differs from a list:"
            f" missing {sorted(expected - found)}, too many {sorted(found - expected)}"
        )


def _identities(items: Iterable[KubernetesObject]) -> set[tuple[str, str, str, str]]:
    return {
        (meta.namespace or "", meta.name or "", meta.uid or "", meta.resource_version or "")
        for meta in (item.metadata for item in items)
    }
