from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from clockwork import StopToken
from informers.errors import ApiError, ConnectionLost, InternalError
from mpi_operator.leader_election.attempt import (
    Attempt,
    Memory,
    Moment,
    Reply,
    Request,
    Verdict,
    attempt,
)
from mpi_operator.leader_election.client import LeaseClient
from mpi_operator.leader_election.lease import Lease
from test.builders.lease_server import LeaseServer, a_spec, options

WALL = datetime(2030, 6, 1, 12, 0, 0, 5, tzinfo=UTC)
WALL_TEXT = "2030-06-01T12:00:00.000005Z"


class Candidate:
    """Drives attempts against a server, at times the test chooses."""

    def __init__(self, server: LeaseServer, **changes: Any) -> None:
        self.server = server
        self.options = options(**changes)
        self.client = LeaseClient(server, self.options)
        self.memory = Memory()
        self.wall = WALL

    def attempt(self, now: float, *, takes: float = 0.0) -> Attempt:
        """Make an attempt at `now` whose requests take `takes` seconds each."""
        steps = attempt(self.memory, self.options, Moment(now, self.wall))
        request: Request = next(steps)
        while True:
            sent_at = now
            now += takes
            reply = Reply(sent_at, Moment(now, self.wall), self._send(request))
            try:
                request = steps.send(reply)
            except StopIteration as end:
                result: Attempt = end.value
                self.memory = result.memory
                return result

    def _send(self, request: Request) -> Lease | ApiError:
        try:
            return self.client.send(request, timeout=5, stop=StopToken())
        except ApiError as error:
            return error


def fail_once(server: LeaseServer, operation: str, error: ApiError, *, after: bool = False) -> None:
    pending = [error]

    def hook(seen: str) -> None:
        if seen == operation and pending:
            raise pending.pop()

    if after:
        server.after = hook
    else:
        server.before = hook


def test_E1_without_a_lease_it_is_created_with_no_transitions() -> None:
    server = LeaseServer()
    result = Candidate(server).attempt(0)
    assert result.verdict is Verdict.HELD
    assert server.spec == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": WALL_TEXT,
        "renewTime": WALL_TEXT,
        "leaseTransitions": 0,
    }


@pytest.mark.parametrize("spec", [None, {}])
def test_E2_an_empty_lease_is_taken_with_one_transition(spec: dict[str, Any] | None) -> None:
    server = LeaseServer()
    server.put(spec)
    result = Candidate(server).attempt(0)
    assert result.verdict is Verdict.HELD
    assert (server.holder, server.spec["leaseTransitions"]) == ("me", 1)
    assert server.operations == ["get", "update"]


def test_E4_a_lease_without_a_holder_is_taken_at_once_even_if_observed_in_the_future() -> None:
    server = LeaseServer(a_spec("other"))
    candidate = Candidate(server)
    assert candidate.attempt(1000).verdict is Verdict.REFUSED
    server.change(holderIdentity="", leaseDurationSeconds=1)
    assert candidate.memory.observed_at > 900
    assert candidate.attempt(900).verdict is Verdict.HELD
    assert server.spec["leaseTransitions"] == 4
    assert server.spec["acquireTime"] == WALL_TEXT


def test_E5_a_record_that_stood_still_for_its_duration_is_taken_over() -> None:
    server = LeaseServer(a_spec("other"))
    candidate = Candidate(server)
    first, second, third = (candidate.attempt(now) for now in (0, 14.9, 15))
    assert [first.verdict, second.verdict, third.verdict] == [Verdict.REFUSED, Verdict.REFUSED, Verdict.HELD]
    assert (server.holder, server.spec["leaseTransitions"], server.spec["acquireTime"]) == ("me", 4, WALL_TEXT)


def test_E5_a_fresh_record_is_refused_and_its_holder_named() -> None:
    server = LeaseServer(a_spec("other"))
    result = Candidate(server).attempt(0)
    assert (result.verdict, result.reason) == (Verdict.REFUSED, "the Lease is held by other")
    assert result.memory.lease is not None
    assert result.memory.lease.spec.holder == "other"
    assert server.operations == ["get"]


def test_E5_each_change_of_the_record_starts_the_wait_anew() -> None:
    server = LeaseServer(a_spec("other"))
    candidate = Candidate(server)
    for now in range(0, 100, 10):
        server.change(renewTime=str(now))
        assert candidate.attempt(now).verdict is Verdict.REFUSED


