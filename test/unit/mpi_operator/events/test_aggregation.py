from __future__ import annotations

from typing import Any

import pytest

from mpi_operator.events.aggregation import Aggregation
from mpi_operator.events.event import Event, Source
from test.builders.event_server import a_job, an_event


def messages(events: list[Event]) -> list[str]:
    aggregation = Aggregation(Source("mpi-job-controller"))
    return [aggregation.aggregate(event).message for event in events]


def test_V3_the_tenth_distinct_message_of_a_group_is_combined_and_so_is_the_eleventh() -> None:
    seen = messages([an_event(message=f"message {number}") for number in range(11)])
    assert seen[:9] == [f"message {number}" for number in range(9)]
    assert seen[9:] == ["(combined from similar events): message 9", "(combined from similar events): message 10"]


def test_V3_combined_events_share_one_key() -> None:
    aggregation = Aggregation(Source("mpi-job-controller"))
    keys = [aggregation.aggregate(an_event(message=f"message {number}")).key for number in range(30)]
    assert len(set(keys[:9])) == 9
    assert len(set(keys[9:])) == 1


def test_V1_equal_messages_are_one_distinct_message() -> None:
    assert messages([an_event()] * 11) == [an_event().message] * 11


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"regarding": a_job("e")}, id="another object"),
        pytest.param({"regarding": a_job(uid="second-life")}, id="another life of the object"),
        pytest.param({"reason": "MPIJobFailed"}, id="another reason"),
        pytest.param({"event_type": "Warning"}, id="another type"),
    ],
)
def test_a_group_is_source_object_type_and_reason(other: dict[str, Any]) -> None:
    events = [an_event(message=f"message {number}") for number in range(9)]
    assert messages([*events, an_event(message="tenth", **other)])[-1] == "tenth"


def test_a_new_version_of_the_object_stays_in_its_group() -> None:
    events = [an_event(message=f"message {number}") for number in range(9)]
    newer = a_job()
    tenth = an_event(message="tenth", regarding=type(newer)(**{**_fields(newer), "resource_version": "8"}))
    assert messages([*events, tenth])[-1] == "(combined from similar events): tenth"


def _fields(reference: Any) -> dict[str, Any]:
    return {field: getattr(reference, field) for field in reference.__struct_fields__}


@pytest.mark.parametrize(("pause", "is_combined"), [(600.0, True), (600.1, False)])
def test_the_window_ends_after_ten_minutes_of_silence(pause: float, is_combined: bool) -> None:
    events = [an_event(message=f"message {number}") for number in range(9)]
    last = messages([*events, an_event(message="tenth", at=pause)])[-1]
    assert last.startswith("(combined") is is_combined


def test_the_window_rolls_with_each_event() -> None:
    events = [an_event(message=f"message {number}", at=number * 500.0) for number in range(10)]
    assert messages(events)[-1] == "(combined from similar events): message 9"
