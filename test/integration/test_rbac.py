"""Least privilege, read from the API server's audit log (security.md)."""

from __future__ import annotations

import subprocess
from base64 import b64encode
from typing import Any, NamedTuple

import pytest
import yaml

from hack.cluster.control_plane import ControlPlane
from hack.manifests import OVERLAYS
from informers.resource import Resource
from mpi_operator import names
from mpi_operator.shell.resources import CONFIG_MAPS, JOBS, MPI_JOBS, PODS, SECRETS, SERVICES
from test.builders.jobs import a_raw_job
from test.integration.conftest import StartOperator
from test.integration.operator_process import FILLED, OperatorProcess
from test.integration.server import Server

UNUSABLE = b64encode(b"no key").decode()
WORKERS = ("pi-worker-0", "pi-worker-1")


class Right(NamedTuple):
    group: str
    resource: str
    verb: str


UNSEEN = {
    Right("kubeflow.org", "mpijobs/finalizers", "update"): "asked for inside admission only",
    Right("kubeflow.org", "mpijobs", "get"): "used after a conflict of status writes, which this module does not force",
    Right("coordination.k8s.io", "leases", "list"): "a watch by name is authorised as list by some proxies",
}


def granted(plane: ControlPlane, overlay: str = "standalone") -> set[Right]:
    rendered = subprocess.run(
        ["kubectl", "kustomize", str(OVERLAYS / overlay)], env=plane.env(), check=True, capture_output=True, text=True
    ).stdout
    roles = [
        document
        for document in yaml.safe_load_all(rendered)
        if document["kind"] in {"Role", "ClusterRole"} and document["metadata"]["name"].startswith(names.OPERATOR_NAME)
    ]
    return {
        Right(group, resource, verb)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def right_of(event: dict[str, Any]) -> Right:
    target = event["objectRef"]
    resource = "/".join(filter(None, (target["resource"], target.get("subresource", ""))))
    return Right(target.get("apiGroup", ""), resource, event["verb"])


def use_every_right(server: Server) -> None:
    """Take a job through all that makes the operator write."""
    server.create(PODS, {"metadata": {"name": "pi-worker-1"}, "spec": {"containers": [{"name": "x", "image": "x"}]}})
    server.submit(a_raw_job(run_policy={"ttlSecondsAfterFinished": 0}))
    server.until_condition("pi", "Running", "False", "ErrResourceExists")
    server.delete(PODS, "pi-worker-1", gracePeriodSeconds=0)
    server.until(PODS, lambda pods: names.LABEL_JOB_NAME in str(pods.get("pi-worker-1")), "our pi-worker-1")
    for resource, name in ((SERVICES, "pi"), (CONFIG_MAPS, "pi-config"), (JOBS, "pi-launcher")):
        adopt(server, resource, name)
    for worker in WORKERS:
        server.set_pod(worker, "Running")
    server.start_launcher("pi-launcher")
    server.until_condition("pi", "Running")
    server.patch(MPI_JOBS, "pi", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 1}}}})
    server.until(
        PODS, lambda pods: any(names.ANNOTATION_HOSTS_VERSION in str(pod) for pod in pods.values()), "hosts-version"
    )
    for _ in range(2):
        suspend_and_resume(server)
    server.finish_launcher("pi-launcher", server.start_launcher("pi-launcher"))
    server.until(JOBS, lambda jobs: not jobs, "the launcher Job is gone")


def adopt(server: Server, resource: Resource, name: str) -> None:
    label = names.LABEL_OPERATOR_NAME
    server.patch(resource, name, {"metadata": {"labels": {label: None}}})
    server.until(resource, lambda found: label in found[name]["metadata"].get("labels", {}), f"{name} is adopted")


def suspend_and_resume(server: Server) -> None:
    server.patch(MPI_JOBS, "pi", {"spec": {"runPolicy": {"suspend": True}}})
    server.suspend_launcher("pi-launcher")
    server.patch(JOBS, "pi-launcher", {"status": {"startTime": "2026-01-01T00:00:00Z"}}, "status")
    server.until_condition("pi", "Suspended")
    server.until_pods()
    server.patch(MPI_JOBS, "pi", {"spec": {"runPolicy": {"suspend": False}}})
    server.until_condition("pi", "Suspended", "False")
    server.until_launcher_job("pi-launcher", suspended=False)
    server.until_pods("pi-worker-0")


