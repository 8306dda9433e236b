"""Pods as large as those of a real cluster: 8 KiB of JSON each, two fifths of it managedFields."""

from __future__ import annotations

from typing import Any

import msgspec


def a_large_pod(number: int) -> dict[str, Any]:
    """Return a worker pod with three containers, as a server sends it."""
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": _metadata(number),
        "spec": {
            "containers": [_container(name) for name in ("main", "agent", "logs")],
            "nodeName": f"node-{number % 200}",
            "restartPolicy": "Never",
            "serviceAccountName": "default",
            "tolerations": [{"key": f"k{each}", "operator": "Exists", "effect": "NoExecute"} for each in range(4)],
            "volumes": [{"name": f"volume-{each}", "emptyDir": {"sizeLimit": "1Gi"}} for each in range(4)],
        },
        "status": _status(number),
    }


def _metadata(number: int) -> dict[str, Any]:
    owner = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": f"job-{number // 8}", "controller": True}
    return {
        "name": f"job-{number // 8}-worker-{number % 8}",
        "namespace": f"team-{number % 20}",
        "uid": f"00000000-0000-4000-8000-{number:012d}",
        "resourceVersion": str(1_000_000 + number),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {
            "training.kubeflow.org/job-name": f"job-{number // 8}",
            "training.kubeflow.org/job-role": "worker",
            "training.kubeflow.org/replica-index": str(number % 8),
            "training.kubeflow.org/operator-name": "mpi-operator",
        },
        "annotations": {"scheduling.k8s.io/group-name": f"job-{number // 8}", "checksum/config": "0" * 64},
        "ownerReferences": [{**owner, "uid": f"10000000-0000-4000-8000-{number // 8:012d}"}],
        "managedFields": [_managed_fields(manager) for manager in ("mpi-operator", "kubelet")],
    }


def _managed_fields(manager: str) -> dict[str, Any]:
    containers: dict[str, Any] = {
        f'k:{{"name":"{name}"}}': {".": {}, **{f"f:{field}": {".": {}} for field in ("image", "env", "resources")}}
        for name in ("main", "agent", "logs")
    }
    fields: dict[str, Any] = {f"f:field-{each}": {".": {}, "f:type": {}, "f:value": {}} for each in range(22)}
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": fields, "f:spec": {"f:containers": containers}},
    }


def _container(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "image": f"registry.example.com/team/{name}:v1.2.3",
        "command": ["/usr/sbin/sshd", "-De"],
        "env": [{"name": f"VARIABLE_{each}", "value": f"value number {each}"} for each in range(8)],
        "resources": {"limits": {"cpu": "4", "memory": "16Gi"}, "requests": {"cpu": "4", "memory": "16Gi"}},
        "volumeMounts": [{"name": f"volume-{each}", "mountPath": f"/mnt/{each}"} for each in range(4)],
        "terminationMessagePath": "/dev/termination-log",
    }


def _status(number: int) -> dict[str, Any]:
    kinds = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    time = "2026-01-01T00:00:05Z"
    return {
        "phase": "Running",
        "podIP": f"10.0.{number // 250}.{number % 250}",
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": time} for kind in kinds],
        "containerStatuses": [
            {
                "name": name,
                "ready": True,
                "restartCount": 0,
                "image": f"registry.example.com/team/{name}:v1.2.3",
                "imageID": f"registry.example.com/team/{name}@sha256:{'0' * 64}",
                "containerID": f"containerd://{'1' * 64}",
                "state": {"running": {"startedAt": time}},
            }
            for name in ("main", "agent", "logs")
        ],
    }


def build_large_pages(pods: int, page_size: int) -> list[bytes]:
    """Return the bodies of all pages of a list of `pods` pods."""
    metadata = {"resourceVersion": "2000000"}
    return [
        msgspec.json.encode(
            {
                "kind": "PodList",
                "apiVersion": "v1",
                "metadata": metadata,
                "items": [a_large_pod(number) for number in range(start, min(start + page_size, pods))],
            }
        )
        for start in range(0, pods, page_size)
    ]
