from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mpi_operator.events.correlation import Correlation
from mpi_operator.events.event import Event, Source
from mpi_operator.events.spam_filter import SpamFilter
from mpi_operator.events.write import Flavour, Write
from test.builders.event_server import a_job, a_node, an_event

SOURCE = Source("mpi-job-controller")


def observe(events: list[Event], correlation: Correlation | None = None) -> list[Write | None]:
    correlation = correlation or Correlation(SOURCE)
    return [correlation.observe(event) for event in events]


def counts(writes: list[Write | None]) -> list[int | None]:
    return [None if write is None else msgspec.json.decode(write.manifest)["count"] for write in writes]


def manifest(write: Write | None) -> dict[str, Any]:
    assert write is not None
    content: dict[str, Any] = msgspec.json.decode(write.manifest)
    return content


def test_B246_the_object_has_exactly_these_fields() -> None:
    (write,) = observe([an_event()])
    assert write is not None
    assert manifest(write) == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": write.name, "namespace": "team"},
        "involvedObject": {
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "namespace": "team",
            "name": "pi",
            "uid": "job-uid",
            "resourceVersion": "7",
        },
        "type": "Normal",
        "reason": "MPIJobRunning",
        "message": "MPIJob team/pi is running",
        "source": {"component": "mpi-job-controller"},
        "reportingComponent": "mpi-job-controller",
        "firstTimestamp": "2030-06-01T12:00:00Z",
        "lastTimestamp": "2030-06-01T12:00:00Z",
        "count": 1,
    }
    assert write.name.startswith("pi.")
    assert write.patch is None


def test_a_source_may_name_its_host() -> None:
    (write,) = observe([an_event()], Correlation(Source("c", host="h")))
    assert manifest(write)["source"] == {"component": "c", "host": "h"}


def test_V1_the_same_again_patches_the_count() -> None:
    first, second = observe([an_event(), an_event(at=60)])
    assert first is not None
    assert second is not None
    assert (second.namespace, second.name) == (first.namespace, first.name)
    assert second.patch is not None
    assert msgspec.json.decode(second.patch) == {
        "count": 2,
        "lastTimestamp": "2030-06-01T12:01:00Z",
        "message": "MPIJob team/pi is running",
    }


def test_V1_eleven_times_the_same_is_a_count_of_eleven() -> None:
    assert counts(observe([an_event()] * 11)) == list(range(1, 12))


def test_V2_a_burst_of_26_and_one_more_is_left_out() -> None:
    writes = observe([an_event(at=float(second)) for second in range(27)])
    assert counts(writes) == [*range(1, 26), None, None]


def test_V2_what_the_filter_left_out_was_counted() -> None:
    correlation = Correlation(SOURCE)
    observe([an_event(at=float(second)) for second in range(27)], correlation)
    assert counts(observe([an_event(at=400.0)], correlation)) == [28]


def test_V2_eleven_at_30_seconds_from_another_are_all_sent() -> None:
    assert counts(observe([an_event(at=30.0 * number) for number in range(11)])) == list(range(1, 12))


def test_V2_the_filter_is_per_object() -> None:
    events = [an_event(regarding=a_job(f"job-{number}", uid=f"uid-{number}")) for number in range(31)]
    assert counts(observe(events)) == [1] * 31


def test_V3_the_tenth_similar_event_is_combined_and_the_eleventh_counts_it() -> None:
    writes = observe([an_event(message=f"message {number}") for number in range(11)])
    assert counts(writes) == [1] * 10 + [2]
    assert manifest(writes[9])["message"] == "(combined from similar events): message 9"
    assert manifest(writes[10])["message"] == "(combined from similar events): message 10"
    last = writes[10]
    assert last is not None
    assert last.patch is not None
    assert msgspec.json.decode(last.patch)["message"] == "(combined from similar events): message 10"


def test_V5_a_filter_can_be_given() -> None:
    writes = observe(
        [an_event(reason="A"), an_event(reason="B")], Correlation(SOURCE, spam_filter=SpamFilter(SOURCE, burst=1))
    )
    assert counts(writes) == [1, None]


def test_another_field_path_is_another_event() -> None:
    container = msgspec.structs.replace(a_job(), field_path="spec.containers{main}")
    assert counts(observe([an_event(), an_event(regarding=container)])) == [1, 1]


def test_another_version_of_the_object_is_the_same_event() -> None:
    newer = msgspec.structs.replace(a_job(), resource_version="8")
    assert counts(observe([an_event(), an_event(regarding=newer)])) == [1, 2]


def test_V9_an_object_without_a_namespace_has_its_events_in_default() -> None:
    (write,) = observe([an_event(regarding=a_node())])
    assert manifest(write)["metadata"]["namespace"] == "default"
    assert "namespace" not in manifest(write)["involvedObject"]


def test_V11_two_correlations_share_nothing() -> None:
    assert counts(observe([an_event()])) == counts(observe([an_event()])) == [1]


def test_V15_B248_a_long_message_is_cut_to_1024_bytes() -> None:
    (write,) = observe([an_event(message="é" * 550)])
    assert manifest(write)["message"] == "é" * 512


@pytest.mark.parametrize("remembered", [4096])
def test_what_was_seen_longest_ago_is_forgotten(remembered: int) -> None:
    correlation = Correlation(SOURCE)
    for number in range(remembered + 1):
        correlation.observe(an_event(regarding=a_job(f"job-{number}", uid=f"uid-{number}")))
    assert counts(observe([an_event(regarding=a_job("job-0", uid="uid-0"))], correlation)) == [1]
    assert counts(observe([an_event(regarding=a_job("job-2", uid="uid-2"))], correlation)) == [2]


def test_time_alone_writes_nothing() -> None:
    correlation: Flavour = Correlation(SOURCE)
    correlation.observe(an_event())
    assert (correlation.next_due(), correlation.collect_due(1e9), correlation.collect_rest()) == (None, (), ())
