"""Guards: every action, reason, counter and way of writing a status appears in the plan of some row."""

from __future__ import annotations

from typing import get_args

import pytest

from mpi_operator import reasons
from mpi_operator.actions import ACTION_TYPES
from mpi_operator.plan.outcome import Counter, Plan, StatusWrite
from test.builders.rows import ROWS
from test.unit.mpi_operator.plan import (
    test_after_refusal,
    test_finish,
    test_gang,
    test_invalid,
    test_names,
    test_replacement,
    test_running,
    test_scale,
    test_start,
    test_suspension,
)

TABLES = (
    test_after_refusal,
    test_finish,
    test_gang,
    test_invalid,
    test_names,
    test_replacement,
    test_running,
    test_scale,
    test_start,
    test_suspension,
)
SAID_ELSEWHERE = {
    reasons.SERVER_WARNING: "the shell passes on what the server warns of",
    reasons.DECODE_ERROR: "the caches report what they cannot read",
}
REASONS = [
    value for value in vars(reasons).values() if isinstance(value, reasons.Reason) and value not in SAID_ELSEWHERE
]


def _reasons_of(plan: Plan) -> set[str]:
    told = {condition.reason for condition in plan.status.conditions}
    return told | {event.reason.partition("/")[0] for event in (*plan.transitions, *plan.events)}


@pytest.mark.parametrize("kind", ACTION_TYPES)
def test_every_action_appears_in_a_row(kind: type) -> None:
    assert any(isinstance(action, kind) for plan in ROWS for action in plan.actions)


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.name)
def test_every_reason_appears_in_a_row(reason: reasons.Reason) -> None:
    assert any(reason.name in _reasons_of(plan) for plan in ROWS)


@pytest.mark.parametrize("counter", get_args(Counter))
def test_every_counter_appears_in_a_row(counter: Counter) -> None:
    assert any(counter in plan.counters for plan in ROWS)


@pytest.mark.parametrize("write", get_args(StatusWrite))
def test_every_way_of_writing_a_status_appears_in_a_row(write: StatusWrite) -> None:
    assert any(plan.status_write == write for plan in ROWS)


def test_the_tables_have_been_read() -> None:
    assert len(ROWS) > 10 * len(TABLES)
