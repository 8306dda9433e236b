"""The patch of a status write (lifecycle.md 6)."""

from __future__ import annotations

import msgspec

from mpi_operator.api.types import MPIJobStatus
from mpi_operator.plan.status_patch import build_status_patch
from test.builders.pods import NOW
from test.builders.snapshots import CREATED, IS_RUNNING, counts

STORED = MPIJobStatus(
    conditions=(CREATED, IS_RUNNING), replica_statuses=counts(launcher={"active": 1}, worker={"active": 2, "failed": 1})
)


def test_B067_equal_statuses_need_no_patch() -> None:
    assert build_status_patch(STORED, STORED) == {}


def test_counters_and_fields_that_go_are_null_because_maps_merge() -> None:
    following = msgspec.structs.replace(STORED, replica_statuses=counts(worker={"active": 2}), completion_time=NOW)
    assert build_status_patch(STORED, following) == {
        "completionTime": "2026-12-01T12:00:00Z",
        "replicaStatuses": {"Launcher": None, "Worker": {"failed": None}},
    }


def test_B223_an_entry_without_counts_is_written_as_an_empty_one() -> None:
    assert build_status_patch(MPIJobStatus(), MPIJobStatus(replica_statuses=counts(worker={}))) == {
        "replicaStatuses": {"Worker": {}}
    }


def test_conditions_are_written_whole_and_in_order() -> None:
    following = msgspec.structs.replace(STORED, conditions=(IS_RUNNING, CREATED))
    written = build_status_patch(STORED, following)["conditions"]
    assert [condition["type"] for condition in written] == ["Running", "Created"]
    assert list(written) == msgspec.to_builtins([IS_RUNNING, CREATED])
