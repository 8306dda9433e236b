from __future__ import annotations

import msgspec
import pytest

from mpi_operator.api.metadata import ObjectMeta, whole_seconds
from mpi_operator.api.types import API_VERSION, KIND, MPIJob, MPIJobStatus, ReplicaStatus, ReplicaStatuses
from test.builders.jobs import a_raw_job, a_stored_job, a_time, decode_job


def test_k12_unknown_fields_and_odd_replica_keys_are_let_through() -> None:
    raw = a_raw_job(brandNew={"a": 1})
    raw["spec"]["mpiReplicaSpecs"] |= {"Worker": None, "master": {"template": {}}}
    job = decode_job(raw)
    assert job.spec.worker is None
    assert set(job.spec.mpi_replica_specs or ()) == {"Launcher", "Worker", "master"}


def test_an_empty_object_is_a_job() -> None:
    assert msgspec.json.decode(b"{}", type=MPIJob) == MPIJob()


def test_a2_14_a_wrong_type_is_an_error_that_names_the_path() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.spec\.slotsPerWorker"):
        decode_job(a_raw_job(slotsPerWorker="two"))


def test_a_pod_field_newer_than_the_operator_travels_in_the_template() -> None:
    template = {"spec": {"containers": [{"name": "l", "newField": [1]}], "schedulingGroup": {"podGroupName": "g"}}}
    job = a_stored_job(launcher={"template": template})
    assert job.spec.launcher is not None
    assert job.spec.launcher.template == template


def test_encoding_names_the_kind_and_leaves_out_what_is_absent() -> None:
    raw = msgspec.json.decode(msgspec.json.encode(MPIJob(metadata=ObjectMeta(name="pi"))))
    assert raw == {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "pi"}, "spec": {}, "status": {}}


def test_b244_a_status_has_no_reconcile_time_and_no_selectors() -> None:
    status = MPIJobStatus(
        replica_statuses=ReplicaStatuses(launcher=ReplicaStatus(active=1), worker=ReplicaStatus()),
        start_time=a_time("2026-12-01T00:00:00Z"),
    )
    assert msgspec.json.decode(msgspec.json.encode(status)) == {
        "replicaStatuses": {"Launcher": {"active": 1}, "Worker": {}},
        "startTime": "2026-12-01T00:00:00Z",
    }


@pytest.mark.parametrize(
    ("managed_by", "elsewhere"),
    [
        pytest.param(None, False, id="nobody named"),
        pytest.param("kubeflow.org/mpi-operator", False, id="B051 this operator"),
        pytest.param("", False, id="B052 an empty text means this operator"),
        pytest.param("kueue.x-k8s.io/multikueue", True, id="B050 K1 MultiKueue"),
        pytest.param("foo", True, id="B050 A4_8 anybody else"),
    ],
)
def test_who_manages_the_job(managed_by: str | None, *, elsewhere: bool) -> None:
    assert a_stored_job(run_policy={"managedBy": managed_by}).spec.is_managed_elsewhere is elsewhere


def test_only_the_managing_owner_owns() -> None:
    owners = [{"uid": "a", "controller": False}, {"uid": "b", "controller": True, "kind": "MPIJob"}, {"uid": "c"}]
    meta = msgspec.convert({"ownerReferences": owners}, ObjectMeta)
    assert [meta.is_controlled_by(uid) for uid in "abc"] == [False, True, False]
    assert not ObjectMeta().is_controlled_by("")


def test_an_object_that_was_told_to_go_is_terminating() -> None:
    assert ObjectMeta(deletion_timestamp=a_time("2026-12-01T00:00:00Z")).is_terminating
    assert not ObjectMeta().is_terminating


def test_times_are_kept_in_whole_seconds() -> None:
    assert whole_seconds(a_time("2026-12-01T00:00:00.999Z")) == a_time("2026-12-01T00:00:00Z")


def test_the_properties_of_an_undefaulted_spec_show_what_is_there() -> None:
    spec = MPIJob().spec
    assert (spec.launcher, spec.worker, spec.worker_replicas) == (None, None, 0)
    assert not spec.is_suspended
    assert not spec.is_launcher_worker
    assert not spec.waits_for_workers
