"""The manifests as kustomize renders them (B309, B313, B314, B325-B330)."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
import yaml

from hack.cluster.control_plane import ControlPlane
from hack.manifests import DEPLOYMENT_FILE, OVERLAYS, build_deployment_file, read_version, render_dev_overlay

JSONObject = dict[str, Any]
LABELS = {
    "app": "mpi-operator",
    "app.kubernetes.io/component": "mpijob",
    "app.kubernetes.io/name": "mpi-operator",
    "kustomize.component": "mpi-operator",
}


def render(plane: ControlPlane, overlay: str) -> dict[tuple[str, str], JSONObject]:
    command = ["kubectl", "kustomize", str(OVERLAYS / overlay)]
    text = subprocess.run(command, env=plane.env(), check=True, capture_output=True, text=True).stdout
    return {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(text)}


def container_of(objects: dict[tuple[str, str], JSONObject]) -> JSONObject:
    (container,) = objects["Deployment", "mpi-operator"]["spec"]["template"]["spec"]["containers"]
    return dict(container)


@pytest.mark.parametrize(
    ("overlay", "namespace", "image", "argument", "has_namespace"),
    [
        pytest.param(
            "standalone", "mpi-operator", "master", "--lock-namespace=mpi-operator", True, id="B327 standalone"
        ),
        pytest.param("kubeflow", "kubeflow", "latest", "--lock-namespace=kubeflow", False, id="B328 kubeflow"),
        pytest.param(
            "single-namespace", "mpi-operator", "latest", "--namespace=$(POD_NAMESPACE)", False, id="one only"
        ),
    ],
)
def test_an_overlay_is_in_its_namespace(
    control_plane: ControlPlane, overlay: str, namespace: str, image: str, argument: str, *, has_namespace: bool
) -> None:
    objects = render(control_plane, overlay)
    assert (("Namespace", namespace) in objects) is has_namespace
    assert {each["metadata"].get("namespace", namespace) for each in objects.values()} == {namespace}
    bindings = [each for (kind, _), each in objects.items() if kind.endswith("RoleBinding")]
    assert {subject["namespace"] for binding in bindings for subject in binding["subjects"]} == {namespace}
    container = container_of(objects)
    assert container["image"] == f"mpioperator/mpi-operator:{image}"
    assert container["args"][0] == "-alsologtostderr"
    assert argument in container["args"]


def test_B325_everything_carries_the_labels_and_selectors_use_them(control_plane: ControlPlane) -> None:
    objects = render(control_plane, "standalone")
    for name, each in objects.items():
        if name[0] != "Namespace":
            assert LABELS.items() <= each["metadata"]["labels"].items(), name
    assert objects["Deployment", "mpi-operator"]["spec"]["selector"]["matchLabels"] == LABELS
    assert objects["PodDisruptionBudget", "mpi-operator"]["spec"]["selector"]["matchLabels"] == LABELS


def test_B326_A4_16_the_deployment_is_available_probed_and_confined(control_plane: ControlPlane) -> None:
    objects = render(control_plane, "standalone")
    spec = objects["Deployment", "mpi-operator"]["spec"]
    assert spec["replicas"] == 2
    pod, container = spec["template"]["spec"], container_of(objects)
    assert spec["template"]["metadata"]["annotations"]["sidecar.istio.io/inject"] == "false"
    assert pod["serviceAccountName"] == "mpi-operator"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    context = container["securityContext"]
    assert (context["readOnlyRootFilesystem"], context["allowPrivilegeEscalation"]) == (True, False)
    assert context["capabilities"] == {"drop": ["ALL"]}


def test_B313_B309_the_account_is_bound_to_its_rights_and_leases_are_local(control_plane: ControlPlane) -> None:
    objects = render(control_plane, "standalone")
    binding = objects["ClusterRoleBinding", "mpi-operator"]
    assert binding["roleRef"]["name"] == "mpi-operator"
    assert [subject["name"] for subject in binding["subjects"]] == ["mpi-operator"]
    rules = objects["ClusterRole", "mpi-operator"]["rules"]
    assert not [rule for rule in rules if "coordination.k8s.io" in rule["apiGroups"]]
    assert objects["Role", "mpi-operator-leader-election"]["metadata"]["namespace"] == "mpi-operator"


def test_one_namespace_needs_no_rights_beyond_it(control_plane: ControlPlane) -> None:
    objects = render(control_plane, "single-namespace")
    assert ("Role", "mpi-operator") in objects
    assert ("ClusterRole", "mpi-operator") not in objects
    assert not [name for name in objects if name[0] == "ClusterRoleBinding"]
    assert objects["RoleBinding", "mpi-operator"]["roleRef"]["kind"] == "Role"


def test_B314_people_have_roles_that_aggregate_and_cannot_write_a_status(control_plane: ControlPlane) -> None:
    objects = render(control_plane, "standalone")
    prefix = "rbac.authorization.kubeflow.org/aggregate-to-kubeflow"
    admin = objects["ClusterRole", "kubeflow-mpijobs-admin"]
    assert admin["aggregationRule"]["clusterRoleSelectors"] == [{"matchLabels": {f"{prefix}-mpijobs-admin": "true"}}]
    assert admin["metadata"]["labels"][f"{prefix}-admin"] == "true"
    edit = objects["ClusterRole", "kubeflow-mpijobs-edit"]
    assert edit["metadata"]["labels"][f"{prefix}-mpijobs-admin"] == "true"
    verbs = {resource: set(rule["verbs"]) for rule in edit["rules"] for resource in rule["resources"]}
    assert verbs == {
        "mpijobs": {"get", "list", "watch", "create", "delete", "deletecollection", "patch", "update"},
        "mpijobs/status": {"get"},
        "mpijobs/scale": {"get", "update", "patch"},
    }


def test_B330_the_single_file_is_the_standalone_overlay_with_the_released_tag() -> None:
    assert DEPLOYMENT_FILE.read_text() == build_deployment_file(read_version())
    assert f"image: mpioperator/mpi-operator:{read_version()}" in DEPLOYMENT_FILE.read_text()


def test_B329_the_dev_overlay_takes_an_image_of_ones_own(control_plane: ControlPlane) -> None:
    path = render_dev_overlay("example.com/mine", "try")
    try:
        assert container_of(render(control_plane, "dev"))["image"] == "example.com/mine:try"
    finally:
        path.unlink()
