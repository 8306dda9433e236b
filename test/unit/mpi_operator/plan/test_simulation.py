"""Whole lives of jobs: the operator, a cluster and its users take turns, and promises hold at every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mpi_operator.api.types import MPIJobStatus
from mpi_operator.conditions import EXCLUSIVE, TERMINAL_TYPES, is_condition_true, terminal_condition
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from test.builders.cluster import (
    bury_pods,
    control_job,
    crash_container,
    edit,
    end_pod,
    leave,
    occupy,
    restart_container,
    run_pod,
)
from test.builders.jobs import a_raw_job
from test.builders.world import TERMINAL, World, later

Move = Callable[[World, int], None]


def _pick(objects: list[Any], number: int) -> list[Any]:
    return [objects[number % len(objects)]] if objects else []


def _run(world: World, number: int) -> None:
    for pod in _pick(world.pods(), number):
        if pod["metadata"].get("ownerReferences"):
            run_pod(world, pod)


def _fail(world: World, number: int) -> None:
    for pod in _pick(world.workers + world.launcher_pods, number):
        end_pod(world, pod, "Failed")


def _evict(world: World, number: int) -> None:
    for pod in _pick(world.workers + world.launcher_pods, number):
        end_pod(world, pod, "Failed", reason="Evicted", message="The node was low on resource: memory.")


def _succeed(world: World, number: int) -> None:
    for pod in _pick(world.launcher_pods, number):
        if pod["status"]["phase"] == "Running":
            end_pod(world, pod, "Succeeded")


def _crash(world: World, number: int) -> None:
    for pod in _pick(world.launcher_pods, number):
        crash_container(world, pod, waits=number % 2 == 0)


def _delete_pod(world: World, number: int) -> None:
    for pod in _pick(world.workers, number):
        world.delete("Pod", pod["metadata"]["name"])


def _delete_launcher(world: World, _: int) -> None:
    if world.launcher_job is not None:
        world.delete("Job", world.launcher_job["metadata"]["name"])


def _delete_group(world: World, _: int) -> None:
    for kind in world.group_kinds:
        world.delete(kind, world.name)


def _delete_kept(world: World, number: int) -> None:
    kind = ("Service", "ConfigMap", "Secret")[number % 3]
    for name in list(world.objects[kind]):
        world.delete(kind, name)


MOVES: dict[str, Move] = {
    "the operator syncs": lambda world, _: (world.sync(), None)[1],
    "the operator is killed": lambda world, number: (world.sync(budget=number % 7), None)[1],
    "the caches catch up": lambda world, number: world.see(*(("Pod",), ("Pod", "Job"), ("MPIJob",), ())[number % 4]),
    "the Job controller syncs": lambda world, _: control_job(world),
    "a pod starts": _run,
    "a pod fails": _fail,
    "a pod is evicted": _evict,
    "the launcher succeeds": _succeed,
    "the launcher's container fails": _crash,
    "a worker is deleted": _delete_pod,
    "the launcher's Job is deleted": _delete_launcher,
    "terminating pods are gone": lambda world, _: bury_pods(world),
    "somebody suspends it": lambda world, _: edit(world, suspend=True),
    "somebody resumes it": lambda world, _: edit(world, suspend=False),
    "somebody scales it": lambda world, number: edit(world, workers=number % 4 + 1),
    "somebody makes the spec invalid": lambda world, number: edit(world, launcher_replicas=1 + number % 2),
    "somebody moves the launcher": lambda world, number: edit(world, node_selector={"zone": "ab"[number % 2]}),
    "somebody changes the image": lambda world, number: edit(world, image=f"image-{number % 2}"),
    "somebody takes a worker's name": lambda world, number: occupy(world, number % 4),
    "others take their pods away": lambda world, _: leave(world),
    "somebody deletes what is mounted": _delete_kept,
    "somebody deletes the gang": _delete_group,
    "time passes": later,
}


def _check(world: World) -> None:
    """What holds at every moment, beside what the World itself refuses."""
    statuses = [msgspec.convert(status, MPIJobStatus) for status in world.statuses]
    for status in statuses[-1:]:
        for kind, excluded in EXCLUSIVE.items():
            if is_condition_true(status.conditions, kind):
                assert not [other for other in excluded if is_condition_true(status.conditions, other)], kind
        if terminal_condition(status.conditions) is not None:
            assert status.conditions[-1].type in TERMINAL_TYPES
            assert status.completion_time is not None
    ends = {status.conditions for status in statuses if terminal_condition(status.conditions) is not None}
    assert len(ends) <= 1, "terminal is terminal: its conditions never change again"
    assert len([counter for counter in world.counters if counter != "created"]) <= 1
    assert world.counters.count("created") <= 1


def _settle(world: World) -> None:
    """Let everything that is under way come to its end; nobody interferes."""
    leave(world)
    edit(world, launcher_replicas=1)
    for _ in range(60):
        before = world.version
        world.see()
        world.sync()
        _check(world)
        control_job(world)
        bury_pods(world)
        _run_mpi(world)
        if world.version == before:
            later(world, 400)
            world.see()
            world.sync()
            if world.version == before:
                return
    pytest.fail("the world does not come to rest")


def _run_mpi(world: World) -> None:
    """Pods start; a launcher that misses a worker fails."""
    for pod in world.pods():
        run_pod(world, pod)
        restart_container(world, pod)
    if any(pod["status"]["phase"] in TERMINAL for pod in world.workers):
        for pod in world.launcher_pods:
            if "deletionTimestamp" not in pod["metadata"]:
                end_pod(world, pod, "Failed")


def _check_rest(world: World) -> None:
    """At rest the job is as its spec says, and planning again gives nothing, in whatever order its pods are listed."""
    snapshot = world.observe()
    decided = plan(snapshot, world.settings, world.now)
    assert not decided.actions
    assert decided.status_write == "none"
    status = decided.status
    job = snapshot.job
    groups = [group for kind in world.group_kinds for group in world.objects[kind].values()]
    if terminal_condition(status.conditions) is not None:
        assert not groups
        return
    assert len(groups) == (0 if job.spec.is_suspended else len(world.group_kinds))
    active = [pod for pod in world.pods() if pod["status"]["phase"] not in TERMINAL]
    if job.spec.is_suspended:
        assert not active
        assert is_condition_true(status.conditions, "Suspended")
    else:
        assert len(active) == job.spec.worker_replicas + 1
        assert is_condition_true(status.conditions, "Running")
        assert status.conditions[-1].type == "Running"


def _live(policy: str, suspended: bool, clean: str, moves: list[tuple[str, int]], gang: str = "") -> World:
    run_policy = {"suspend": suspended, "cleanPodPolicy": clean, "backoffLimit": 2}
    scheduler, _, version = gang.partition(" ")
    world = World(
        a_raw_job(workers=2, run_policy=run_policy, launcherCreationPolicy=policy),
        settings=Settings(gang_scheduling=scheduler),
        gang_version=version,
    )
    for name, number in moves:
        MOVES[name](world, number)
        _check(world)
    return world


GANGS = ("", "volcano v1beta1", "mine v1alpha1", "kubernetes v1alpha1", "kubernetes v1alpha2", "kubernetes v1beta1")
LIVES = st.lists(
    st.tuples(
        st.one_of(
            st.sampled_from(["the operator syncs", "the Job controller syncs", "a pod starts", "the caches catch up"]),
            st.sampled_from(sorted(MOVES)),
        ),
        st.integers(0, 40),
    ),
    max_size=50,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    policy=st.sampled_from(["AtStartup", "WaitForWorkersReady"]),
    suspended=st.booleans(),
    clean=st.sampled_from(["None", "Running", "All"]),
    moves=LIVES,
    gang=st.sampled_from(GANGS),
    order=st.randoms(use_true_random=False),
)
@example(
    policy="AtStartup",
    suspended=False,
    clean="Running",
    moves=[("the operator syncs", 0), ("the Job controller syncs", 0), ("a pod is evicted", 0), ("a pod fails", 1)],
    gang="volcano v1beta1",
    order=None,
)
@example(
    policy="AtStartup",
    suspended=False,
    clean="None",
    moves=[("the operator syncs", 0), ("somebody scales it", 2)],
    gang="kubernetes v1alpha1",
    order=None,
)
def test_a_job_lives_through_anything(
    policy: str,
    suspended: bool,
    clean: str,
    moves: list[tuple[str, int]],
    *,
    gang: str,
    order: Any,
) -> None:
    world = _live(policy, suspended, clean, moves, gang)
    snapshot = world.observe()
    pods = list(snapshot.pods)
    if order is not None:
        order.shuffle(pods)
    shuffled = msgspec.structs.replace(snapshot, pods=tuple(pods))
    assert plan(shuffled, world.settings, world.now) == plan(snapshot, world.settings, world.now)
    _settle(world)
    _check_rest(world)


def _rest(world: World) -> None:
    _settle(world)
    _check_rest(world)


def test_B210_a_job_is_suspended_and_resumed_again_and_again_each_time_where_it_is_told() -> None:
    world = World(a_raw_job(workers=2))
    _rest(world)
    starts = []
    for zone in ("a", "b", "c"):
        edit(world, suspend=True)
        _rest(world)
        later(world, 60)
        edit(world, suspend=False, node_selector={"zone": zone})
        _rest(world)
        assert world.launcher_job is not None
        assert world.launcher_job["spec"]["template"]["spec"]["nodeSelector"] == {"zone": zone}
        starts.append(world.job["status"]["startTime"])
    assert starts == sorted(set(starts))
    assert world.counters == ["created"]
    assert [event.reason for event in world.events].count("MPIJobResumed") == len(starts)


@pytest.mark.parametrize("budget", range(12))
def test_A1_10_a_job_is_announced_once_wherever_the_operator_is_killed(budget: int) -> None:
    world = World(a_raw_job(workers=2))
    for _ in range(3):
        world.sync(budget=budget)
    _rest(world)
    assert world.counters == ["created"]
    assert [event.reason for event in world.events].count("MPIJobCreated") == 1
    assert len(world.workers) == 2
