"""When an owner may count its cached children."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from clockwork import FakeClock
from informers.expectations import Expectations
from informers.owner import Owner

TTL_SECONDS = 300.0
OWNER = Owner("team/job", "uid-1")
NAMESAKE = Owner("team/job", "uid-2")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def expectations(clock: FakeClock) -> Expectations:
    return Expectations(ttl_seconds=TTL_SECONDS, clock=clock)


def add_children(expectations: Expectations, count: int) -> None:
    for number in range(count):
        expectations.child_added(OWNER, f"child-{number}", is_terminating=False)


def test_an_owner_without_expectations_is_satisfied(expectations: Expectations) -> None:
    assert expectations.is_satisfied(OWNER)


def test_X1_three_creates_need_three_children(expectations: Expectations) -> None:
    expectations.expect(OWNER, creates=3)
    add_children(expectations, 2)
    assert not expectations.is_satisfied(OWNER)
    add_children(expectations, 1)
    assert expectations.is_satisfied(OWNER)


def test_X1_a_create_that_failed_lowers_at_once(expectations: Expectations) -> None:
    expectations.expect(OWNER, creates=3)
    expectations.take_back_creates(OWNER)
    add_children(expectations, 2)
    assert expectations.is_satisfied(OWNER)


def test_X2_an_expectation_expires_with_a_warning(expectations: Expectations, clock: FakeClock) -> None:
    expectations.expect(OWNER, creates=1, deletes=["b", "a"])
    clock.step(TTL_SECONDS - 1)
    assert not expectations.is_satisfied(OWNER)
    clock.step(1)
    with capture_logs() as logs:
        assert expectations.is_satisfied(OWNER)
        assert expectations.is_satisfied(OWNER)
    (log,) = logs
    assert (log["log_level"], log["owner"], log["creates"], log["deletes"]) == ("warning", "team/job", 1, ["a", "b"])
    assert expectations.expired_total == 1


def test_X2_the_time_to_live_starts_anew_with_each_announcement(expectations: Expectations, clock: FakeClock) -> None:
    clock.step(1)
    expectations.expect(OWNER, creates=1)
    clock.step(TTL_SECONDS - 1)
    expectations.expect(OWNER, creates=1)
    clock.step(1)
    assert not expectations.is_satisfied(OWNER)


def test_X4_a_child_that_starts_to_terminate_counts_as_deleted_once(expectations: Expectations) -> None:
    expectations.expect(OWNER, deletes=["a", "b"])
    expectations.child_updated(OWNER, "a", is_terminating=False)
    expectations.child_updated(OWNER, "a", is_terminating=True)
    expectations.child_updated(OWNER, "a", is_terminating=True)
    expectations.child_deleted(OWNER, "a")
    assert not expectations.is_satisfied(OWNER)
    expectations.child_deleted(OWNER, "b")
    assert expectations.is_satisfied(OWNER)


def test_X4_a_child_that_appears_terminating_is_a_delete_and_no_create(expectations: Expectations) -> None:
    expectations.expect(OWNER, creates=1, deletes=["a"])
    expectations.child_added(OWNER, "a", is_terminating=True)
    assert not expectations.is_satisfied(OWNER)
    expectations.child_added(OWNER, "new", is_terminating=False)
    assert expectations.is_satisfied(OWNER)


def test_a_delete_that_found_nothing_is_taken_back(expectations: Expectations) -> None:
    expectations.expect(OWNER, deletes=["a"])
    expectations.take_back_delete(OWNER, "a")
    assert expectations.is_satisfied(OWNER)


def test_a_delete_of_another_incarnation_does_not_count(expectations: Expectations) -> None:
    expectations.expect(OWNER, deletes=["worker-0 of today"])
    expectations.child_deleted(OWNER, "worker-0 of yesterday")
    assert not expectations.is_satisfied(OWNER)


def test_surplus_children_are_harmless_and_not_credited_to_later_creates(expectations: Expectations) -> None:
    expectations.expect(OWNER, creates=1)
    add_children(expectations, 5)
    assert expectations.is_satisfied(OWNER)
    expectations.expect(OWNER, creates=1)
    assert not expectations.is_satisfied(OWNER)


def test_X6_a_namesake_inherits_nothing(expectations: Expectations) -> None:
    expectations.expect(OWNER, creates=1)
    assert expectations.is_satisfied(NAMESAKE)
    expectations.expect(NAMESAKE, creates=1)
    add_children(expectations, 1)
    assert not expectations.is_satisfied(NAMESAKE), "children of the old owner are not the new one's"
    expectations.child_added(NAMESAKE, "new", is_terminating=False)
    assert expectations.is_satisfied(NAMESAKE)


def test_X6_the_delete_of_an_owner_forgets_it_but_not_its_namesake(expectations: Expectations) -> None:
    expectations.expect(OWNER, creates=1)
    expectations.forget(NAMESAKE)
    assert not expectations.is_satisfied(OWNER)
    expectations.forget(OWNER)
    assert expectations.is_satisfied(OWNER)


@given(wanted=st.integers(0, 6), events=st.lists(st.sampled_from(["deliver", "sync"]), max_size=40))
def test_who_asks_before_reading_a_late_cache_never_creates_too_many(wanted: int, events: list[str]) -> None:
    """With random names nothing but the expectation keeps a second sync from creating again (1.11.1)."""
    expectations = Expectations(clock=FakeClock())
    server: list[str] = []
    cache: list[str] = []

    def deliver() -> None:
        if len(cache) < len(server):
            cache.append(server[len(cache)])
            expectations.child_added(OWNER, cache[-1], is_terminating=False)

    for event in events:
        if event == "deliver":
            deliver()
        elif expectations.is_satisfied(OWNER):
            deliver()  # an event between asking and reading does no harm
            missing = wanted - len(cache)
            expectations.expect(OWNER, creates=missing)
            server += [f"uid-{len(server) + number}" for number in range(missing)]
        assert len(server) <= wanted
