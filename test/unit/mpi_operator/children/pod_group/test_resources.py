"""What a gang needs together (B161-B173, A2.3, A2.4, A2.8)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings

from mpi_operator.api.types import MPIJob, ReplicaSpec
from mpi_operator.children.pod_group.quantity import parse_quantity
from mpi_operator.children.pod_group.resources import pod_requests, sum_requests
from mpi_operator.children.pod_group.scheduler import Gang, build_gang
from test.builders.jobs import JSONObject, a_job, a_template
from test.builders.strategies import valid_jobs

LARGE = {"cpu": "100", "memory": "512Gi", "example.com/gpu": "40"}


def requests(**amounts: str) -> JSONObject:
    """A container's resources."""
    return {"resources": {"requests": amounts}}


def a_role(*containers: JSONObject, **spec: Any) -> JSONObject:
    """A replica spec with these containers."""
    named = [{"name": f"c{index}", "image": "x", **each} for index, each in enumerate(containers)]
    return {"template": {"spec": {"containers": named, **spec}}}


def a_gang(job: MPIJob) -> tuple[int, dict[str, Any]]:
    """Members and resources of the job's gang."""
    gang: Gang = build_gang(job)
    return gang.min_member, dict(gang.min_resources)


def amounts(replica_spec: JSONObject) -> dict[str, str]:
    """What one pod of the template counts for."""
    found = pod_requests(ReplicaSpec(template=replica_spec["template"]))
    return {name: str(amount) for name, amount in found.items()}


SMALL = a_role(requests(cpu="1", memory="2Gi"))
TEN = a_role(requests(cpu="10", memory="20Gi"))


