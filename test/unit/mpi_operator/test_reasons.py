from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_operator import reasons
from mpi_operator.reasons import Reason, limit_message

JOB = {"job": "default/pi"}


@pytest.mark.parametrize(
    ("reason", "values", "name", "message"),
    [
        pytest.param(reasons.CREATED, JOB, "MPIJobCreated", "MPIJob default/pi is created.", id="B221 B247"),
        pytest.param(
            reasons.VALIDATION_ERROR,
            {"errors": "[a, b]"},
            "ValidationError",
            "Found validation errors: [a, b]",
            id="B046 B248",
        ),
        pytest.param(reasons.SUSPENDED, {}, "MPIJobSuspended", "MPIJob suspended", id="B196 B253"),
        pytest.param(
            reasons.NOT_RUNNING_WHILE_SUSPENDED, JOB, "MPIJobSuspended", "MPIJob default/pi is suspended.", id="B196"
        ),
        pytest.param(reasons.RESUMED, {}, "MPIJobResumed", "MPIJob resumed", id="B201 B254"),
        pytest.param(reasons.RUNNING, JOB, "MPIJobRunning", "MPIJob default/pi is running.", id="B229"),
        pytest.param(
            reasons.RUNNING_EVENT, JOB, "MPIJobRunning", "MPIJob default/pi is running", id="B255 no full stop"
        ),
        pytest.param(
            reasons.NEVER_RUNNING,
            JOB,
            "MPIJobRunning",
            "MPIJob default/pi is finished but Running condition was never set.",
            id="B234",
        ),
        pytest.param(
            reasons.SUCCEEDED, JOB, "MPIJobSucceeded", "MPIJob default/pi successfully completed.", id="B232 B256"
        ),
        pytest.param(reasons.FAILED, JOB, "MPIJobFailed", "MPIJob default/pi has failed", id="B236"),
        pytest.param(
            reasons.FAILED_CREATE,
            {"kind": "Pod", "name": "pi-worker-0", "message": "exceeded quota"},
            "FailedCreate",
            "cannot create Pod pi-worker-0: exceeded quota",
            id="B133 B159 B250 B251",
        ),
        pytest.param(
            reasons.RESOURCE_EXISTS,
            {"kind": "Service", "name": "pi"},
            "ErrResourceExists",
            'Resource "pi" of Kind "Service" already exists and is not managed by MPIJob',
            id="B249 A4_11",
        ),
        pytest.param(
            reasons.WORKER_EVICTED,
            {"pod": "pi-worker-1", "message": "low on memory"},
            "MPIJobEvicted",
            "worker pod pi-worker-1 was evicted and is replaced: low on memory",
            id="B240 B258",
        ),
        pytest.param(
            reasons.WORKER_REPLACED,
            {"pod": "pi-worker-1", "reason": "NodeLost"},
            "WorkerReplaced",
            "worker pod pi-worker-1 failed (NodeLost) and is replaced",
            id="a worker that was disrupted otherwise",
        ),
        pytest.param(
            reasons.RESTART_POLICY_OVERRIDDEN,
            {},
            "SetPodTemplateRestartPolicy",
            "Restart policy in pod template overridden by restart policy in replica spec",
            id="B252",
        ),
    ],
)
def test_what_users_read(reason: Reason, values: dict[str, str], name: str, message: str) -> None:
    assert (reason.name, reason.message(**values)) == (name, message)


def test_values_are_never_formatted_again() -> None:
    assert reasons.UNSCHEDULABLE.message(message="{0.__class__} {job}") == "{0.__class__} {job}"


def test_a_message_without_its_values_is_a_fault_of_the_caller() -> None:
    with pytest.raises(KeyError):
        reasons.CREATED.message()


def test_b238_a_long_message_is_cut_at_1021_bytes() -> None:
    assert limit_message("a" * 1025) == "a" * 1021 + "..."
    assert limit_message("a" * 1024) == "a" * 1024


def test_a4_15_a_character_is_never_cut_in_two() -> None:
    assert limit_message("é" * 600) == "é" * 510 + "..."


@given(st.text() | st.text("aé€😀\ud800", min_size=300, max_size=1100))
def test_b238_whatever_the_message_it_fits_and_keeps_its_beginning(message: str) -> None:
    limited = limit_message(message)
    clean = message.encode(errors="replace").decode()
    assert len(limited.encode()) <= 1024
    assert limited == clean or (limited.endswith("...") and clean.startswith(limited[:-3]))
    assert limit_message(limited) == limited
