"""Which API resource serves each kind that the operator reads or writes."""

from __future__ import annotations

from collections.abc import Mapping

from informers.resource import Resource
from mpi_operator.api import types

MPI_JOBS = Resource(types.GROUP, types.VERSION, types.PLURAL, types.KIND)
PODS = Resource("", "v1", "pods", "Pod")
SERVICES = Resource("", "v1", "services", "Service")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
JOBS = Resource("batch", "v1", "jobs", "Job")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)

RESOURCES: Mapping[str, Resource] = {
    resource.kind: resource for resource in (MPI_JOBS, PODS, SERVICES, CONFIG_MAPS, SECRETS, JOBS)
}
"""The resource of each kind that actions name, but those of a gang scheduler, which the options and the server tell."""