def test_1_9_4_the_duration_counted_is_the_one_in_the_record() -> None:
    server = LeaseServer(a_spec("other", leaseDurationSeconds=60))
    candidate = Candidate(server)
    assert [candidate.attempt(now).verdict for now in (0, 59, 60)] == ["refused", "refused", "held"]


def test_a_record_without_a_duration_is_given_our_own() -> None:
    server = LeaseServer(a_spec("other", leaseDurationSeconds=None))
    candidate = Candidate(server)
    assert [candidate.attempt(now).verdict for now in (0, 14, 15)] == ["refused", "refused", "held"]


def test_1_9_4_a_change_outside_the_spec_does_not_prolong_the_wait() -> None:
    server = LeaseServer(a_spec("other"))
    candidate = Candidate(server)
    candidate.attempt(0)
    server.put(server.spec, labels={"seen": "yes"})
    assert candidate.attempt(15).verdict is Verdict.HELD


def test_E6_its_own_record_is_renewed_without_a_transition() -> None:
    server = LeaseServer(a_spec("me", renewTime="2029-01-01T00:00:00.000000Z"))
    result = Candidate(server).attempt(0)
    assert result.verdict is Verdict.HELD
    assert server.spec == a_spec("me", renewTime=WALL_TEXT)


@pytest.mark.parametrize("renew_time", ["1999-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z", None])
def test_E7_renew_time_is_never_compared_with_a_clock(renew_time: str | None) -> None:
    server = LeaseServer(a_spec("other", renewTime=renew_time))
    candidate = Candidate(server)
    assert [candidate.attempt(now).verdict for now in (0, 14.9, 15)] == ["refused", "refused", "held"]


def test_E8_a_leader_renews_without_reading() -> None:
    server = LeaseServer()
    candidate = Candidate(server)
    verdicts = [candidate.attempt(now).verdict for now in (0, 2, 4)]
    assert verdicts == [Verdict.HELD] * 3
    assert server.operations == ["get", "create", "update", "update"]


def test_E8_after_a_failing_renewal_it_reads_and_then_renews_without_reading_again() -> None:
    server = LeaseServer()
    candidate = Candidate(server)
    candidate.attempt(0)
    server.put(server.spec, labels={"somebody": "else"})
    slow, fast = candidate.attempt(2), candidate.attempt(4)
    assert (slow.verdict, slow.is_slow_path, fast.is_slow_path) == (Verdict.HELD, True, False)
    assert server.operations == ["get", "create", "update", "get", "update", "update"]
    assert (server.spec["acquireTime"], server.spec["leaseTransitions"]) == (WALL_TEXT, 0)


def test_1_9_4_a_leader_whose_lease_may_have_expired_reads_first_and_does_not_come_back() -> None:
    server = LeaseServer()
    candidate = Candidate(server)
    candidate.attempt(0)
    assert candidate.attempt(15).verdict is Verdict.LOST
    assert server.operations == ["get", "create", "get", "update"]


def test_E14_a_lease_marked_for_another_holder_is_not_renewed() -> None:
    server = LeaseServer()
    candidate = Candidate(server)
    candidate.attempt(0)
    server.change(preferredHolder="better")
    before = server.spec
    for now in (2, 4):
        result = candidate.attempt(now)
        assert (result.verdict, result.reason) == (Verdict.FAILED, "the Lease is marked for better, it is not renewed")
    assert server.spec == before
    assert server.operations == ["get", "create", "update", "get", "get"]


def test_E16_a_renewal_whose_answer_was_lost_is_found_by_reading() -> None:
    server = LeaseServer()
    candidate = Candidate(server)
    candidate.attempt(0)
    fail_once(server, "update", ConnectionLost("reset"), after=True)
    result = candidate.attempt(2)
    assert result.verdict is Verdict.HELD
    assert server.operations == ["get", "create", "update", "get", "update"]
    assert server.spec["leaseTransitions"] == 0


def test_E16_a_renewal_and_a_read_that_were_lost_are_caught_up_by_the_next_attempt() -> None:
    server = LeaseServer()
    candidate = Candidate(server)
    candidate.attempt(0)
    fail_once(server, "update", ConnectionLost("reset"), after=True)
    server.before = lambda operation: (_ for _ in ()).throw(ConnectionLost("gone")) if operation == "get" else None
    lost = candidate.attempt(2)
    assert (lost.verdict, type(lost.error)) == (Verdict.FAILED, ConnectionLost)
    assert lost.memory.term is not None
    server.before = lambda _: None
    assert candidate.attempt(4).verdict is Verdict.HELD
    assert server.spec["leaseTransitions"] == 0


