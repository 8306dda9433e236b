from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_operator import conditions as algebra
from mpi_operator.api.types import Condition
from mpi_operator.conditions import (
    CREATED,
    EXCLUSIVE,
    FAILED,
    RESTARTING,
    RUNNING,
    SUCCEEDED,
    SUSPENDED,
    TERMINAL_TYPES,
    TYPES,
    Conditions,
    find_condition,
    is_condition_true,
    set_condition,
    terminal_condition,
)
from test.builders.jobs import a_time

EARLY = a_time("2026-12-01T10:00:00Z")
NOW = a_time("2026-12-01T11:00:00Z")
LATER = a_time("2026-12-01T12:00:00Z")
NEVER_RUNNING = Condition(type=RUNNING, status="False", reason="MPIJobRunning", message="never")


def a_condition(condition_type: str, status: str = "True", **fields: Any) -> Condition:
    given_fields = {"reason": "R", "message": "m", "last_update_time": EARLY, "last_transition_time": EARLY, **fields}
    return Condition(type=condition_type, status=status, **given_fields)


def put(conditions: Conditions, condition_type: str, *, status: bool = True, **fields: Any) -> Conditions:
    given_fields = {"reason": "R", "message": "m", "now": NOW, **fields}
    return set_condition(conditions, condition_type, status=status, **given_fields)


def finish(conditions: Conditions, condition_type: str = SUCCEEDED, **fields: Any) -> Conditions:
    given_fields = {"completion_time": NOW, "now": LATER, **fields}
    return algebra.finish(
        conditions, condition_type, reason="Done", message="done", never_running=NEVER_RUNNING, **given_fields
    )


def shape(conditions: Conditions) -> list[tuple[str, str]]:
    return [(condition.type, condition.status) for condition in conditions]


def test_b245_the_types_of_the_api() -> None:
    assert sorted(TYPES) == ["Created", "Failed", "Restarting", "Running", "Succeeded", "Suspended"]
    assert set(EXCLUSIVE) == set(TYPES)


def test_b221_a_new_condition_is_appended_with_both_times() -> None:
    assert put((), CREATED) == (a_condition(CREATED, last_update_time=NOW, last_transition_time=NOW),)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({}, a_condition(RUNNING), id="B241 the same again changes nothing"),
        pytest.param(
            {"message": "new"},
            a_condition(RUNNING, message="new", last_update_time=NOW),
            id="B241 A4_5 another message is refreshed, the transition time stays",
        ),
        pytest.param(
            {"reason": "S"},
            a_condition(RUNNING, reason="S", last_update_time=NOW),
            id="B241 another reason keeps the transition time",
        ),
        pytest.param(
            {"status": False, "reason": "S"},
            a_condition(RUNNING, "False", reason="S", last_update_time=NOW, last_transition_time=NOW),
            id="B241 A4_4 a flip moves both times",
        ),
    ],
)
def test_when_times_move(change: dict[str, Any], expected: Condition) -> None:
    assert find_condition(put((a_condition(RUNNING), a_condition(CREATED)), RUNNING, **change), RUNNING) == expected


@pytest.mark.parametrize(
    ("change", "order"),
    [
        pytest.param({}, [RUNNING, CREATED], id="nothing changes: it stays"),
        pytest.param({"message": "new"}, [RUNNING, CREATED], id="the message is refreshed in place"),
        pytest.param({"reason": "S"}, [CREATED, RUNNING], id="B241 another reason moves to the end"),
        pytest.param({"status": False}, [CREATED, RUNNING], id="B241 a flip moves to the end"),
    ],
)
def test_the_condition_that_tells_the_state_is_last(change: dict[str, Any], order: list[str]) -> None:
    changed = put((a_condition(RUNNING), a_condition(CREATED)), RUNNING, **change)
    assert [condition.type for condition in changed] == order


def test_a_condition_without_times_gets_one() -> None:
    bare = Condition(type=RUNNING, status="True", reason="R")
    [condition] = put((bare,), RUNNING, reason="S")
    assert condition.last_transition_time == NOW


def test_b242_b241_restarting_withdraws_running_for_its_own_reason() -> None:
    before = (a_condition(CREATED), a_condition(RUNNING))
    withdrawn, restarting = put(before, RESTARTING, reason="MPIJobRestarting", message="why")[1:]
    assert (withdrawn.status, withdrawn.reason, withdrawn.message) == ("False", "MPIJobRestarting", "why")
    assert withdrawn.last_transition_time == NOW
    assert (restarting.type, restarting.status) == (RESTARTING, "True")


def test_b242_back_again_running_withdraws_restarting_and_is_last() -> None:
    before = (a_condition(RUNNING, "False"), a_condition(RESTARTING))
    assert shape(put(before, RUNNING, reason="MPIJobRunning")) == [(RESTARTING, "False"), (RUNNING, "True")]


def test_b196_created_suspended() -> None:
    conditions = put((), CREATED)
    conditions = put(conditions, SUSPENDED, reason="MPIJobSuspended")
    conditions = put(conditions, RUNNING, status=False, reason="MPIJobSuspended")
    assert shape(conditions) == [(CREATED, "True"), (SUSPENDED, "True"), (RUNNING, "False")]


