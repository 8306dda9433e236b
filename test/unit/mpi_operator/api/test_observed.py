"""What the caches keep of children: enough to decide, and little (A2.13)."""

from __future__ import annotations

import gc
import sys
from typing import Any

import msgspec

from mpi_operator.api.observed import Job, Pod
from test.builders.jobs import UID, a_job, a_template
from test.builders.pods import a_worker

MAX_POD_BYTES = 6 * 1024

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "pi-worker-0",
        "namespace": "default",
        "uid": "u",
        "resourceVersion": "7",
        "managedFields": [{"manager": "kubelet"}],
        "deletionTimestamp": "2026-12-01T12:00:00Z",
        "ownerReferences": [{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "uid": UID, "controller": True}],
    },
    "spec": {"containers": [{"name": "mpi", "image": "i"}], "newField": {}},
    "status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": None}],
        "containerStatuses": [
            {"name": "mpi", "restartCount": 2, "state": {"running": {"startedAt": "2026-12-01T12:00:00Z"}}}
        ],
    },
}


def decode(raw: dict[str, Any]) -> Pod:
    return msgspec.json.decode(msgspec.json.encode(raw), type=Pod)


def test_a_pod_is_decoded_as_far_as_it_is_read() -> None:
    pod = decode(POD)
    assert pod.metadata.is_controlled_by(UID)
    assert pod.status.container_statuses[0].restart_count == 2
    assert pod.spec.containers[0].name == "mpi"


def test_A1_14_a_terminating_pod_is_neither_running_nor_ready() -> None:
    pod = decode(POD)
    assert not pod.is_running
    assert not pod.is_ready


def test_a_pod_of_which_nothing_is_reported_yet_is_pending() -> None:
    pod = decode({"metadata": {"name": "x"}})
    assert pod.status.phase == "Pending"
    assert not pod.is_terminal


def test_a_job_without_suspend_runs() -> None:
    raw = {"metadata": {"name": "x"}, "spec": {"template": {"spec": {"affinity": {"podAffinity": {}}}}}}
    job = msgspec.json.decode(msgspec.json.encode(raw), type=Job)
    assert not job.spec.suspend
    assert job.spec.template.spec.affinity is not None
    assert job.spec.template.spec.affinity.node_affinity is None


def test_a_cached_pod_takes_at_most_6_kib() -> None:
    many = [{"name": f"V{number}", "value": "x" * 100} for number in range(200)]
    job = a_job(worker={"template": a_template({"env": many})})
    assert _size(a_worker(0, job)) <= MAX_POD_BYTES


def _size(root: object) -> int:
    """The bytes of an object and of everything that it alone leads to; types and small constants are shared."""
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        found = waiting.pop()
        if id(found) not in seen and not isinstance(found, type):
            seen[id(found)] = found
            waiting += gc.get_referents(found)
            waiting += [getattr(found, name) for name in getattr(found, "__struct_fields__", ())]
    return sum(sys.getsizeof(found) for found in seen.values())
