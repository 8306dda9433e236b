from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from hack.crd.__main__ import MANIFEST, main, render
from hack.crd.definition import build_definition

DEFINITION = build_definition()
[VERSION] = DEFINITION["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
SPEC = SCHEMA["properties"]["spec"]
STATUS = SCHEMA["properties"]["status"]
REPLICA_SPEC = SPEC["properties"]["mpiReplicaSpecs"]["additionalProperties"]
TEMPLATE = REPLICA_SPEC["properties"]["template"]
POD_SPEC = TEMPLATE["properties"]["spec"]


def schemas(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema inside a schema, with its path."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from schemas(inner, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from schemas(schema[key], f"{path}[]")


def test_b315_identity() -> None:
    assert DEFINITION["metadata"]["name"] == "mpijobs.kubeflow.org"
    assert DEFINITION["spec"]["scope"] == "Namespaced"
    assert (VERSION["name"], VERSION["served"], VERSION["storage"]) == ("v2beta1", True, True)


def test_b316_b317_subresources_names_and_columns() -> None:
    assert VERSION["subresources"]["status"] == {}
    assert VERSION["subresources"]["scale"] == {
        "specReplicasPath": ".spec.mpiReplicaSpecs.Worker.replicas",
        "statusReplicasPath": ".status.replicaStatuses.Worker.active",
    }
    assert DEFINITION["spec"]["names"] == {
        "kind": "MPIJob",
        "listKind": "MPIJobList",
        "plural": "mpijobs",
        "singular": "mpijob",
        "shortNames": ["mj", "mpij"],
        "categories": ["all"],
    }
    narrow = [column["name"] for column in VERSION["additionalPrinterColumns"] if not column.get("priority")]
    assert narrow == ["State", "Ready", "Workers", "Age"]


def test_b317_no_column_asks_for_what_the_server_cannot_print() -> None:
    assert not [column for column in VERSION["additionalPrinterColumns"] if "&&" in column["jsonPath"]]


def test_b318_defaults() -> None:
    found = {
        path: schema["default"] for path, schema in schemas(SPEC) if "default" in schema and "template" not in path
    }
    assert found == {
        ".slotsPerWorker": 1,
        ".runLauncherAsWorker": False,
        ".runPolicy.suspend": False,
        ".mpiReplicaSpecs[].replicas": 1,
        ".sshAuthMountPath": "/root/.ssh",
        ".launcherCreationPolicy": "AtStartup",
        ".mpiImplementation": "OpenMPI",
    }


def test_b319_only_the_implementation_and_the_status_of_conditions_are_enumerations() -> None:
    found = {path: schema["enum"] for path, schema in schemas(SCHEMA) if "enum" in schema}
    assert found == {
        ".spec.mpiImplementation": ["Intel", "MPICH", "OpenMPI"],
        ".status.conditions[].status": ["True", "False", "Unknown"],
    }


def test_b320_required_fields() -> None:
    assert "required" not in SCHEMA
    assert SPEC["required"] == ["mpiReplicaSpecs"]
    assert "required" not in REPLICA_SPEC
    assert POD_SPEC["required"] == ["containers"]
    assert STATUS["properties"]["conditions"]["items"]["required"] == ["type", "status"]


def test_b321_conditions_are_a_map_by_type() -> None:
    conditions = STATUS["properties"]["conditions"]
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]


def test_b322_k12_what_of_a_template_is_kept() -> None:
    assert set(TEMPLATE["properties"]["metadata"]["properties"]) == {
        "annotations",
        "finalizers",
        "labels",
        "name",
        "namespace",
    }
    assert POD_SPEC["x-kubernetes-preserve-unknown-fields"] is True
    assert "schedulingGroup" in POD_SPEC["properties"]


def test_b323_rules_are_few_and_outside_of_the_map() -> None:
    places = [path for path, schema in schemas(SCHEMA) if "x-kubernetes-validations" in schema]
    assert places == ["", ".spec.runPolicy.managedBy"]


def test_b324_plain_apply_can_keep_the_whole_in_an_annotation() -> None:
    assert len(json.dumps(DEFINITION)) < 262144


def test_b244_fields_that_are_never_set_stay_in_the_schema() -> None:
    assert "lastReconcileTime" in STATUS["properties"]
    counts = STATUS["properties"]["replicaStatuses"]["additionalProperties"]["properties"]
    assert {"selector", "labelSelector"} <= set(counts)


def test_nothing_inside_a_template_is_described() -> None:
    described = [path for path, schema in schemas(TEMPLATE) if path and "description" in schema]
    assert described == []


def test_every_own_field_is_described_in_sentences() -> None:
    foreign = ("", ".metadata")
    for path, schema in schemas(SCHEMA):
        if path in foreign or ".template." in path or ".labelSelector." in path or path.endswith("[]"):
            continue
        assert schema.get("description", "").endswith("."), path


def test_the_schema_is_structural() -> None:
    for path, schema in schemas(SCHEMA):
        assert schema.get("type") or schema.get("x-kubernetes-int-or-string"), path
        for key in schema.get("x-kubernetes-list-map-keys", ()):
            item = schema["items"]
            assert key in item.get("required", ()) or "default" in item["properties"][key], path


def test_quantities_and_ports_take_numbers_and_texts() -> None:
    container = POD_SPEC["properties"]["containers"]["items"]["properties"]
    assert container["resources"]["properties"]["limits"]["additionalProperties"]["x-kubernetes-int-or-string"]
    assert container["livenessProbe"]["properties"]["httpGet"]["properties"]["port"]["x-kubernetes-int-or-string"]
    assert (
        "pattern"
        in SPEC["properties"]["runPolicy"]["properties"]["schedulingPolicy"]["properties"]["minResources"][
            "additionalProperties"
        ]
    )


def test_the_manifest_is_current() -> None:
    assert MANIFEST.read_text() == render()
    assert yaml.safe_load(render()) == DEFINITION


def test_a_manifest_that_is_not_current_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "crd.yaml"
    monkeypatch.setattr("hack.crd.__main__.MANIFEST", manifest)
    assert main(["--check"]) == 1
    assert "python -m hack.crd" in capsys.readouterr().err
    assert not manifest.exists()
    assert main([]) == 0
    assert main(["--check"]) == 0
    manifest.write_text("old")
    assert main(["--check"]) == 1
