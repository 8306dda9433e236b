from __future__ import annotations

import pytest

from mpi_operator.events.aggregation import Key
from mpi_operator.events.event import Event, Source
from mpi_operator.events.spam_filter import SpamFilter, build_spam_key
from test.builders.event_server import a_job, an_event

SOURCE = Source("mpi-job-controller")


def test_V2_a_burst_of_25_passes_and_the_next_does_not() -> None:
    spam_filter = SpamFilter(SOURCE)
    admitted = [spam_filter.admit(an_event(at=float(second))) for second in range(27)]
    assert admitted == [True] * 25 + [False] * 2


@pytest.mark.parametrize(("pause", "expected"), [(299.0, False), (300.0, True)])
def test_one_token_comes_back_every_300_seconds(pause: float, expected: bool) -> None:
    spam_filter = SpamFilter(SOURCE)
    for _ in range(25):
        spam_filter.admit(an_event())
    assert spam_filter.admit(an_event(at=pause)) is expected
    assert not spam_filter.admit(an_event(at=pause))


def test_a_bucket_never_holds_more_than_its_burst() -> None:
    spam_filter = SpamFilter(SOURCE, burst=1)
    assert spam_filter.admit(an_event())
    assert [spam_filter.admit(an_event(at=100_000.0)) for _ in range(2)] == [True, False]


def test_V5_the_reason_does_not_make_another_bucket() -> None:
    spam_filter = SpamFilter(SOURCE, burst=1)
    assert [spam_filter.admit(an_event(reason=reason)) for reason in ("A", "B")] == [True, False]


def test_V5_a_key_with_the_reason_does() -> None:
    def build_key(source: Source, event: Event) -> Key:
        return (*build_spam_key(source, event), event.reason)

    spam_filter = SpamFilter(SOURCE, burst=1, build_key=build_key)
    assert [spam_filter.admit(an_event(reason=reason)) for reason in ("A", "B", "B")] == [True, True, False]


def test_the_type_makes_another_bucket() -> None:
    spam_filter = SpamFilter(SOURCE, burst=1)
    assert spam_filter.admit(an_event())
    assert spam_filter.admit(an_event(event_type="Warning"))


def test_names_that_would_read_alike_joined_have_buckets_of_their_own() -> None:
    spam_filter = SpamFilter(SOURCE, burst=1)
    assert spam_filter.admit(an_event(regarding=a_job(namespace="a", name="bc")))
    assert spam_filter.admit(an_event(regarding=a_job(namespace="ab", name="c")))
