from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from mpi_operator.api.defaults import apply_defaults
from mpi_operator.api.types import MPIJob
from test.builders.jobs import a_job, a_stored_job
from test.builders.strategies import raw_jobs, stored_jobs


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("run_policy.clean_pod_policy", "None", id="B001 cleanPodPolicy is None"),
        pytest.param("slots_per_worker", 1, id="B002 slotsPerWorker is 1"),
        pytest.param("ssh_auth_mount_path", "/root/.ssh", id="B003 keys are mounted in root's ssh folder"),
        pytest.param("mpi_implementation", "OpenMPI", id="B004 the implementation is Open MPI"),
        pytest.param("launcher_creation_policy", "AtStartup", id="B005 the launcher starts at once"),
        pytest.param("launcher.replicas", 1, id="B006 one launcher"),
        pytest.param("launcher.restart_policy", "OnFailure", id="B007 the launcher restarts on failure"),
        pytest.param("worker.replicas", 1, id="B008 A4_9 a Worker entry without replicas is one worker"),
        pytest.param("worker.restart_policy", "Never", id="B009 workers never restart"),
        pytest.param("run_policy.ttl_seconds_after_finished", None, id="B012 no TTL"),
        pytest.param("run_policy.active_deadline_seconds", None, id="B012 no deadline"),
        pytest.param("run_policy.backoff_limit", None, id="B012 backoffLimit is batch/v1's"),
        pytest.param("run_launcher_as_worker", False, id="B013 no rank on the launcher"),
        pytest.param("run_policy.suspend", False, id="B014 not suspended"),
    ],
)
def test_what_is_left_out_has_a_default(path: str, expected: object) -> None:
    value: object = a_job(launcher={"replicas": None}, worker={"replicas": None}).spec
    for name in path.split("."):
        value = getattr(value, name)
    assert value == expected


@pytest.mark.parametrize("implementation", ["Intel", "MPICH"])
def test_b010_what_the_user_set_survives(implementation: str) -> None:
    job = a_stored_job(
        workers=3,
        slotsPerWorker=10,
        runLauncherAsWorker=True,
        run_policy={
            "cleanPodPolicy": "Running",
            "ttlSecondsAfterFinished": 2,
            "activeDeadlineSeconds": 3,
            "backoffLimit": 4,
            "suspend": True,
        },
        sshAuthMountPath="/home/mpiuser/.ssh",
        mpiImplementation=implementation,
        launcherCreationPolicy="AtStartup",
        launcher={"restartPolicy": "Never"},
        worker={"restartPolicy": "OnFailure"},
    )
    assert apply_defaults(job) == job


def test_b011_no_replica_entry_is_invented() -> None:
    assert apply_defaults(MPIJob()).spec.mpi_replica_specs is None
    assert a_job(workers=None).spec.worker is None


def test_b011_unknown_and_empty_replica_entries_stay_as_they_are() -> None:
    job = msgspec.json.decode(
        b'{"spec": {"mpiReplicaSpecs": {"worker": {"template": {}}, "Worker": null}}}', type=MPIJob
    )
    assert apply_defaults(job).spec.mpi_replica_specs == job.spec.mpi_replica_specs


def test_b015_a3_6_defaulting_changes_a_copy() -> None:
    job = a_stored_job()
    before = msgspec.json.encode(job)
    apply_defaults(job)
    assert msgspec.json.encode(job) == before


@given(stored_jobs())
def test_b017_defaulting_twice_is_defaulting_once(job: MPIJob) -> None:
    once = apply_defaults(job)
    assert apply_defaults(once) == once


def _is_kept(given_value: object, defaulted: object) -> bool:
    if isinstance(given_value, dict) and isinstance(defaulted, dict):
        return all(key in defaulted and _is_kept(value, defaulted[key]) for key, value in given_value.items())
    return given_value == defaulted


@given(raw_jobs())
def test_b010_defaulting_keeps_whatever_was_set(raw: bytes) -> None:
    job = msgspec.json.decode(raw, type=MPIJob)
    stored = msgspec.json.decode(msgspec.json.encode(job))
    defaulted = msgspec.json.decode(msgspec.json.encode(apply_defaults(job)))
    assert _is_kept(stored, defaulted)
