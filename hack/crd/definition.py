"""The CustomResourceDefinition around the schema: names, columns, subresources (B315-B317, api.md)."""

from __future__ import annotations

from typing import Any

from hack.crd.job_schema import job_schema
from mpi_operator.api.types import GROUP, KIND, PLURAL, VERSION

_STATUS = ".status.replicaStatuses"


def _column(name: str, path: str, kind: str = "string", *, is_wide: bool = False) -> dict[str, Any]:
    """A wide column is shown by `-o wide` only."""
    column: dict[str, Any] = {"name": name, "type": kind, "jsonPath": path}
    return {**column, "priority": 1} if is_wide else column


_COLUMNS = [
    _column("State", ".status.conditions[-1:].reason"),
    _column("Ready", f"{_STATUS}.Worker.active", "integer"),
    _column("Workers", ".spec.mpiReplicaSpecs.Worker.replicas", "integer"),
    _column("Age", ".metadata.creationTimestamp", "date"),
    _column("Launcher", f"{_STATUS}.Launcher.active", "integer", is_wide=True),
    _column("Succeeded", f"{_STATUS}.Launcher.succeeded", "integer", is_wide=True),
    _column("Failed", f"{_STATUS}.Launcher.failed", "integer", is_wide=True),
    _column("Impl", ".spec.mpiImplementation", is_wide=True),
    _column("Started", ".status.startTime", "date", is_wide=True),
    _column("Finished", ".status.completionTime", "date", is_wide=True),
    _column("Message", ".status.conditions[-1:].message", is_wide=True),
]


def build_definition() -> dict[str, Any]:
    """Return the whole CustomResourceDefinition."""
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": job_schema()},
        "additionalPrinterColumns": _COLUMNS,
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.mpiReplicaSpecs.Worker.replicas",
                "statusReplicasPath": f"{_STATUS}.Worker.active",
            },
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["mj", "mpij"],
                "categories": ["all"],
            },
            "scope": "Namespaced",
            "versions": [version],
        },
    }
