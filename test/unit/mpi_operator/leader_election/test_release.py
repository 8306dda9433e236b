from __future__ import annotations

from datetime import UTC, datetime

import pytest

from clockwork import StopToken
from informers.errors import ApiError, ConnectionLost
from mpi_operator.leader_election.attempt import Moment, Reply
from mpi_operator.leader_election.client import LeaseClient
from mpi_operator.leader_election.lease import Lease
from mpi_operator.leader_election.release import Release, release
from test.builders.lease_server import LeaseServer, a_spec, options

MOMENT = Moment(50.0, datetime(2030, 6, 1, 12, tzinfo=UTC))
TIME = "2030-06-01T12:00:00.000000Z"


def run(server: LeaseServer) -> Release:
    client = LeaseClient(server, options())
    steps = release("me")
    request = next(steps)
    while True:
        result: Lease | ApiError
        try:
            result = client.send(request, timeout=5, stop=StopToken())
        except ApiError as error:
            result = error
        try:
            request = steps.send(Reply(50.0, MOMENT, result))
        except StopIteration as end:
            verdict: Release = end.value
            return verdict


def test_E9_a_release_reads_first_and_empties_the_holder() -> None:
    server = LeaseServer(a_spec("me", leaseTransitions=7, strategy="kept"))
    assert run(server) is Release.DONE
    assert server.operations == ["get", "update"]
    assert server.spec == {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": TIME,
        "renewTime": TIME,
        "leaseTransitions": 7,
        "strategy": "kept",
    }


@pytest.mark.parametrize("holder", ["other", ""])
def test_E9_a_lease_that_is_not_ours_is_not_written(holder: str) -> None:
    server = LeaseServer(a_spec(holder))
    assert run(server) is Release.NOT_OURS
    assert server.operations == ["get"]


def test_E9_a_lease_that_is_gone_is_not_written() -> None:
    server = LeaseServer()
    assert run(server) is Release.NOT_OURS
    assert server.operations == ["get"]


def test_1_9_7_a_conflict_is_followed_by_another_look() -> None:
    server = LeaseServer(a_spec("me"))
    pending = ["one change"]
    server.before = lambda operation: (
        server.put(server.spec, labels={"x": pending.pop()}) if operation == "update" and pending else None
    )
    assert run(server) is Release.DONE
    assert server.operations == ["get", "update", "get", "update"]


def test_1_9_7_after_a_conflict_a_lease_that_changed_hands_is_left_alone() -> None:
    server = LeaseServer(a_spec("me"))
    server.before = lambda operation: server.change(holderIdentity="other") if operation == "update" else None
    assert run(server) is Release.NOT_OURS
    assert server.holder == "other"


@pytest.mark.parametrize("operation", ["get", "update"])
def test_a_release_that_fails_says_so(operation: str) -> None:
    server = LeaseServer(a_spec("me"))

    def fail(seen: str) -> None:
        if seen == operation:
            raise ConnectionLost("reset")

    server.before = fail
    assert run(server) is Release.FAILED
    assert server.holder == "me"
