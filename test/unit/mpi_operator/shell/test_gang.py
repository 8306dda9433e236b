"""Which gang scheduler's objects are used (G1, B180, B189, B276)."""

from __future__ import annotations

import pytest

from clockwork import FakeClock, OwnedThread, StopToken
from informers.resource import Resource
from informers.testing import FakeApiServer, faults
from mpi_operator.shell.gang import RETRY_SECONDS, GangDiscovery, GangResources
from mpi_operator.shell.resources import PODS

VOLCANO = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
COSCHEDULING = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")
WORKLOAD_135 = Resource("scheduling.k8s.io", "v1alpha1", "workloads", "Workload")
WORKLOAD_136 = Resource("scheduling.k8s.io", "v1alpha2", "workloads", "Workload")
POD_GROUP_136 = Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")


@pytest.mark.parametrize(
    ("gang_scheduling", "served", "expected"),
    [
        pytest.param("volcano", (VOLCANO,), GangResources((VOLCANO,), are_served=True), id="B180 volcano"),
        pytest.param("volcano", (), GangResources((VOLCANO,)), id="B180 volcano is wanted even where it is missing"),
        pytest.param(
            "my-scheduler",
            (COSCHEDULING,),
            GangResources((COSCHEDULING,), are_served=True),
            id="B189 scheduler-plugins",
        ),
        pytest.param(
            "kubernetes", (WORKLOAD_135,), GangResources((WORKLOAD_135,), are_served=True), id="G1 native in 1.35"
        ),
        pytest.param(
            "kubernetes",
            (WORKLOAD_135, WORKLOAD_136, POD_GROUP_136),
            GangResources((WORKLOAD_136, POD_GROUP_136), are_served=True),
            id="G1 the newest native version",
        ),
        pytest.param(
            "kubernetes",
            (WORKLOAD_135, WORKLOAD_136),
            GangResources((WORKLOAD_135,), are_served=True),
            id="G1 a native version of which a part is missing is not used",
        ),
        pytest.param("kubernetes", (), GangResources(), id="G1 without a native API pods are scheduled one by one"),
    ],
)
def test_gang_resources(gang_scheduling: str, served: tuple[Resource, ...], expected: GangResources) -> None:
    with FakeApiServer(PODS, *served) as server, server.transport() as api:
        discovery = GangDiscovery(api, gang_scheduling)
        assert discovery.check() == "not asked yet"
        assert discovery.find(StopToken()) == expected
        assert (discovery.check() is None) is expected.are_served


@pytest.mark.parametrize(
    ("gang_scheduling", "fault"),
    [
        pytest.param(
            "volcano",
            "podgroups.scheduling.volcano.sh v1beta1 is not served, so no gang can be described; install its CRD,"
            " the operator waits for it",
            id="B300 B310 a missing CRD",
        ),
        pytest.param(
            "kubernetes",
            "podgroups.scheduling.k8s.io v1beta1 or podgroups.scheduling.k8s.io v1alpha2 or workloads.scheduling.k8s.io"
            " v1alpha1 is not served, so pods are scheduled one by one; turn it on, the operator waits for it",
            id="G1 a missing API",
        ),
    ],
)
def test_what_is_missing_is_said(gang_scheduling: str, fault: str) -> None:
    with FakeApiServer(PODS) as server, server.transport() as api:
        discovery = GangDiscovery(api, gang_scheduling)
        discovery.find(StopToken())
        assert discovery.check() == fault


def test_A2_10_a_server_that_does_not_answer_is_asked_again() -> None:
    clock = FakeClock()
    found: list[GangResources] = []
    with FakeApiServer(VOLCANO) as server, server.transport() as api:
        server.script(faults.Respond(403, reason="Forbidden"), times=1)
        discovery = GangDiscovery(api, "volcano")
        thread = OwnedThread("find", lambda: found.append(discovery.find(StopToken(clock=clock)))).start()
        clock.await_waiters(1)
        assert "failed" in (discovery.check() or "")
        clock.step(RETRY_SECONDS)
        thread.join()
    assert found == [GangResources((VOLCANO,), are_served=True)]


def test_an_API_that_arrives_later_is_found() -> None:
    clock = FakeClock()
    found: list[GangResources] = []
    with FakeApiServer(PODS) as server, server.transport() as api:
        discovery = GangDiscovery(api, "kubernetes")
        assert not discovery.find(StopToken()).are_served
        thread = OwnedThread("wait", lambda: found.append(discovery.wait(StopToken(clock=clock)))).start()
        clock.await_waiters(1)
        clock.step(RETRY_SECONDS)
        clock.await_waiters(1)
        server.put(WORKLOAD_135, {"metadata": {"name": "any", "namespace": "default"}})
        clock.step(RETRY_SECONDS)
        thread.join()
        assert discovery.check() is None
    assert found == [GangResources((WORKLOAD_135,), are_served=True)]


def test_a_stop_ends_the_question() -> None:
    stop = StopToken()
    stop.set("enough")
    with FakeApiServer() as server, server.transport() as api:
        discovery = GangDiscovery(api, "volcano")
        assert not discovery.find(stop).are_served
        assert discovery.wait(stop) == GangResources()
        assert server.requests == ()
