"""Which gang scheduler's objects are used (G1, B180, B189, B276)."""

from __future__ import annotations

import pytest

from clockwork import StopToken
from informers.resource import Resource
from informers.testing import FakeApiServer
from mpi_operator.shell.gang import GangResources, find_gang_resources
from mpi_operator.shell.resources import PODS

VOLCANO = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
COSCHEDULING = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")
WORKLOAD_135 = Resource("scheduling.k8s.io", "v1alpha1", "workloads", "Workload")
WORKLOAD_136 = Resource("scheduling.k8s.io", "v1alpha2", "workloads", "Workload")
POD_GROUP_136 = Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")


@pytest.mark.parametrize(
    ("gang_scheduling", "served", "expected"),
    [
        pytest.param("", (VOLCANO,), GangResources(), id="B276 without the flag there is none"),
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
        assert find_gang_resources(api, gang_scheduling, StopToken()) == expected


def test_a_stop_ends_the_question() -> None:
    stop = StopToken()
    stop.set("enough")
    with FakeApiServer() as server, server.transport() as api:
        assert not find_gang_resources(api, "volcano", stop).are_served
        assert server.requests == ()
