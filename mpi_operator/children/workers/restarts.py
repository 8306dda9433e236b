"""How often each worker was replaced for its own failure, as kept in an annotation of the job's ConfigMap.

The text is JSON: `{"0": {"count": 2, "pod": "<uid>"}}`, by ordinal; `pod` is the uid of the last pod that was counted,
so that a pod whose deletion was interrupted is not counted twice (lifecycle.md 5).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mpi_operator import names
from mpi_operator.api.observed import ConfigMap


class Restart(msgspec.Struct, frozen=True, kw_only=True):
    """How many pods of one ordinal were replaced, and the uid of the last one."""

    count: int = 0
    pod: str = ""


def read_restarts(config_map: ConfigMap | None) -> Mapping[int, Restart]:
    """Return the counts by ordinal; none where the annotation is absent or was spoilt by somebody."""
    text = "" if config_map is None else config_map.metadata.annotations.get(names.ANNOTATION_WORKER_RESTARTS, "")
    if not text:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[int, Restart])
    except msgspec.MsgspecError:
        return {}


def format_restarts(restarts: Mapping[int, Restart]) -> str:
    """Return the annotation's text, in order of ordinals; empty if there is nothing to remember."""
    return msgspec.json.encode(dict(sorted(restarts.items()))).decode() if restarts else ""
