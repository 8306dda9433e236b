"""Puts this tree's operator into a cluster, as a Deployment from its own image and manifests."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml

from hack.cluster.access import Access
from hack.cluster.component import await_true
from hack.cluster.errors import ClusterError
from hack.cluster.go_programs import Echo
from hack.images.build import build_images
from hack.images.plan import Target

ROOT = Path(__file__).resolve().parent.parent
NAMESPACE = "mpi-operator"
DEPLOYMENT = "mpi-operator"
IMAGE_ANNOTATION = "mpi-operator.kubeflow.org/image-content"
_ROLLOUT_SECONDS = 120


def build_manifests(rendered: str, *, image: Target | None, arguments: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return the objects of a rendered overlay, the operator's Deployment adapted. Pure.

    With `image`, one that was built here, the pods take what the node already has, and are replaced when its content
    changed. `arguments` are appended to the operator's.
    """
    documents = [document for document in yaml.safe_load_all(rendered) if document]
    for document in documents:
        if document["kind"] == "Deployment" and document["metadata"]["name"] == DEPLOYMENT:
            template = document["spec"]["template"]
            container = template["spec"]["containers"][0]
            container["args"] = [*container.get("args", ()), *arguments]
            if image is not None:
                container |= {"image": image.image.reference, "imagePullPolicy": "IfNotPresent"}
                template["metadata"].setdefault("annotations", {})[IMAGE_ANNOTATION] = image.content_hash
    return documents


def deploy_operator(
    access: Access, *, overlay: str = "standalone", arguments: tuple[str, ...] = (), echo: Echo = print
) -> None:
    """Load the operator's image, apply the overlay, and wait until all replicas are ready.

    Raises ClusterError with the pods' state and logs when they do not get ready.
    """
    image = None
    if access.choice.kind != "existing":
        image = build_images(["operator"], echo=echo)["operator"].target
        access.load_images(["operator"], echo=echo)
    rendered = access.kubectl("kustomize", str(ROOT / "manifests" / "overlays" / overlay))
    documents = build_manifests(rendered, image=image, arguments=arguments)
    echo(f"applying manifests/overlays/{overlay}")
    access.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=yaml.safe_dump_all(documents))
    await_true(lambda: _is_served(access), 30, lambda: ClusterError("the CRD of MPIJob is not served after 30 s"))
    _await_rollout(access)


def _is_served(access: Access) -> bool:
    """Return whether MPIJobs can be asked for; `kubectl wait` fails while a new CRD has no conditions at all."""
    return "mpijobs" in access.kubectl("api-resources", "--api-group=kubeflow.org", "--output=name", "--cached=false")


def _await_rollout(access: Access) -> None:
    rollout = [
        "rollout",
        "status",
        f"deployment/{DEPLOYMENT}",
        f"--namespace={NAMESPACE}",
        f"--timeout={_ROLLOUT_SECONDS}s",
    ]
    try:
        access.kubectl(*rollout)
    except ClusterError as error:
        raise ClusterError(f"the operator did not get ready: {error}\n{describe_operator(access)}") from error


def describe_operator(access: Access) -> str:
    """Return what helps when the operator does not work: its pods, events and logs."""
    parts = []
    for command in (
        ["get", "pods", "--output=wide"],
        ["get", "events", "--sort-by=.lastTimestamp"],
        ["logs", f"deployment/{DEPLOYMENT}", "--all-pods", "--tail=60"],
    ):
        result = subprocess.run(
            [str(access.kubectl_path), f"--namespace={NAMESPACE}", *command],
            env=access.env(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        parts.append(f"$ kubectl {' '.join(command)}\n{result.stdout}{result.stderr}")
    return "\n".join(parts)
