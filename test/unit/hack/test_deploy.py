import pytest
import yaml

from hack.deploy import IMAGE_ANNOTATION, build_manifests
from hack.images.catalog import build_catalog
from hack.images.plan import Target

RENDERED = """
apiVersion: v1
kind: Namespace
metadata: {name: mpi-operator}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: mpi-operator}
spec:
  template:
    metadata: {}
    spec:
      containers:
        - {name: mpi-operator, image: "mpioperator/mpi-operator:master", args: [-alsologtostderr]}
---
"""
IMAGE = Target(image=build_catalog()["operator"], content_hash="abc")


def deployment(image: Target | None, *arguments: str) -> dict[str, object]:
    (found,) = (
        each for each in build_manifests(RENDERED, image=image, arguments=arguments) if each["kind"] == "Deployment"
    )
    return dict(found["spec"]["template"])


def test_an_image_that_was_built_here_is_not_pulled_and_its_content_rolls_the_pods() -> None:
    template = deployment(IMAGE)
    assert template["metadata"] == {"annotations": {IMAGE_ANNOTATION: "abc"}}
    assert template["spec"] == {
        "containers": [
            {
                "name": "mpi-operator",
                "image": "docker.io/mpioperator/mpi-operator:latest",
                "imagePullPolicy": "IfNotPresent",
                "args": ["-alsologtostderr"],
            }
        ]
    }


def test_arguments_follow_those_of_the_overlay() -> None:
    assert yaml.safe_dump(deployment(None, "--cluster-domain=kube.local")).count("- --cluster-domain=kube.local") == 1


@pytest.mark.parametrize("image", [None, IMAGE], ids=["pulled", "built here"])
def test_everything_else_is_left_as_it_is(image: Target | None) -> None:
    first, *_ = build_manifests(RENDERED, image=image)
    assert first == {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mpi-operator"}}
