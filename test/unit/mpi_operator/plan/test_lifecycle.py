"""The phases of a job's life: each rule wins over all that come after it (lifecycle.md 1)."""

from __future__ import annotations

from typing import Any

import pytest

from mpi_operator.plan.facts import gather
from mpi_operator.plan.lifecycle import RULES, Phase, phase_of
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from test.builders.children import COMPLETE, a_launcher_job
from test.builders.jobs import a_stored_job
from test.builders.pods import NOW, a_launcher_pod
from test.builders.snapshots import IS_SUSPENDED, a_condition, a_snapshot, an_accepted_job

SUSPEND: dict[str, Any] = {"run_policy": {"suspend": True}}
ELSEWHERE: dict[str, Any] = {"run_policy": {"managedBy": "kueue.x-k8s.io/multikueue", "suspend": True}}
GOING: dict[str, Any] = {"metadata": {"deletionTimestamp": "2026-12-01T11:59:00Z"}}
INVALID: dict[str, Any] = {"launcher": {"replicas": 2}}
DONE = a_condition("Succeeded")
COMPLETED: dict[str, Any] = {"launcher_job": a_launcher_job(conditions=[COMPLETE])}
SUCCEEDED_ALONE: dict[str, Any] = {"pods": (a_launcher_pod(phase="Succeeded"),)}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(a_snapshot(an_accepted_job(DONE, **ELSEWHERE, **GOING)), Phase.ELSEWHERE, id="B053 B050 first"),
        pytest.param(a_snapshot(an_accepted_job(DONE, **GOING)), Phase.DELETING, id="B054 before what was recorded"),
        pytest.param(
            a_snapshot(an_accepted_job(DONE, **SUSPEND, **INVALID), **COMPLETED),
            Phase.FINISHED,
            id="terminal is terminal, suspended or not, valid or not",
        ),
        pytest.param(
            a_snapshot(an_accepted_job(**SUSPEND, **INVALID), **COMPLETED),
            Phase.FINISHING,
            id="A1.12 A1.11 a launcher that finished wins over suspend and over an invalid spec",
        ),
        pytest.param(a_snapshot(an_accepted_job(), **SUCCEEDED_ALONE), Phase.FINISHING, id="A1.4 also without its Job"),
        pytest.param(Snapshot(job=a_stored_job(**SUSPEND, **INVALID)), Phase.REFUSED, id="B045 new and not valid"),
        pytest.param(a_snapshot(an_accepted_job(**SUSPEND, **INVALID)), Phase.SUSPENDED, id="suspend is honoured"),
        pytest.param(a_snapshot(an_accepted_job(IS_SUSPENDED, **INVALID)), Phase.SUSPENDED, id="a resume waits"),
        pytest.param(a_snapshot(an_accepted_job(**INVALID)), Phase.FROZEN, id="B047 accepted, not valid now"),
        pytest.param(a_snapshot(a_stored_job(**INVALID)), Phase.FROZEN, id="children say that it was accepted, too"),
        pytest.param(a_snapshot(an_accepted_job(IS_SUSPENDED)), Phase.RESUMING, id="to run, but said to be suspended"),
        pytest.param(Snapshot(job=a_stored_job()), Phase.ACTIVE, id="else it is to run"),
    ],
)
def test_phase(given: Snapshot, expected: Phase) -> None:
    assert phase_of(gather(given, Settings(), NOW)) is expected


def test_every_phase_has_a_rule() -> None:
    assert {rule.phase for rule in RULES} == set(Phase)
