"""The CustomResourceDefinition on a real API server: what it stores, refuses, shows and scales (api.md)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hack.cluster.control_plane import ControlPlane
from test.builders.jobs import JSONObject, a_raw_job, a_template

ROOT = Path(__file__).parents[2]
CRD = ROOT / "manifests" / "base" / "kubeflow.org_mpijobs.yaml"
EXAMPLES = sorted((ROOT / "examples" / "v2beta1").rglob("*.yaml"))
STATUS = {
    "conditions": [
        {"type": "Created", "status": "True", "reason": "MPIJobCreated"},
        {"type": "Running", "status": "True", "reason": "MPIJobRunning", "message": "all is well"},
    ],
    "replicaStatuses": {"Launcher": {"active": 1}, "Worker": {"active": 2}},
    "startTime": "2026-12-01T00:00:00Z",
}


class Server:
    """kubectl on one control plane."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def run(self, *arguments: str, data: object = None) -> subprocess.CompletedProcess[str]:
        text = None if data is None else json.dumps(data)
        return subprocess.run(
            ["kubectl", *arguments], env=self._plane.env(), input=text, capture_output=True, text=True, check=False
        )

    def must(self, *arguments: str, data: object = None) -> str:
        result = self.run(*arguments, data=data)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def store(self, job: JSONObject) -> JSONObject:
        """Create the job anew and return it as stored."""
        self.run("delete", "mpijob", job["metadata"]["name"], "--ignore-not-found")
        stored: JSONObject = json.loads(self.must("create", "-f", "-", "-o", "json", "--validate=false", data=job))
        return stored

    def refusal(self, job: JSONObject) -> str:
        self.run("delete", "mpijob", job["metadata"]["name"], "--ignore-not-found")
        result = self.run("create", "-f", "-", "--validate=false", data=job)
        assert result.returncode != 0, f"was stored: {job}"
        return result.stderr

    def set_status(self, name: str, status: object) -> None:
        self.must("patch", "mpijob", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))

    def patch(self, name: str, spec: object) -> subprocess.CompletedProcess[str]:
        return self.run("patch", "mpijob", name, "--type=merge", "-p", json.dumps({"spec": spec}))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with ControlPlane() as plane:
        server = Server(plane)
        server.must("apply", "-f", str(CRD))
        for state in ("jsonpath={.status.acceptedNames.plural}=mpijobs", "condition=Established"):
            server.must("wait", f"--for={state}", "crd/mpijobs.kubeflow.org", "--timeout=30s")
        yield server


def a_job_to_store(**fields: Any) -> JSONObject:
    job = a_raw_job(**fields)
    del job["metadata"]["uid"]
    return job