def spoil_secret(server: Server) -> None:
    server.submit(a_raw_job(name="keys", workers=1))
    server.until_condition("keys", "Created")
    server.until(SECRETS, lambda found: "keys-ssh" in found, "the Secret")
    server.patch(SECRETS, "keys-ssh", {"data": {names.SSH_PRIVATE_KEY: UNUSABLE}})


def test_what_is_granted_is_used_and_what_is_used_is_granted(
    control_plane: ControlPlane, server: Server, operator: OperatorProcess, start_operator: StartOperator
) -> None:
    use_every_right(server)
    spoil_secret(server)
    # A standby watches the Lease, the check of consistency lists, and another process remembers no Secret: it looks.
    second = start_operator(INFORMERS_CONSISTENCY_CHECK="raise")
    second.await_log(FILLED)
    assert operator.stop() == 0
    server.until(SECRETS, lambda found: found["keys-ssh"]["data"][names.SSH_PRIVATE_KEY] != UNUSABLE, "new keys")
    assert second.stop() == 0
    events = list(control_plane.audit_events())
    used = {right_of(event) for event in events if "objectRef" in event}
    rights = granted(control_plane)
    assert used - rights == set(), "used, but not granted"
    assert rights - used - UNSEEN.keys() == set(), "granted, but never used"


def test_the_rules_name_nothing_that_the_contract_excludes(control_plane: ControlPlane) -> None:
    rights = granted(control_plane)
    resources = {right.resource for right in rights}
    assert not resources & {"pods/exec", "endpoints", "customresourcedefinitions", "nodes", "clusterroles", "roles"}
    assert {right.verb for right in rights if right.resource == "secrets"} == {"create", "get", "patch"}
    assert not any("*" in right for right in rights)


@pytest.mark.parametrize(
    ("group", "resource", "verbs"),
    [
        pytest.param("", "configmaps", "create get list patch watch", id="B301 ConfigMaps"),
        pytest.param("", "services", "create get list patch watch", id="B301 Services"),
        pytest.param("", "secrets", "create get patch", id="B301 Secrets"),
        pytest.param("", "pods", "create delete get list patch watch", id="B302 pods"),
        pytest.param("", "pods/exec", "", id="B303 nothing is run in pods"),
        pytest.param("", "endpoints", "", id="B304 endpoints are no lock"),
        pytest.param("", "events", "create patch", id="B305 events"),
        pytest.param("batch", "jobs", "create delete get list patch watch", id="B306 Jobs"),
        pytest.param("batch", "jobs/status", "patch", id="B306 A1_16 the start time of Jobs"),
        pytest.param("apiextensions.k8s.io", "customresourcedefinitions", "", id="B307 the CRD is not the operator's"),
        pytest.param("kubeflow.org", "mpijobs", "get list watch", id="B308 MPIJobs"),
        pytest.param("kubeflow.org", "mpijobs/status", "patch", id="B308 their status"),
        pytest.param("kubeflow.org", "mpijobs/finalizers", "update", id="B308 owners that block deletion"),
        pytest.param("scheduling.x-k8s.io", "podgroups", "", id="B311 no gang scheduler unless there is one"),
        pytest.param("scheduling.k8s.io", "priorityclasses", "", id="B312 no PriorityClasses either"),
    ],
)
def test_the_shipped_rights(control_plane: ControlPlane, group: str, resource: str, verbs: str) -> None:
    rights = granted(control_plane)
    assert sorted(right.verb for right in rights if right[:2] == (group, resource)) == verbs.split()


@pytest.mark.parametrize(
    ("overlay", "group", "resource", "verb"),
    [
        ("gang-volcano", "scheduling.volcano.sh", "podgroups", "patch"),
        ("gang-scheduler-plugins", "scheduling.x-k8s.io", "podgroups", "patch"),
        ("gang-kubernetes", "scheduling.k8s.io", "workloads", "patch"),
        ("gang-volcano", "scheduling.k8s.io", "priorityclasses", "list"),
        ("ttl-mpijob", "kubeflow.org", "mpijobs", "delete"),
    ],
    ids=lambda value: f"B310 {value}",
)
def test_an_overlay_adds_its_own_rights_only(
    control_plane: ControlPlane, overlay: str, group: str, resource: str, verb: str
) -> None:
    added = Right(group, resource, verb)
    assert added in granted(control_plane, overlay)
    assert added not in granted(control_plane)