def test_b201_b202_a_resume_flips_suspended_and_leaves_running() -> None:
    before = (a_condition(SUSPENDED), a_condition(RUNNING, "False", reason="MPIJobSuspended"))
    resumed = put(before, SUSPENDED, status=False, reason="MPIJobResumed")
    assert resumed[0] == before[1]
    assert shape(resumed)[-1] == (SUSPENDED, "False")


def test_a_false_condition_withdraws_nothing() -> None:
    before = (a_condition(RUNNING),)
    assert put(before, RESTARTING, status=False)[0] == before[0]


def test_b232_b234_a_success_of_a_job_that_never_ran() -> None:
    never, succeeded = finish((a_condition(CREATED),))[1:]
    assert never == msgspec.structs.replace(NEVER_RUNNING, last_update_time=NOW, last_transition_time=NOW)
    assert (succeeded.type, succeeded.status, succeeded.reason, succeeded.message) == (
        SUCCEEDED,
        "True",
        "Done",
        "done",
    )
    assert succeeded.last_transition_time == LATER


def test_b233_a4_4_running_is_flipped_in_place_at_the_completion_time() -> None:
    finished = finish((a_condition(RUNNING), a_condition(CREATED)), FAILED)
    assert shape(finished) == [(RUNNING, "False"), (CREATED, "True"), (FAILED, "True")]
    assert finished[0] == a_condition(RUNNING, "False", last_update_time=NOW, last_transition_time=NOW)


@pytest.mark.parametrize("status", ["True", "False"])
def test_b235_times_of_running_are_never_after_the_end(status: str) -> None:
    late = a_condition(RUNNING, status, last_update_time=LATER, last_transition_time=LATER)
    running = finish((late,))[0]
    assert running.last_update_time == NOW
    assert running.last_transition_time == NOW


def test_b235_a_condition_without_times_can_be_ended() -> None:
    running = finish((Condition(type=RUNNING, status="False"),))[0]
    assert running.last_transition_time is None


def test_b242_a1_12_a_finished_job_neither_restarts_nor_is_suspended() -> None:
    before = (a_condition(RUNNING, "False"), a_condition(RESTARTING), a_condition(SUSPENDED))
    assert shape(finish(before, FAILED)) == [
        (RUNNING, "False"),
        (RESTARTING, "False"),
        (SUSPENDED, "False"),
        (FAILED, "True"),
    ]


def test_a_stale_entry_of_the_terminal_type_is_replaced() -> None:
    before = (a_condition(SUCCEEDED, "False"), a_condition(RUNNING, "False"))
    assert shape(finish(before)) == [(RUNNING, "False"), (SUCCEEDED, "True")]


@pytest.mark.parametrize("terminal", TERMINAL_TYPES)
@pytest.mark.parametrize("condition_type", TYPES)
def test_a1_6_b240_terminal_is_terminal(terminal: str, condition_type: str) -> None:
    finished = finish((), terminal)
    assert put(finished, condition_type) == finished
    assert put(finished, condition_type, status=False) == finished
    assert finish(finished, SUCCEEDED) == finished
    assert finish(finished, FAILED) == finished


def test_questions_about_conditions() -> None:
    conditions = (a_condition(RUNNING, "False"), a_condition(FAILED))
    assert find_condition(conditions, CREATED) is None
    assert not is_condition_true(conditions, RUNNING)
    assert not is_condition_true(conditions, CREATED)
    assert is_condition_true(conditions, FAILED)
    assert terminal_condition(conditions) == conditions[1]
    assert terminal_condition(conditions[:1]) is None


def test_times_are_whole_seconds() -> None:
    fraction = timedelta(microseconds=1)
    conditions = finish(put((), RUNNING, now=NOW + fraction), completion_time=NOW + fraction, now=LATER + fraction)
    times = {condition.last_transition_time for condition in conditions}
    assert times == {NOW, LATER}


_CHANGES = st.lists(
    st.tuples(st.sampled_from([CREATED, RUNNING, RESTARTING, SUSPENDED]), st.booleans(), st.sampled_from("AB")),
    max_size=8,
)


@given(_CHANGES, st.none() | st.sampled_from(TERMINAL_TYPES))
def test_b242_whatever_happens_exclusive_conditions_are_never_both_true(
    changes: list[tuple[str, bool, str]], terminal: str | None
) -> None:
    histories: list[Conditions] = [()]
    for hour, (condition_type, status, reason) in enumerate(changes):
        now = EARLY + timedelta(hours=hour)
        histories.append(put(histories[-1], condition_type, status=status, reason=reason, now=now))
        assert put(histories[-1], condition_type, status=status, reason=reason, now=LATER) == histories[-1]
    if terminal is not None:
        histories.append(finish(histories[-1], terminal))
        assert histories[-1][-1].type == terminal
    for conditions in histories:
        true = {condition.type for condition in conditions if condition.is_true}
        assert not any(other in true for one in true for other in EXCLUSIVE[one])
        assert len({condition.type for condition in conditions}) == len(conditions)
    for before, after in pairwise(histories):
        for condition in before:
            kept = find_condition(after, condition.type)
            assert kept is not None
            assert (
                kept.status != condition.status
                or terminal
                or kept.last_transition_time == (condition.last_transition_time)
            )