def test_an_acquisition_whose_answer_was_lost_is_found_by_reading() -> None:
    server = LeaseServer(a_spec(""))
    candidate = Candidate(server)
    fail_once(server, "update", ConnectionLost("reset"), after=True)
    assert candidate.attempt(0).verdict is Verdict.FAILED
    assert candidate.attempt(2).verdict is Verdict.HELD
    assert server.spec["leaseTransitions"] == 4


def test_1_9_4_somebody_quicker_to_create_is_no_error() -> None:
    server = LeaseServer()
    server.before = lambda operation: server.put(a_spec("other")) if operation == "create" else None
    result = Candidate(server).attempt(0)
    assert (result.verdict, result.error) == (Verdict.FAILED, None)


def test_1_9_4_somebody_quicker_to_update_is_no_error() -> None:
    server = LeaseServer(a_spec(""))
    server.before = lambda operation: server.change(holderIdentity="other") if operation == "update" else None
    result = Candidate(server).attempt(0)
    assert (result.verdict, result.error, server.holder) == (Verdict.FAILED, None, "other")


def test_1_9_6_the_term_counts_from_the_sending_of_the_write() -> None:
    server = LeaseServer()
    candidate = Candidate(server)
    term = candidate.attempt(100, takes=3).memory.term
    assert term is not None
    assert (term.renew_sent_at, term.must_stop_by, term.valid_until) == (103, 113, 118)
    term = candidate.attempt(106, takes=4).memory.term
    assert term is not None
    assert term.renew_sent_at == 106


def test_1_9_6_an_answer_later_than_the_renew_deadline_does_not_lead() -> None:
    candidate = Candidate(LeaseServer())
    late = candidate.attempt(0, takes=10)
    assert (late.verdict, late.memory.term) == (Verdict.FAILED, None)
    assert candidate.attempt(30).verdict is Verdict.HELD


def test_a_renewal_answered_after_the_old_deadline_does_not_bring_leadership_back() -> None:
    candidate = Candidate(LeaseServer())
    candidate.attempt(0)
    late = candidate.attempt(8, takes=3)
    assert (late.verdict, late.memory.term) == (Verdict.LOST, None)


@pytest.mark.parametrize(
    ("holder", "reason"),
    [("other", "the Lease is held by other"), ("", "the Lease was emptied by somebody else")],
)
def test_a_leader_that_reads_of_another_or_no_holder_has_lost(holder: str, reason: str) -> None:
    server = LeaseServer()
    candidate = Candidate(server)
    candidate.attempt(0)
    server.change(holderIdentity=holder)
    result = candidate.attempt(2)
    assert (result.verdict, result.reason, result.memory.term) == (Verdict.LOST, reason, None)
    assert server.holder == holder


def test_1_9_7_a_conflict_alone_is_no_proof_of_loss() -> None:
    server = LeaseServer()
    candidate = Candidate(server)
    candidate.attempt(0)
    server.before = lambda operation: server.put(server.spec, labels={}) if operation == "update" else None
    result = candidate.attempt(2)
    assert (result.verdict, result.memory.term) == (Verdict.FAILED, candidate.memory.term)


def test_a_leader_whose_lease_was_deleted_creates_it_and_keeps_its_epoch() -> None:
    server = LeaseServer(a_spec(""))
    candidate = Candidate(server)
    candidate.attempt(0)
    server.delete()
    result = candidate.attempt(2)
    assert result.verdict is Verdict.HELD
    assert server.spec["leaseTransitions"] == 4


def test_B295_a_missing_lock_namespace_fails_and_is_tried_again() -> None:
    server = LeaseServer()
    fail_once(server, "create", InternalError("namespaces mpi-operator not found", code=500))
    candidate = Candidate(server)
    assert candidate.attempt(0).verdict is Verdict.FAILED
    assert candidate.attempt(2).verdict is Verdict.HELD


def test_E20_times_are_written_in_utc_whatever_the_zone() -> None:
    server = LeaseServer()
    candidate = Candidate(server)
    candidate.wall = WALL.astimezone(timezone(timedelta(hours=5, minutes=30)))
    candidate.attempt(0)
    assert server.spec["renewTime"] == server.spec["acquireTime"] == WALL_TEXT