@pytest.mark.parametrize(
    ("fields", "members", "resources"),
    [
        pytest.param({"launcher": SMALL, "worker": TEN}, 3, {"cpu": "21", "memory": "42Gi"}, id="B161 B164 all pods"),
        pytest.param(
            {"launcher": a_role(requests(cpu="2", memory="2Gi")), "worker": TEN},
            3,
            {"cpu": "22", "memory": "42Gi"},
            id="B164 another launcher",
        ),
        pytest.param(
            {"launcher": SMALL, "workers": None, "runLauncherAsWorker": True},
            1,
            {"cpu": "1", "memory": "2Gi"},
            id="B165 a launcher alone",
        ),
        pytest.param(
            {
                "launcher": a_role(requests(cpu="2", memory="2Gi")),
                "worker": a_role(requests(cpu="5", memory="16Gi")),
                "run_policy": {"schedulingPolicy": {"minAvailable": 2}},
            },
            2,
            {"cpu": "7", "memory": "18Gi"},
            id="B166 fewer members than pods: the launcher and as many workers as there is room for",
        ),
        pytest.param(
            {
                "workers": 100,
                "launcher": a_role(requests(cpu="12", memory="48Gi"), priorityClassName="high"),
                "worker": {**TEN, "replicas": 100},
                "run_policy": {"schedulingPolicy": {"minAvailable": 2}},
            },
            2,
            {"cpu": "22", "memory": "68Gi"},
            id="B167 a launcher of higher priority",
        ),
        pytest.param(
            {
                "workers": 8,
                "launcher": a_role(requests(cpu="2")),
                "worker": {**a_role(requests(cpu="1"), priorityClassName="high"), "replicas": 8},
                "run_policy": {"schedulingPolicy": {"minAvailable": 3}},
            },
            3,
            {"cpu": "4"},
            id="A2_3 B167 B169 workers of higher priority: the launcher is needed all the same, and counts once",
        ),
        pytest.param(
            {
                "launcher": a_role(requests(cpu="2"), priorityClassName="missing"),
                "worker": a_role(requests(cpu="1")),
                "run_policy": {"schedulingPolicy": {"minAvailable": 1}},
            },
            1,
            {"cpu": "2"},
            id="B168 a class that does not exist changes nothing",
        ),
        pytest.param(
            {
                "launcher": SMALL,
                "worker": TEN,
                "run_policy": {"schedulingPolicy": {"minResources": LARGE}},
            },
            3,
            LARGE,
            id="B162 what the user says is taken as it is",
        ),
        pytest.param({}, 3, {}, id="B187 pods that ask for nothing"),
        pytest.param(
            {"launcher": SMALL, "worker": TEN, "launcherCreationPolicy": "WaitForWorkersReady"},
            2,
            {"cpu": "20", "memory": "40Gi"},
            id="A2_8 G2 a launcher that is held back is no member, and asks for nothing",
        ),
        pytest.param(
            {
                "launcher": SMALL,
                "workers": None,
                "runLauncherAsWorker": True,
                "launcherCreationPolicy": "WaitForWorkersReady",
            },
            1,
            {"cpu": "1", "memory": "2Gi"},
            id="A2_8 without workers nothing holds the launcher back",
        ),
        pytest.param(
            {"launcher": a_role({"resources": {"limits": {"cpu": "3"}}}), "workers": 1, "worker": a_role({})},
            2,
            {"cpu": "3"},
            id="B171 a limit counts where nothing is requested",
        ),
    ],
)
def test_a_gang(fields: dict[str, Any], members: int, resources: dict[str, str]) -> None:
    assert a_gang(a_job(**fields)) == (members, resources)


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        pytest.param(
            a_role(
                {
                    "resources": {
                        "requests": {"cpu": "10", "memory": "16Gi"},
                        "limits": {"cpu": "20", "example.com/gpu": 8},
                    }
                }
            ),
            {"cpu": "10", "memory": "16Gi", "example.com/gpu": "8"},
            id="B171 requests, and limits for what has none",
        ),
        pytest.param(
            a_role(requests(cpu="50", memory="512Gi"), requests(cpu="10m", memory="33Gi")),
            {"cpu": "50010m", "memory": "545Gi"},
            id="B164 containers add up",
        ),
        pytest.param(
            a_role(requests(cpu="1"), initContainers=[requests(cpu="8")]),
            {"cpu": "8"},
            id="A2_4 B173 an init container that needs more than all that follows",
        ),
        pytest.param(
            a_role(requests(cpu="9"), initContainers=[requests(cpu="8")]),
            {"cpu": "9"},
            id="B173 or less",
        ),
        pytest.param(
            a_role(requests(cpu="1"), initContainers=[{**requests(cpu="2"), "restartPolicy": "Always"}]),
            {"cpu": "3"},
            id="B173 a sidecar runs beside the containers",
        ),
        pytest.param(
            a_role(
                requests(cpu="1"),
                initContainers=[
                    {**requests(cpu="2"), "restartPolicy": "Always"},
                    requests(cpu="5"),
                    {**requests(cpu="1"), "restartPolicy": "Always"},
                ],
            ),
            {"cpu": "7"},
            id="B173 an init container runs beside the sidecars before it",
        ),
        pytest.param(
            a_role(
                requests(cpu="1"),
                initContainers=[requests(cpu="5"), {**requests(cpu="2"), "restartPolicy": "Always"}],
            ),
            {"cpu": "5"},
            id="B173 and not beside those after it",
        ),
        pytest.param(
            a_role(requests(cpu="1", memory="1Gi"), overhead={"cpu": "250m", "memory": "1Gi"}),
            {"cpu": "1250m", "memory": "2Gi"},
            id="B173 the overhead comes on top",
        ),
        pytest.param(
            a_role(requests(cpu="1", memory="1Gi"), resources={"requests": {"cpu": "4"}}, overhead={"cpu": "1"}),
            {"cpu": "5", "memory": "1Gi"},
            id="B173 what the pod asks for as a whole goes before its containers'",
        ),
        pytest.param(
            a_role(requests(cpu="1"), resources={"limits": {"cpu": "4", "memory": "2Gi"}}),
            {"cpu": "1", "memory": "2Gi"},
            id="B173 a limit of the pod counts where nothing is requested",
        ),
        pytest.param(a_role({"resources": {"requests": {"cpu": "lots"}}}), {}, id="A2_14 what is no quantity"),
        pytest.param(a_role({"resources": None}, initContainers=None, overhead=None), {}, id="B172 nothing at all"),
    ],
)
def test_one_pod(role: JSONObject, expected: dict[str, str]) -> None:
    assert amounts(role) == expected


def test_B163_a_gang_of_nobody_needs_nothing() -> None:
    assert sum_requests(a_job(launcher=SMALL, worker=TEN), 0) == {}


@given(valid_jobs())
@settings(max_examples=50)
def test_A2_3_more_members_never_need_less_and_never_more_than_all_pods(job: MPIJob) -> None:
    size = job.spec.gang_size
    needs = [sum_requests(job, members) for members in range(size + 2)]
    assert needs[size] == needs[size + 1]
    for fewer, more in itertools.pairwise(needs):
        assert all(parse_quantity(more[name]).amount >= parse_quantity(fewer[name]).amount for name in fewer)


def test_a_template_is_not_changed() -> None:
    template = a_template(requests(cpu="1"))
    before = a_template(requests(cpu="1"))
    pod_requests(ReplicaSpec(template=template))
    assert template == before