def test_b315_b324_plain_and_server_side_apply_both_work(server: Server) -> None:
    server.must("apply", "-f", str(CRD))
    server.must("apply", "--server-side", "--force-conflicts", "-f", str(CRD))
    crd = json.loads(server.must("get", "crd", "mpijobs.kubeflow.org", "-o", "json"))
    conditions = {condition["type"]: condition["status"] for condition in crd["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert crd["status"]["storedVersions"] == ["v2beta1"]


def test_b318_the_schema_fills_in_defaults(server: Server) -> None:
    spec = server.store(a_job_to_store(worker={"replicas": None}, run_policy={"backoffLimit": 1}))["spec"]
    assert spec["mpiReplicaSpecs"]["Worker"]["replicas"] == 1
    del spec["mpiReplicaSpecs"]
    assert spec == {
        "launcherCreationPolicy": "AtStartup",
        "mpiImplementation": "OpenMPI",
        "runLauncherAsWorker": False,
        "runPolicy": {"backoffLimit": 1, "suspend": False},
        "slotsPerWorker": 1,
        "sshAuthMountPath": "/root/.ssh",
    }


def test_b014_without_a_run_policy_none_is_invented(server: Server) -> None:
    job = a_job_to_store()
    del job["spec"]["runPolicy"]
    assert "runPolicy" not in server.store(job)["spec"]


def test_b322_of_a_templates_metadata_only_some_is_kept(server: Server) -> None:
    kept = {"labels": {"a": "1"}, "annotations": {"b": "2"}, "name": "n", "namespace": "m", "finalizers": ["f/f"]}
    template = {**a_template(), "metadata": {**kept, "creationTimestamp": None, "generateName": "dropped"}}
    stored = server.store(a_job_to_store(worker={"template": template}))
    assert stored["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["metadata"] == kept


def test_k12_a_pod_field_newer_than_the_schema_is_kept(server: Server) -> None:
    template = a_template(fieldOfTheFuture={"a": [1]}, schedulingGroup={"podGroupName": "g"})
    stored = server.store(a_job_to_store(worker={"template": template}))
    spec = stored["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    assert (spec["fieldOfTheFuture"], spec["schedulingGroup"]) == ({"a": [1]}, {"podGroupName": "g"})


def test_k12_empty_and_unknown_replica_keys_are_stored(server: Server) -> None:
    empty = a_job_to_store()
    empty["spec"]["mpiReplicaSpecs"] = {}
    assert server.store(empty)["spec"]["mpiReplicaSpecs"] == {}
    odd = a_job_to_store()
    odd["spec"]["mpiReplicaSpecs"]["master"] = {"template": a_template()}
    assert "master" in server.store(odd)["spec"]["mpiReplicaSpecs"]


def test_b320_a_job_without_spec_is_stored(server: Server) -> None:
    job = a_job_to_store()
    del job["spec"]
    assert "mpiReplicaSpecs" not in server.store(job).get("spec", {})


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"launcherCreationPolicy": "Foo"}, id="B319 B040 a launcher policy"),
        pytest.param({"run_policy": {"cleanPodPolicy": "none"}}, id="B319 a clean-up"),
        pytest.param({"launcher": {"restartPolicy": "Always"}}, id="B319 a restart policy"),
        pytest.param({"launcher": {"replicas": 2}}, id="B022 two launchers"),
        pytest.param({"workers": 0}, id="B024 no workers"),
        pytest.param({"slotsPerWorker": 0}, id="B029 no slots"),
        pytest.param({"run_policy": {"managedBy": ""}}, id="B052 managed by an empty text"),
        pytest.param({"run_policy": {"managedBy": "kueue.x-k8s.io/multikueue"}}, id="K1 managed by MultiKueue"),
        pytest.param({"run_policy": {"schedulingPolicy": {"minResources": {"cpu": 1, "memory": "1Gi"}}}}, id="B162"),
    ],
)
def test_what_the_operator_judges_is_stored(server: Server, fields: JSONObject) -> None:
    server.store(a_job_to_store(**fields))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"mpiImplementation": "Foo"}, 'supported values: "Intel", "MPICH", "OpenMPI"', id="B319"),
        pytest.param({"run_policy": {"managedBy": "foo"}}, "must be empty or one of", id="B035 A4_8 managed by nobody"),
        pytest.param({"slotsPerWorker": -1}, "should be greater than or equal to 0", id="A4_7 negative slots"),
        pytest.param({"run_policy": {"backoffLimit": -1}}, "should be greater than or equal to 0", id="A4_7 B034"),
        pytest.param({"run_policy": {"activeDeadlineSeconds": -1}}, "should be greater", id="A4_7 B033"),
        pytest.param({"run_policy": {"ttlSecondsAfterFinished": -1}}, "should be greater", id="A4_7 B032"),
        pytest.param({"workers": -1}, "should be greater than or equal to 0", id="A4_7 negative workers"),
        pytest.param({"worker": {"template": {"spec": {}}}}, "containers: Required value", id="B320 no containers"),
        pytest.param({"worker": {"template": {"spec": {"containers": "a"}}}}, "must be of type array", id="A2_14"),
    ],
)
def test_what_is_refused_at_once(server: Server, fields: JSONObject, expected: str) -> None:
    assert expected in server.refusal(a_job_to_store(**fields))


def test_b320_mpi_replica_specs_are_required(server: Server) -> None:
    job = a_job_to_store()
    del job["spec"]["mpiReplicaSpecs"]
    assert "spec.mpiReplicaSpecs: Required value" in server.refusal(job)


OURS = "kubeflow.org/mpi-operator"
MULTIKUEUE = "kueue.x-k8s.io/multikueue"


