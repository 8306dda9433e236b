from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mpi_operator.events.event import Source
from mpi_operator.events.series import Series
from mpi_operator.events.write import Write
from test.builders.event_server import a_job, a_node, an_event

MINUTE = 60.0


def a_series() -> Series:
    return Series(Source("mpi-job-controller", host="pod-1"), started_at=0.0)


def content(text: bytes | None) -> dict[str, Any]:
    assert text is not None
    decoded: dict[str, Any] = msgspec.json.decode(text)
    return decoded


def series_counts(writes: tuple[Write, ...]) -> list[int]:
    return [content(write.patch)["series"]["count"] for write in writes]


def test_1_10_2_the_object_has_exactly_these_fields() -> None:
    write = a_series().observe(an_event(action="Start", related=a_node()))
    assert write is not None
    assert write.patch is None
    assert content(write.manifest) == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": write.name, "namespace": "team"},
        "regarding": {
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "namespace": "team",
            "name": "pi",
            "uid": "job-uid",
            "resourceVersion": "7",
        },
        "related": {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "node-uid"},
        "type": "Normal",
        "reason": "MPIJobRunning",
        "action": "Start",
        "note": "MPIJob team/pi is running",
        "eventTime": "2030-06-01T12:00:00.000005Z",
        "reportingController": "mpi-job-controller",
        "reportingInstance": "pod-1",
    }


def test_an_event_without_an_action_is_its_own_action() -> None:
    write = a_series().observe(an_event())
    assert write is not None
    assert content(write.manifest)["action"] == "MPIJobRunning"


def test_V15_every_text_is_cut_to_what_the_api_allows() -> None:
    series = Series(Source("c", host="h" * 200), started_at=0.0)
    write = series.observe(an_event(message="é" * 550, reason="r" * 200, action="a" * 200))
    assert write is not None
    fields = content(write.manifest)
    assert fields["note"] == "é" * 512
    assert [len(fields[name]) for name in ("reason", "action", "reportingInstance")] == [128, 128, 128]


def test_V12_two_identical_events_are_one_post_and_one_series_of_two() -> None:
    series = a_series()
    first, second = series.observe(an_event()), series.observe(an_event(at=1.0))
    assert first is not None
    assert second is not None
    assert (first.patch, second.name) == (None, first.name)
    assert content(second.patch) == {"series": {"count": 2, "lastObservedTime": "2030-06-01T12:00:01.000005Z"}}


def test_1_10_2_further_events_only_count() -> None:
    series = a_series()
    writes = [series.observe(an_event(at=float(second))) for second in range(10)]
    assert [write is None for write in writes] == [False, False] + [True] * 8
    assert series_counts(series.collect_rest()) == [10]
    assert series.collect_rest() == ()


def test_1_10_2_the_note_is_not_in_the_key() -> None:
    series = a_series()
    series.observe(an_event(message="one"))
    second = series.observe(an_event(message="two"))
    assert second is not None
    assert second.patch is not None


@pytest.mark.parametrize(
    "other",
    [
        {"event_type": "Warning"},
        {"action": "Stop"},
        {"reason": "Other"},
        {"regarding": a_job("e")},
        {"related": a_node()},
    ],
)
def test_1_10_2_what_is_in_the_key_makes_another_object(other: dict[str, Any]) -> None:
    series = a_series()
    series.observe(an_event())
    write = series.observe(an_event(**other))
    assert write is not None
    assert write.patch is None


def test_V13_a_series_quiet_for_long_is_written_once_and_forgotten_and_a_fresh_event_stays() -> None:
    series = a_series()
    for _ in range(10):
        series.observe(an_event(reason="Quiet"))
    series.observe(an_event(reason="Fresh", at=8 * MINUTE))
    assert series_counts(series.collect_due(9 * MINUTE)) == [10]
    again = series.observe(an_event(reason="Quiet", at=9 * MINUTE))
    fresh = series.observe(an_event(reason="Fresh", at=9 * MINUTE))
    assert again is not None
    assert fresh is not None
    assert (again.patch is None, fresh.patch is None) == (True, False)


def test_1_10_2_a_single_event_quiet_for_long_is_forgotten_without_a_write() -> None:
    series = a_series()
    series.observe(an_event())
    assert series.collect_due(6 * MINUTE) == ()
    again = series.observe(an_event(at=6 * MINUTE))
    assert again is not None
    assert again.patch is None


def test_1_10_2_nothing_happens_before_its_time() -> None:
    series = a_series()
    series.observe(an_event())
    series.observe(an_event())
    assert series.next_due() == 6 * MINUTE
    assert series.collect_due(6 * MINUTE - 1) == ()


def test_V14_a_refresh_writes_each_living_series_and_keeps_it() -> None:
    series = a_series()
    for _ in range(2):
        series.observe(an_event(reason="Twice", at=28 * MINUTE))
    series.observe(an_event(reason="Once", at=28 * MINUTE))
    assert series_counts(series.collect_due(30 * MINUTE)) == [2]
    # Whether that write succeeded or failed: the series goes on counting.
    assert series.observe(an_event(reason="Twice", at=31 * MINUTE)) is None
    assert series_counts(series.collect_rest()) == [3]
