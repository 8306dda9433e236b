"""What is done about the job's ConfigMap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpi_operator import names
from mpi_operator.actions import Action, Create
from mpi_operator.api.merge_patch import build_merge_patch
from mpi_operator.api.observed import ConfigMap
from mpi_operator.api.types import MPIJob
from mpi_operator.children.ownership import Holder, classify_holder, plan_patch


def plan_config_map(
    job: MPIJob, config_map: ConfigMap | None, wanted: Mapping[str, Any], *, restarts: str
) -> tuple[Action, ...]:
    """Create the ConfigMap, or bring hosts and restart counts up to date; nothing while the name is taken.

    `wanted` is what `build_config_map` says of the hosts, `restarts` the text of the annotation that counts
    replacements, empty for none. Data is replaced whole: keys of others go (B097).
    """
    holder = classify_holder(config_map.metadata if config_map is not None else None, job)
    annotations = {names.ANNOTATION_WORKER_RESTARTS: restarts} if restarts else {}
    if holder is Holder.NOBODY:
        counted = {**wanted["metadata"], "annotations": annotations} if annotations else wanted["metadata"]
        manifest = {**wanted, "metadata": counted}
        name = names.config_map_name(job.metadata.name)
        return (Create(kind="ConfigMap", namespace=job.metadata.namespace, name=name, manifest=manifest),)
    if holder is not Holder.OURS or config_map is None:
        return ()
    changes: dict[str, Any] = {}
    data = build_merge_patch(config_map.data, wanted["data"])
    if data:
        changes["data"] = data
    if any(config_map.metadata.annotations.get(key) != value for key, value in annotations.items()):
        changes["metadata"] = {"annotations": annotations}
    return plan_patch("ConfigMap", config_map.metadata, job, changes)


def count_workers(job: MPIJob, config_map: ConfigMap | None) -> int | None:
    """Return how many workers the hostfile lists: the number that a job goes on with when an edit is refused.

    None if there is no hostfile to read.
    """
    text = None if config_map is None else config_map.data.get(names.HOSTFILE)
    if text is None:
        return None
    hosts = (line.partition(".")[0] for line in text.splitlines())
    return sum(names.worker_ordinal(job.metadata.name, host) is not None for host in hosts)