@pytest.mark.parametrize(
    ("before", "status", "after", "accepted"),
    [
        pytest.param({"managedBy": OURS}, {}, {"managedBy": MULTIKUEUE}, False, id="B042 once set it stays"),
        pytest.param({"managedBy": OURS}, {}, {"managedBy": None}, False, id="B042 nor is it taken away"),
        pytest.param({"managedBy": OURS}, {}, {"managedBy": OURS, "backoffLimit": 1}, True, id="other edits"),
        pytest.param({}, {}, {"managedBy": MULTIKUEUE}, True, id="A4_8 set before the operator took it up"),
        pytest.param({}, STATUS, {"managedBy": MULTIKUEUE}, False, id="A4_8 not set on a running job"),
        pytest.param({}, STATUS, {"managedBy": MULTIKUEUE, "suspend": True}, False, id="nor while suspending it"),
        pytest.param({"suspend": True}, STATUS, {"managedBy": MULTIKUEUE}, True, id="set on a suspended job"),
        pytest.param({}, STATUS, {"managedBy": ""}, True, id="an empty text changes nothing"),
    ],
)
def test_who_manages_a_job_is_immutable(
    server: Server, before: JSONObject, status: JSONObject, after: JSONObject, *, accepted: bool
) -> None:
    server.store(a_job_to_store(run_policy=before))
    if status:
        server.set_status("pi", status)
    result = server.patch("pi", {"runPolicy": after})
    assert (result.returncode == 0) is accepted, result.stderr
    assert accepted or "managedBy is immutable" in result.stderr


def test_b316_status_is_written_apart_from_the_spec(server: Server) -> None:
    server.store(a_job_to_store(status=STATUS))
    assert "status" not in json.loads(server.must("get", "mpijob", "pi", "-o", "json"))
    server.set_status("pi", STATUS)
    assert json.loads(server.must("get", "mpijob", "pi", "-o", "json"))["status"] == STATUS


def test_b321_conditions_are_a_map_by_type(server: Server) -> None:
    server.store(a_job_to_store())
    twice = {"status": {"conditions": [STATUS["conditions"][0]] * 2}}  # type: ignore[index]
    result = server.run("patch", "mpijob", "pi", "--subresource=status", "--type=merge", "-p", json.dumps(twice))
    assert "Duplicate value" in result.stderr


@pytest.mark.parametrize("name", ["mpijobs", "mj", "mpij", "mpijob"])
def test_b317_a4_7_the_table_shows_the_state(server: Server, name: str) -> None:
    server.store(a_job_to_store())
    server.set_status("pi", STATUS)
    header, row = server.must("get", name).splitlines()
    assert header.split() == ["NAME", "STATE", "READY", "WORKERS", "AGE"]
    assert row.split()[:4] == ["pi", "MPIJobRunning", "2", "2"]


def test_b317_the_wide_table_shows_more(server: Server) -> None:
    server.store(a_job_to_store())
    server.set_status("pi", {**STATUS, "completionTime": "2026-12-01T00:00:00Z"})
    header, row = server.must("get", "mj", "-o", "wide").splitlines()
    assert header.split()[5:] == [
        "LAUNCHER",
        "SUCCEEDED",
        "FAILED",
        "IMPL",
        "STARTED",
        "FINISHED",
        "MESSAGE",
    ]
    assert "OpenMPI" in row
    assert row.endswith("all is well")


def test_b317_jobs_belong_to_all(server: Server) -> None:
    server.store(a_job_to_store())
    assert "mpijob.kubeflow.org/pi" in server.must("get", "all")


def test_b317_a4_7_workers_are_scaled(server: Server) -> None:
    server.store(a_job_to_store())
    server.must("scale", "mpijob/pi", "--replicas=5")
    stored = json.loads(server.must("get", "mpijob", "pi", "-o", "json"))
    assert stored["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 5
    server.set_status("pi", STATUS)
    scale = json.loads(server.must("get", "mpijob", "pi", "--subresource=scale", "-o", "json"))
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (5, 2)


def test_scaling_works_for_a_job_that_gave_no_number(server: Server) -> None:
    server.store(a_job_to_store(worker={"replicas": None}))
    scale = json.loads(server.must("get", "mpijob", "pi", "--subresource=scale", "-o", "json"))
    assert scale["spec"]["replicas"] == 1


@pytest.mark.parametrize("field", ["spec", "spec.runPolicy", "spec.mpiReplicaSpecs", "status", "status.conditions"])
def test_kubectl_explain_describes_every_own_field(server: Server, field: str) -> None:
    text = server.must("explain", f"mpijob.{field}")
    assert "DESCRIPTION:" in text
    assert "<no description>" not in text


@pytest.mark.parametrize("example", [pytest.param(path, id=path.stem) for path in EXAMPLES])
def test_b332_b333_b335_examples_pass_strict_validation(server: Server, example: Path) -> None:
    server.must("create", "-n", "kube-public", "-f", str(example), "--dry-run=server", "--validate=strict")
    assert yaml.safe_load(example.read_text())["kind"] == "MPIJob"
