"""Gang scheduling by real schedulers: Kubernetes 1.35 with its gates on, and scheduler-plugins (B189-B194, G1).

On a cluster of its own, started by the first test and stopped after the last, because its control plane has gates on
that are off by default. The node has a few units of a resource that nothing else asks for, so that what fits is known.
"""

import itertools
import json
import os
from collections.abc import Iterator

import pytest

from hack.cluster.access import Access
from hack.cluster.choice import Choice
from hack.cluster.go_programs import KUBERNETES, build_program
from hack.cluster.local import State, start_cluster, stop_cluster
from hack.cluster.scheduler_plugins import running_scheduler
from hack.deploy import deploy_operator, describe_operator
from test.e2e.jobs import RUN_UNTIL_FINISH, Manifest, a_job, mpirun, pod_spec, shell, with_slow_workers
from test.e2e.namespace import Namespace
from test.e2e.status import condition

pytestmark = pytest.mark.own_local_cluster

NAME = f"gang-{os.getpid()}"
SEAT = "example.com/seat"
SEATS = 3
STUCK_SECONDS = 90.0
_numbers = itertools.count()


@pytest.fixture(scope="module")
def state() -> Iterator[State]:
    """A cluster with Kubernetes' own gang scheduling turned on."""
    yield start_cluster(NAME, gang_scheduling=True)
    stop_cluster(NAME)


@pytest.fixture(scope="module")
def access(state: State) -> Access:
    """The cluster, with what its pods need."""
    choice = Choice("local", "gates that are off by default are needed")
    kubectl = build_program(KUBERNETES) / "kubectl"
    access = Access(choice, state.node.kubeconfig("admin"), kubectl, state.node.containerd_address)
    access.load_images(("pause", "openmpi"))
    return access


@pytest.fixture(scope="module")
def native(access: Access) -> Access:
    """The operator, told to use Kubernetes' own gangs."""
    deploy_operator(access, overlay="gang-kubernetes")
    return access


@pytest.fixture(scope="module")
def coscheduling(state: State, access: Access) -> Iterator[Access]:
    """The scheduler with the coscheduling plugin, and the operator, told to use it."""
    with running_scheduler(state):
        deploy_operator(access, overlay="gang-scheduler-plugins")
        yield access


def a_namespace(access: Access, session: pytest.Session) -> Iterator[Namespace]:
    """Yield a namespace of the test's own on a node with SEATS seats."""
    offer_seats(access, SEATS)
    name = f"gang-{next(_numbers)}"
    access.kubectl("create", "namespace", name)
    space = Namespace(access, name)
    failed = session.testsfailed
    yield space
    if session.testsfailed > failed:
        print(space.describe())
        print(describe_operator(access))
    access.kubectl("delete", "namespace", name, "--wait")


