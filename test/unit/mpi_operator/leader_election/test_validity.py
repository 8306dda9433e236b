from __future__ import annotations

from clockwork import FakeClock
from mpi_operator.leader_election.term import build_term
from mpi_operator.leader_election.validity import NEVER_LED, Validity
from test.builders.lease_server import options


def test_without_a_term_nothing_is_valid() -> None:
    validity = Validity(FakeClock())
    assert not validity.is_leader()
    assert (validity.seconds_to_act(), validity.seconds_valid(), validity.epoch) == (0, 0, NEVER_LED)
    assert validity.last_renew_age_seconds() is None


def test_1_9_6_leadership_ends_by_itself_as_time_goes_by() -> None:
    clock = FakeClock()
    validity = Validity(clock)
    validity.begin(build_term(2, 0.0, options()))
    clock.step(4)
    assert (validity.seconds_to_act(), validity.seconds_valid(), validity.last_renew_age_seconds()) == (6, 11, 4)
    clock.step(6)
    assert not validity.is_leader()
    assert (validity.seconds_to_act(), validity.seconds_valid(), validity.epoch) == (0, 5, 2)


def test_a_term_is_extended_while_it_is_good() -> None:
    clock = FakeClock()
    validity = Validity(clock)
    validity.begin(build_term(2, 0.0, options()))
    clock.step(9)
    assert validity.extend(build_term(2, 8.0, options()))
    clock.step(8)
    assert validity.is_leader()


def test_once_over_a_term_is_not_extended() -> None:
    clock = FakeClock()
    validity = Validity(clock)
    validity.begin(build_term(2, 0.0, options()))
    clock.step(10)
    assert not validity.extend(build_term(2, 9.0, options()))
    assert not validity.is_leader()


def test_an_ended_term_keeps_its_epoch_only() -> None:
    validity = Validity(FakeClock())
    validity.begin(build_term(2, 0.0, options()))
    validity.end()
    assert (validity.is_leader(), validity.term, validity.epoch) == (False, None, 2)
    assert not validity.extend(build_term(2, 0.0, options()))


def test_a_revoked_term_ends_acting_at_once_but_keeps_its_times() -> None:
    clock = FakeClock()
    validity = Validity(clock)
    validity.begin(build_term(2, 0.0, options()))
    clock.step(4)
    validity.revoke()
    assert not validity.is_leader()
    assert not validity.extend(build_term(2, 3.0, options()))
    assert (validity.seconds_valid(), validity.last_renew_age_seconds()) == (11, 4)
    validity.begin(build_term(3, 4.0, options()))
    assert validity.is_leader()


class SuspendedClock(FakeClock):
    """A machine that slept: boottime went on while monotonic time stood still."""

    def boottime(self) -> float:
        return super().boottime() + 100


def test_1_9_6_the_clock_counts_the_time_of_a_suspended_machine() -> None:
    validity = Validity(SuspendedClock())
    validity.begin(build_term(2, 0.0, options()))
    assert not validity.is_leader()
