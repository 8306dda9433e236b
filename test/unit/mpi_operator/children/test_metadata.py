from __future__ import annotations

from mpi_operator.children.metadata import build_metadata, build_owner_reference
from test.builders.jobs import UID, a_job


def test_b085_k8_the_job_is_the_managing_owner() -> None:
    assert build_owner_reference(a_job()) == {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "name": "pi",
        "uid": UID,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def test_b084_children_carry_the_labels_that_informers_select() -> None:
    metadata = build_metadata(a_job(namespace="team"), "pi-config")
    assert (metadata["name"], metadata["namespace"]) == ("pi-config", "team")
    assert metadata["labels"] == {
        "app": "pi",
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-name": "pi",
    }


def test_k6_labels_of_the_job_itself_are_not_handed_down() -> None:
    metadata = build_metadata(a_job(metadata={"labels": {"kueue.x-k8s.io/queue-name": "q"}}), "pi")
    assert "kueue.x-k8s.io/queue-name" not in metadata["labels"]
