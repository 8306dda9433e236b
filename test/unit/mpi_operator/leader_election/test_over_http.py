"""The election through the real transport, against a server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from informers.testing import FakeApiServer, faults
from mpi_operator.leader_election.lease import LEASES
from mpi_operator.leader_election.outcome import End
from test.builders.election import Bench
from test.builders.lease_server import LeaseServer


class Cluster:
    """A server and any number of candidates, each with a connection of its own."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.server = stack.enter_context(FakeApiServer(LEASES))

    def candidate(self, identity: str) -> Bench:
        transport = self._stack.enter_context(self.server.transport())
        return Bench(LeaseServer(), api=transport, identity=identity)

    def spec(self) -> dict[str, Any]:
        lease = self.server.find(LEASES, "mpi-operator", "mpi-operator")
        assert lease is not None
        spec: dict[str, Any] = lease["spec"]
        return spec

    def verbs(self) -> list[str]:
        return [request.verb for request in self.server.requests if request.verb != "watch"]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(stack)


def test_B288_the_lease_is_created_in_the_lock_namespace_and_released(cluster: Cluster) -> None:
    bench = cluster.candidate("one").lead()
    assert cluster.spec() == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": "2030-01-01T00:00:00.000000Z",
        "renewTime": "2030-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }
    bench.step(2)
    bench.stop.set("SIGTERM")
    assert bench.finish().is_released
    assert (cluster.spec()["holderIdentity"], cluster.spec()["leaseDurationSeconds"]) == ("", 1)
    assert cluster.verbs() == ["get", "create", "replace", "get", "replace"]


def test_1_9_5_a_standby_leads_as_soon_as_the_leader_has_released(cluster: Cluster) -> None:
    leader, standby = cluster.candidate("one").lead(), cluster.candidate("two").start()
    cluster.server.await_watches(1, LEASES)
    standby.clock.await_waiters(1)
    leader.stop.set("SIGTERM")
    assert leader.finish().is_released
    standby.diary.await_entry("work started")
    assert standby.clock.monotonic() == 0
    assert (cluster.spec()["holderIdentity"], standby.elector.epoch) == ("two", 1)
    standby.stop.set("SIGTERM")
    assert standby.finish().end is End.STOPPED


def test_E16_a_renewal_whose_answer_was_lost_goes_on(cluster: Cluster) -> None:
    bench = cluster.candidate("one").lead()
    cluster.server.script(faults.DropRequest(after_write=True), verb="replace")
    bench.step(2)
    bench.step(2)
    assert bench.elector.is_leader()
    assert cluster.spec()["leaseTransitions"] == 0
    bench.stop.set("SIGTERM")
    assert bench.finish().is_released


def test_E11_a_stop_while_a_renewal_hangs_still_releases(cluster: Cluster) -> None:
    bench = cluster.candidate("one").lead()
    cluster.server.script(faults.IgnoreRequest(), verb="replace")
    bench.clock.step(2)
    cluster.server.await_requests(1, "replace", LEASES)
    bench.stop.set("SIGTERM")
    assert bench.finish().is_released
    assert cluster.spec()["holderIdentity"] == ""


def test_1_9_6_a_renewal_that_hangs_is_cut_off_at_the_renew_deadline(cluster: Cluster) -> None:
    bench = cluster.candidate("one").lead()
    cluster.server.script(faults.IgnoreRequest(), verb="replace")
    bench.clock.step(2)
    cluster.server.await_requests(1, "replace", LEASES)
    bench.clock.step(8)
    outcome = bench.finish()
    assert (outcome.end, outcome.workers_ended, outcome.is_released) == (End.LOST, True, False)


def test_E18_a_stop_during_a_hanging_acquisition_returns(cluster: Cluster) -> None:
    cluster.server.script(faults.IgnoreRequest(), verb="get")
    bench = cluster.candidate("one").start()
    cluster.server.await_requests(1, "get", LEASES)
    bench.stop.set("SIGTERM")
    assert bench.finish().end is End.STOPPED
    assert cluster.verbs() == ["get"]