@pytest.fixture
def native_space(native: Access, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """A namespace whose gangs Kubernetes schedules."""
    yield from a_namespace(native, request.session)


@pytest.fixture
def coscheduling_space(coscheduling: Access, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """A namespace whose gangs scheduler-plugins schedule."""
    yield from a_namespace(coscheduling, request.session)


def offer_seats(access: Access, count: int) -> None:
    """Say that the node has so many seats."""
    patch = json.dumps({"status": {"capacity": {SEAT: str(count)}, "allocatable": {SEAT: str(count)}}})
    node = access.kubectl("get", "nodes", "--output=name").strip()
    access.kubectl("patch", node, "--subresource=status", "--type=merge", f"--patch={patch}")


def seated(job: Manifest) -> Manifest:
    """The job, each of whose pods takes a seat."""
    for role in ("Launcher", "Worker"):
        [container] = pod_spec(job, role)["containers"]
        container["resources"] = {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {SEAT: "1"}}
    return job


def placed(space: Namespace) -> list[str]:
    """The pods that have a node."""
    return [pod["metadata"]["name"] for pod in space.items("pods") if pod["spec"].get("nodeName")]


def await_unschedulable(space: Namespace, name: str) -> str:
    """Wait until the job says that it does not fit, and return what it says."""

    def is_told() -> bool:
        conditions = space.job(name).get("status", {}).get("conditions", [])
        return any(each["type"] == "Running" and each["reason"] == "Unschedulable" for each in conditions)

    space.await_that(f"mpijob/{name} is Unschedulable", is_told, STUCK_SECONDS)
    return str(condition(space.job(name), "Running")["message"])


def assert_one_after_the_other(space: Namespace) -> None:
    """Of two gangs that fit only one at a time the second gets no seat until the first has finished."""
    for name in ("first", "second"):
        space.apply(seated(a_job(name, launcher=mpirun(2, *shell(RUN_UNTIL_FINISH)))))
        if name == "first":
            space.await_condition(name, "Running")
    space.await_that("the second gang is whole", lambda: len(space.items("pods")) == 2 * SEATS)
    await_unschedulable(space, "second")
    assert [name for name in placed(space) if name.startswith("second")] == []
    space.finish("first")
    space.await_condition("first", "Succeeded")
    space.await_condition("second", "Running")
    space.finish("second")
    space.await_condition("second", "Succeeded")


def test_G1_a_gang_of_Kubernetes_1_35_runs_and_leaves_no_Workload(native_space: Namespace) -> None:
    name = native_space.apply(seated(a_job(launcher=mpirun(2, *shell(RUN_UNTIL_FINISH)))))
    native_space.await_condition(name, "Running")
    [workload] = native_space.items("workloads")
    assert workload["spec"]["podGroups"][0]["policy"]["gang"]["minCount"] == SEATS
    references = [pod["spec"]["workloadRef"] for pod in native_space.items("pods")]
    assert references == [{"name": name, "podGroup": "mpi"}] * SEATS
    native_space.finish(name)
    native_space.await_condition(name, "Succeeded")
    native_space.await_that("the Workload is gone", lambda: native_space.items("workloads") == [], 10)
    assert not [event for event in native_space.events(name) if event["type"] == "Warning"]


def test_G1_a_gang_that_does_not_fit_waits_whole_and_runs_when_it_does(native_space: Namespace) -> None:
    name = native_space.apply(seated(a_job(workers=SEATS)))
    native_space.await_that("the gang is whole", lambda: len(native_space.items("pods")) == SEATS + 1)
    assert f"Insufficient {SEAT}" in await_unschedulable(native_space, name)
    assert placed(native_space) == []
    offer_seats(native_space.access, SEATS + 1)
    native_space.await_condition(name, "Succeeded")


def test_G1_two_gangs_that_fit_only_one_at_a_time_run_one_after_the_other(native_space: Namespace) -> None:
    assert_one_after_the_other(native_space)


def test_G2_A2_8_a_launcher_that_waits_for_its_workers_joins_their_gang(native_space: Namespace) -> None:
    job = with_slow_workers(a_job(launcherCreationPolicy="WaitForWorkersReady"), 1)
    name = native_space.apply(seated(job))
    native_space.await_condition(name, "Succeeded")


def test_G1_a_gang_is_suspended_and_resumed(native_space: Namespace) -> None:
    name = native_space.apply(seated(a_job(launcher=mpirun(2, *shell(RUN_UNTIL_FINISH)))))
    native_space.await_condition(name, "Running")
    native_space.suspend(name)
    native_space.await_that("nothing is left of the gang", lambda: native_space.items("pods,workloads") == [])
    native_space.suspend(name, suspend=False)
    native_space.await_condition(name, "Running")
    native_space.finish(name)
    native_space.await_condition(name, "Succeeded")


def test_B194_impossible_minResources_keep_all_pods_waiting_until_they_are_cleared(
    coscheduling_space: Namespace,
) -> None:
    space = coscheduling_space
    policy = {"schedulingPolicy": {"minResources": {"cpu": "100000", "memory": "100000Gi"}}}
    name = space.apply(seated(a_job(run_policy=policy)))
    space.await_that("the gang is whole", lambda: len(space.items("pods")) == SEATS)
    assert await_unschedulable(space, name)
    assert placed(space) == []
    space.patch(name, {"runPolicy": {"schedulingPolicy": {"minResources": None}}})
    space.await_condition(name, "Succeeded")
    space.await_that("the PodGroup is gone", lambda: space.items("podgroups.scheduling.x-k8s.io") == [], 10)


def test_B189_two_gangs_that_fit_only_one_at_a_time_run_one_after_the_other(coscheduling_space: Namespace) -> None:
    assert_one_after_the_other(coscheduling_space)


def test_B189_two_gangs_that_come_together_do_not_block_each_other(coscheduling_space: Namespace) -> None:
    space = coscheduling_space
    space.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        seated(a_job("first")), seated(a_job("second"))]}))  # fmt: skip
    for name in ("first", "second"):
        space.await_condition(name, "Succeeded", seconds=STUCK_SECONDS)


def test_A2_8_G2_a_launcher_that_waits_for_its_workers_joins_their_PodGroup(coscheduling_space: Namespace) -> None:
    job = with_slow_workers(a_job(launcherCreationPolicy="WaitForWorkersReady"), 1)
    name = coscheduling_space.apply(seated(job))
    coscheduling_space.await_condition(name, "Succeeded")
