"""Control planes that serve the gang schedulers' APIs, and the roles that no scheduler plays there."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hack.cluster.component import await_true
from hack.cluster.control_plane import ControlPlane
from hack.cluster.scheduler_plugins import CRD as COSCHEDULING_CRD
from informers.errors import Forbidden, Invalid, ServerError
from informers.resource import Resource
from mpi_operator.shell.resources import PODS
from test.integration.crds import await_crds
from test.integration.server import JSONObject, Server, now

DATA = Path(__file__).parents[1] / "data"
VOLCANO_CRD = DATA / "scheduling.volcano.sh_podgroups.yaml"
VOLCANO_ADMISSION = DATA / "volcano_admission.yaml"
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
FLAGS = (
    "--feature-gates=GenericWorkload=true,MutatingAdmissionPolicy=true",
    "--runtime-config=scheduling.k8s.io/v1alpha1=true,admissionregistration.k8s.io/v1beta1=true",
)
_READY_SECONDS = 30.0
_AUDIT_SECONDS = 5.0


class Scheduler(msgspec.Struct, frozen=True):
    """A gang scheduler: the flag's value, the overlay that ships its rights, and what describes its gangs."""

    flag: str
    overlay: str
    groups: Resource


VOLCANO = Scheduler("volcano", "gang-volcano", Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"))
COSCHEDULING = Scheduler(
    "scheduler-plugins-scheduler",
    "gang-scheduler-plugins",
    Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup"),
)
NATIVE = Scheduler("kubernetes", "gang-kubernetes", Resource("scheduling.k8s.io", "v1alpha1", "workloads", "Workload"))


def install(plane: ControlPlane, *manifests: Path) -> None:
    """Install manifests as they are, and wait until the kinds that they define are served."""
    for manifest in manifests:
        subprocess.run(
            ["kubectl", "apply", "--server-side", "--force-conflicts", "-f", str(manifest)],
            env=plane.env(),
            check=True,
            capture_output=True,
        )
    await_crds(plane)


def install_volcano_admission(plane: ControlPlane) -> None:
    """Install the stand-in for Volcano's webhooks, and wait until both of its rules are in force."""
    install(plane, VOLCANO_ADMISSION)
    with Server(plane.kubeconfig, "volcano-admission") as server:
        annotate_namespace(plane, server.namespace, "silver")
        await_true(lambda: _is_in_force(server), _READY_SECONDS, lambda: AssertionError("no admission policy"))


def annotate_namespace(plane: ControlPlane, namespace: str, queue: str) -> None:
    """Give a namespace its queue, as Volcano's webhook reads it."""
    annotation = f"scheduling.volcano.sh/queue-name={queue}"
    subprocess.run(
        ["kubectl", "annotate", "namespace", namespace, annotation], env=plane.env(), check=True, capture_output=True
    )


def _is_in_force(server: Server) -> bool:
    try:
        made = server.create(VOLCANO.groups, {"metadata": {"name": "probe"}, "spec": {"minMember": 1}})
    except ServerError:
        # "There can be a delay between when CustomResourceDefinitions are created and when they are available."
        return False
    server.delete(VOLCANO.groups, "probe")
    try:
        server.create(VOLCANO.groups, {"metadata": {"name": "probe"}, "spec": {"minMember": 1, "queue": "none"}})
    except (Forbidden, Invalid):
        return bool(made["spec"]["queue"] == "silver")
    server.delete(VOLCANO.groups, "probe")
    return False


def await_writes(plane: ControlPlane, resource: Resource, namespace: str, *verbs: str) -> None:
    """Wait until these are the operator's writes of that resource in a namespace, all of them and in this order.

    A request is audited a moment after what it did is seen.
    """

    def found() -> list[str]:
        return list(_writes(plane, resource, namespace))

    await_true(lambda: found() == list(verbs), _AUDIT_SECONDS, lambda: AssertionError(f"{found()} and not {verbs}"))


def _writes(plane: ControlPlane, resource: Resource, namespace: str) -> Iterator[str]:
    for event in plane.audit_events():
        target: Mapping[str, Any] = event.get("objectRef", {})
        is_meant = (target.get("resource"), target.get("apiGroup", "")) == (resource.plural, resource.group)
        if is_meant and target.get("namespace") == namespace and event["verb"] not in {"get", "list", "watch"}:
            yield event["verb"]


def play_volcano(server: Server, name: str, cpu: int) -> bool:
    """Schedule the gang as Volcano's documents say, with so many cpus left; return whether its pods run.

    A gang is let into the queue when its minResources fit, and is placed when as many of its pods as minMember exist.
    Else the PodGroup says why.
    """
    group = server.must_get(VOLCANO.groups, name)
    members = [
        pod["metadata"]["name"]
        for pod in server.find(PODS)
        if pod["metadata"].get("annotations", {}).get(GROUP_ANNOTATION) == name
        and pod["spec"]["schedulerName"] == "volcano"
    ]
    wanted = int(group["spec"].get("minResources", {}).get("cpu", 0))
    if wanted > cpu:
        _say_unschedulable(server, name, f"resource in cluster is overused: {wanted} cpus are wanted, {cpu} are left")
        return False
    if len(members) < group["spec"]["minMember"]:
        _say_unschedulable(server, name, f"{len(members)} of {group['spec']['minMember']} pods exist")
        return False
    server.patch(VOLCANO.groups, name, {"status": {"phase": "Running", "conditions": []}})
    for member in members:
        server.set_pod(member, "Running")
    return True


def _say_unschedulable(server: Server, name: str, message: str) -> None:
    reason: JSONObject = {
        "type": "Unschedulable",
        "status": "True",
        "reason": "NotEnoughResources",
        "message": message,
        "lastTransitionTime": now(),
    }
    server.patch(VOLCANO.groups, name, {"status": {"phase": "Pending", "conditions": [reason]}})


CRDS = (VOLCANO_CRD, COSCHEDULING_CRD)
