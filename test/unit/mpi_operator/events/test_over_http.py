"""Events through the real transport, against a server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from clockwork import FakeClock
from informers.resource import Resource
from informers.testing import FakeApiServer, faults
from mpi_operator.events import Correlation, Recorder, Series, Source
from test.builders.election import FixedRandom
from test.builders.event_server import a_job

CORE = Resource("", "v1", "events", "Event")
NEW = Resource("events.k8s.io", "v1", "events", "Event")


class Cluster:
    def __init__(self, stack: ExitStack) -> None:
        self.clock = FakeClock()
        self.server = stack.enter_context(FakeApiServer(CORE, NEW))
        self._api = stack.enter_context(self.server.transport())

    def recorder(self, flavour: Correlation | Series | None = None) -> Recorder:
        flavour = flavour or Correlation(Source("mpi-job-controller"))
        return Recorder(self._api, flavour, clock=self.clock, random=FixedRandom(0.0))

    def verbs(self) -> list[str]:
        return [request.verb for request in self.server.requests]

    def only(self, resource: Resource = CORE) -> dict[str, Any]:
        (event,) = self.server.objects(resource)
        return event


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(stack)


def record(recorder: Recorder, times: int) -> None:
    for _ in range(times):
        recorder.event(a_job(), "Normal", "MPIJobRunning", "MPIJob team/pi is running")


def test_V1_an_event_is_created_once_and_then_counted(cluster: Cluster) -> None:
    recorder = cluster.recorder()
    record(recorder, 3)
    assert recorder.close(30)
    assert cluster.verbs() == ["create", "patch", "patch"]
    event = cluster.only()
    assert (event["count"], event["involvedObject"]["kind"], event["metadata"]["namespace"]) == (3, "MPIJob", "team")


def test_V7_an_event_the_server_has_forgotten_is_created_anew_with_its_count(cluster: Cluster) -> None:
    flavour = Correlation(Source("mpi-job-controller"))
    before = cluster.recorder(flavour)
    record(before, 1)
    assert before.close(30)
    name = cluster.only()["metadata"]["name"]
    cluster.server.remove(CORE, "team", name)
    after = cluster.recorder(flavour)
    record(after, 1)
    assert after.close(30)
    assert cluster.verbs() == ["create", "patch", "create"]
    assert (cluster.only()["metadata"]["name"], cluster.only()["count"]) == (name, 2)


def test_a_post_whose_answer_was_lost_makes_one_event(cluster: Cluster) -> None:
    recorder = cluster.recorder()
    cluster.server.script(faults.DropRequest(after_write=True), verb="create")
    record(recorder, 1)
    cluster.server.await_requests(1, "create", CORE)
    cluster.server.await_requests(2, "create", CORE)
    assert recorder.close(30)
    assert cluster.only()["count"] == 1


def test_V10_closing_cuts_off_a_server_that_does_not_answer(cluster: Cluster) -> None:
    recorder = cluster.recorder()
    cluster.server.script(faults.IgnoreRequest(), verb="create")
    record(recorder, 1)
    cluster.server.await_requests(1, "create", CORE)
    assert not recorder.close(0)
    assert recorder.counts().failed == 1


def test_V12_the_new_flavour_makes_a_series(cluster: Cluster) -> None:
    recorder = cluster.recorder(Series(Source("mpi-job-controller"), started_at=0.0))
    record(recorder, 5)
    assert recorder.close(30)
    assert cluster.only(NEW)["series"]["count"] == 5
