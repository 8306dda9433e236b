"""What a gang needs together: the effective requests of its pods (B162-B173, A2.3, A2.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mpi_operator.api.types import MPIJob, ReplicaSpec
from mpi_operator.children.pod_group.quantity import ZERO, Quantity, parse_quantity

Requests = Mapping[str, Quantity]

_ALWAYS = "Always"


def sum_requests(job: MPIJob, members: int) -> dict[str, str]:
    """Return what the first `members` pods of a defaulted, valid job request together, by resource; empty for none.

    The launcher is the first member, and counts once, unless it is held back until the workers are ready; then come
    as many workers as there is room for. All workers are alike, so the roles' priorities change nothing (B167).
    """
    spec = job.spec
    is_launcher_member = spec.has_launcher_in_gang and members > 0
    workers = min(members - is_launcher_member, spec.worker_replicas)
    total: dict[str, Quantity] = {}
    for replica_spec, count in ((spec.launcher, int(is_launcher_member)), (spec.worker, workers)):
        if replica_spec is not None and count > 0:
            total = _add(total, {name: amount * count for name, amount in pod_requests(replica_spec).items()})
    return {name: str(amount) for name, amount in sorted(total.items())}


def pod_requests(replica_spec: ReplicaSpec) -> dict[str, Quantity]:
    """Return what the scheduler counts for one pod: max(init containers, containers and sidecars), plus overhead.

    Requests for the pod as a whole, where given, take the place of its containers' (B173). What is no quantity counts
    nothing here: the API server refuses the pod, and says why.
    """
    spec = replica_spec.template.get("spec") or {}
    running: dict[str, Quantity] = {}
    for container in _mappings(spec.get("containers")):
        running = _add(running, _container_requests(container))
    sidecars: dict[str, Quantity] = {}
    starting: dict[str, Quantity] = {}
    for container in _mappings(spec.get("initContainers")):
        own = _container_requests(container)
        if container.get("restartPolicy") == _ALWAYS:
            sidecars = _add(sidecars, own)
            own = sidecars
        else:
            own = _add(own, sidecars)
        starting = _larger(starting, own)
    requests = _larger(_add(running, sidecars), starting)
    return _add(_with_pod_level(requests, spec.get("resources")), _read(spec.get("overhead")))


def _container_requests(container: Mapping[str, Any]) -> dict[str, Quantity]:
    """Return requests, and limits for the names without a request (B171)."""
    resources = container.get("resources")
    if not isinstance(resources, Mapping):
        return {}
    return {**_read(resources.get("limits")), **_read(resources.get("requests"))}


def _with_pod_level(requests: Requests, resources: object) -> dict[str, Quantity]:
    """Return the requests as the pod's own say; its limits count only where nothing is requested."""
    if not isinstance(resources, Mapping):
        return dict(requests)
    return {**_read(resources.get("limits")), **requests, **_read(resources.get("requests"))}


def _read(quantities: object) -> dict[str, Quantity]:
    if not isinstance(quantities, Mapping):
        return {}
    read: dict[str, Quantity] = {}
    for name, value in quantities.items():
        try:
            read[str(name)] = parse_quantity(value)
        except ValueError:
            continue
    return read


def _mappings(values: object) -> Iterable[Mapping[str, Any]]:
    return [value for value in values if isinstance(value, Mapping)] if isinstance(values, list | tuple) else []


def _add(left: Requests, right: Requests) -> dict[str, Quantity]:
    return {name: left.get(name, ZERO) + right.get(name, ZERO) for name in {**left, **right}}


def _larger(left: Requests, right: Requests) -> dict[str, Quantity]:
    return {
        name: max(left.get(name, ZERO), right.get(name, ZERO), key=lambda quantity: quantity.amount)
        for name in {**left, **right}
    }
