"""Gang scheduling with the operator as a process, the schedulers' own CRDs, and the shipped rights (B161-B194, A2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hack.cluster.component import await_true
from hack.cluster.control_plane import ControlPlane, Options, free_ports
from mpi_operator import names
from mpi_operator.shell.resources import JOBS, MPI_JOBS, PODS, PRIORITY_CLASSES
from test.builders.jobs import a_raw_job, a_template
from test.integration.conftest import ACCOUNT, GROUPS, LOCK_NAMESPACE, apply_overlay
from test.integration.gang import (
    COSCHEDULING,
    CRDS,
    FLAGS,
    NATIVE,
    VOLCANO,
    VOLCANO_CRD,
    Scheduler,
    annotate_namespace,
    await_writes,
    install,
    install_volcano_admission,
    play_volcano,
)
from test.integration.operator_process import LEADING, OperatorProcess
from test.integration.server import JSONObject, Server, condition
from test.integration.test_process import get
from test.integration.test_rbac import granted, right_of

WORKERS = ("pi-worker-0", "pi-worker-1")
ONE_CPU = {"template": a_template({"resources": {"requests": {"cpu": "1"}}})}
SUSPEND = {"spec": {"runPolicy": {"suspend": True}}}
RESUME = {"spec": {"runPolicy": {"suspend": False}}}
SCHEDULERS = [
    pytest.param(VOLCANO, id="B180 volcano"),
    pytest.param(COSCHEDULING, id="B189 scheduler-plugins"),
    pytest.param(NATIVE, id="G1 kubernetes 1.35"),
]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane that serves the APIs of all three schedulers, and audits what the operator does."""
    options = Options(
        audited_users=(ACCOUNT,), enabled_admission=("OwnerReferencesPermissionEnforcement",), flags=FLAGS
    )
    with ControlPlane(options) as plane:
        apply_overlay(plane, "standalone")
        install(plane, *CRDS)
        install_volcano_admission(plane)
        yield plane


@pytest.fixture
def server(plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Server]:
    """A namespace of the test's own."""
    number = len(request.session.items) and request.session.items.index(request.node)
    with Server(plane.kubeconfig, f"gang-{number}") as server:
        yield server


@pytest.fixture
def scheduler(request: pytest.FixtureRequest) -> Scheduler:
    """The gang scheduler that the test is about: Volcano unless it says otherwise."""
    scheduler: Scheduler = getattr(request, "param", VOLCANO)
    return scheduler


@pytest.fixture
def operator(plane: ControlPlane, server: Server, scheduler: Scheduler) -> Iterator[OperatorProcess]:
    """An operator that leads, with the rights of the scheduler's overlay and no others."""
    apply_overlay(plane, scheduler.overlay)
    with OperatorProcess(
        f"--lock-namespace={LOCK_NAMESPACE}",
        f"--namespace={server.namespace}",
        f"--gang-scheduling={scheduler.flag}",
        kubeconfig=plane.user_kubeconfig(ACCOUNT, GROUPS),
    ) as process:
        process.await_log(LEADING)
        yield process


def run_until_running(server: Server) -> str:
    """Let a submitted two-worker job run; return its launcher pod."""
    server.until_pods(*WORKERS)
    for worker in WORKERS:
        server.set_pod(worker, "Running")
    pod = server.start_launcher("pi-launcher")
    server.until_condition("pi", "Running")
    return pod


def until_group(server: Server, scheduler: Scheduler, holds: Any = lambda _: True) -> JSONObject:
    """Wait for what describes the gang."""
    return server.until(scheduler.groups, lambda found: "pi" in found and holds(found["pi"]), "the gang")["pi"]


def until_no_group(server: Server, scheduler: Scheduler) -> None:
    server.until(scheduler.groups, lambda found: "pi" not in found, "no gang")


@pytest.mark.parametrize("scheduler", SCHEDULERS, indirect=True)
def test_A2_7_a_gang_is_described_while_its_job_runs(
    plane: ControlPlane, server: Server, scheduler: Scheduler, operator: OperatorProcess
) -> None:
    server.submit(a_raw_job(launcher=ONE_CPU, worker={**ONE_CPU, "replicas": 2}))
    group = until_group(server, scheduler)
    assert group["metadata"]["ownerReferences"][0]["kind"] == "MPIJob"
    pod = run_until_running(server)
    for name in (*WORKERS, pod):
        assert names_group(server.must_get(PODS, name)), name
    server.finish_launcher("pi-launcher", pod)
    server.until_condition("pi", "Succeeded")
    until_no_group(server, scheduler)
    await_writes(plane, scheduler.groups, server.namespace, "create", "delete")
    assert [record for record in operator.records() if record["level"] in {"error", "critical"}] == []


def names_group(pod: JSONObject) -> bool:
    """Whether the pod, as the server has it, is in the job's gang."""
    metadata, spec = pod["metadata"], pod["spec"]
    return "pi" in {
        metadata.get("annotations", {}).get("scheduling.k8s.io/group-name"),
        metadata.get("labels", {}).get("scheduling.x-k8s.io/pod-group"),
        spec.get("workloadRef", {}).get("name"),
    }


@pytest.mark.parametrize("scheduler", SCHEDULERS, indirect=True)
def test_B206_the_gang_goes_on_suspend_and_comes_back_on_resume(
    server: Server, scheduler: Scheduler, operator: OperatorProcess
) -> None:
    server.submit(a_raw_job())
    first = until_group(server, scheduler)["metadata"]["uid"]
    run_until_running(server)
    server.patch(MPI_JOBS, "pi", SUSPEND)
    server.suspend_launcher("pi-launcher")
    server.until_condition("pi", "Suspended")
    until_no_group(server, scheduler)
    server.until_pods()
    server.patch(MPI_JOBS, "pi", RESUME)
    assert until_group(server, scheduler)["metadata"]["uid"] != first
    run_until_running(server)


@pytest.mark.parametrize("scheduler", SCHEDULERS[:2], indirect=True)
def test_A2_6_B175_no_write_without_a_change_and_one_patch_for_each(
    plane: ControlPlane, server: Server, scheduler: Scheduler, operator: OperatorProcess
) -> None:
    """Everything that makes the operator look again is made to happen, rather than waiting for it."""
    server.submit(a_raw_job(launcher=ONE_CPU, worker={**ONE_CPU, "replicas": 2}))
    run_until_running(server)
    server.create(
        PRIORITY_CLASSES, {"metadata": {"name": f"{server.namespace}-class"}, "value": 1, "globalDefault": False}
    )
    for round_number in range(5):
        server.patch(scheduler.groups, "pi", {"metadata": {"annotations": {"touched": str(round_number)}}})
        server.patch(MPI_JOBS, "pi", {"metadata": {"annotations": {"touched": str(round_number)}}})
        for worker in WORKERS:
            server.patch(PODS, worker, {"metadata": {"annotations": {"touched": str(round_number)}}})
    server.set_pod(WORKERS[0], "Pending")
    server.until_condition("pi", "Running", "False")
    server.set_pod(WORKERS[0], "Running")
    server.until_condition("pi", "Running")
    await_writes(plane, scheduler.groups, server.namespace, "create")
    for members in (2, 1):
        server.patch(MPI_JOBS, "pi", {"spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": members}}}})
        until_group(server, scheduler, lambda group, members=members: group["spec"]["minMember"] == members)
    server.set_pod(WORKERS[0], "Pending")
    server.until_condition("pi", "Running", "False")
    await_writes(plane, scheduler.groups, server.namespace, "create", "patch", "patch")


def test_A2_6_B188_what_others_put_into_a_PodGroup_stays(
    plane: ControlPlane, server: Server, operator: OperatorProcess
) -> None:
    annotate_namespace(plane, server.namespace, "silver")
    server.submit(a_raw_job())
    assert until_group(server, VOLCANO)["spec"]["queue"] == "silver"
    topology = {"mode": "soft", "highestTierAllowed": 2}
    server.patch(VOLCANO.groups, "pi", {"spec": {"networkTopology": topology, "minTaskMember": {"worker": 2}}})
    server.patch(VOLCANO.groups, "pi", {"status": {"phase": "Inqueue"}})
    server.patch(MPI_JOBS, "pi", {"spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": 2}}}})
    group = until_group(server, VOLCANO, lambda group: group["spec"]["minMember"] == 2)
    assert group["spec"] == {
        "minMember": 2,
        "queue": "silver",
        "networkTopology": topology,
        "minTaskMember": {"worker": 2},
    }
    assert group["status"]["phase"] == "Inqueue"


def test_B182_a_queue_that_does_not_exist_is_told_and_can_be_corrected(
    server: Server, operator: OperatorProcess
) -> None:
    server.submit(a_raw_job(run_policy={"schedulingPolicy": {"queue": "none"}}))
    job = server.until_condition("pi", "Running", "False", "FailedCreate")
    assert "cannot create PodGroup pi" in condition(job, "Running")["message"]
    assert "unable to find queue none" in condition(job, "Running")["message"]
    assert server.find(PODS) == []
    server.patch(MPI_JOBS, "pi", {"spec": {"runPolicy": {"schedulingPolicy": {"queue": "gold"}}}})
    assert until_group(server, VOLCANO)["spec"]["queue"] == "gold"
    server.until_pods(*WORKERS)


def test_B194_a_gang_that_does_not_fit_waits_whole_and_runs_when_it_does(
    plane: ControlPlane, server: Server, operator: OperatorProcess
) -> None:
    job = a_raw_job(run_policy={"schedulingPolicy": {"minResources": {"cpu": "100000"}}})
    server.submit(job)
    server.until_pods(*WORKERS)
    server.start_launcher("pi-launcher", "Pending")
    assert not play_volcano(server, "pi", cpu=8)
    assert {pod["status"]["phase"] for pod in server.find(PODS)} == {"Pending"}
    server.patch(MPI_JOBS, "pi", {"spec": {"runPolicy": {"schedulingPolicy": {"minResources": None}}}})
    until_group(server, VOLCANO, lambda group: "minResources" not in group["spec"])
    assert play_volcano(server, "pi", cpu=8)
    server.until_condition("pi", "Running")
    await_writes(plane, VOLCANO.groups, server.namespace, "create", "patch")


def test_A2_8_G2_a_gang_whose_launcher_waits_for_its_workers_does_not_deadlock(
    server: Server, operator: OperatorProcess
) -> None:
    two = {**ONE_CPU, "replicas": 2}
    server.submit(a_raw_job(launcher=ONE_CPU, worker=two, launcherCreationPolicy="WaitForWorkersReady"))
    server.until_pods(*WORKERS)
    assert server.find(JOBS) == []
    assert play_volcano(server, "pi", cpu=2)
    server.until_launcher_job("pi-launcher")


def test_two_gangs_that_fit_only_one_at_a_time_run_one_after_the_other(
    server: Server, operator: OperatorProcess
) -> None:
    for name in ("pi", "second"):
        server.submit(a_raw_job(name=name, launcher=ONE_CPU, worker={**ONE_CPU, "replicas": 2}))
        server.until_launcher_job(f"{name}-launcher")
        server.until(PODS, lambda pods, name=name: f"{name}-worker-1" in pods, "the workers")  # type: ignore[misc]
    pods = {name: server.start_launcher(f"{name}-launcher", "Pending") for name in ("pi", "second")}
    assert play_volcano(server, "pi", cpu=5)
    assert not play_volcano(server, "second", cpu=2)
    server.until_condition("pi", "Running")
    server.finish_launcher("pi-launcher", pods["pi"])
    server.until_condition("pi", "Succeeded")
    assert play_volcano(server, "second", cpu=5)
    server.until_condition("second", "Running")


def test_B084_A2_7_a_PodGroup_that_the_Go_operator_made_is_adopted_and_deleted(
    plane: ControlPlane, server: Server, operator: OperatorProcess
) -> None:
    server.submit(a_raw_job())
    pod = run_until_running(server)
    label = names.LABEL_OPERATOR_NAME
    server.patch(VOLCANO.groups, "pi", {"metadata": {"labels": {label: None}}})
    until_group(server, VOLCANO, lambda group: label in group["metadata"]["labels"])
    server.finish_launcher("pi-launcher", pod)
    until_no_group(server, VOLCANO)


@pytest.mark.parametrize("scheduler", [pytest.param(NATIVE, id="G3 kubernetes 1.35")], indirect=True)
def test_a_Workload_that_the_user_made_is_left_alone(
    plane: ControlPlane, server: Server, scheduler: Scheduler, operator: OperatorProcess
) -> None:
    own = {"template": a_template(workloadRef={"name": "theirs", "podGroup": "mpi"})}
    server.submit(a_raw_job(launcher=own, worker={**own, "replicas": 2}))
    pods = server.until_pods(*WORKERS)
    assert [pod["spec"]["workloadRef"]["name"] for pod in pods.values()] == ["theirs", "theirs"]
    await_writes(plane, scheduler.groups, server.namespace)


@pytest.mark.parametrize("scheduler", [pytest.param(NATIVE, id="G1 kubernetes 1.35")], indirect=True)
def test_a_Workload_is_made_anew_when_the_gang_changes(
    plane: ControlPlane, server: Server, scheduler: Scheduler, operator: OperatorProcess
) -> None:
    server.submit(a_raw_job(workers=3))
    assert until_group(server, scheduler)["spec"]["podGroups"][0]["policy"]["gang"]["minCount"] == 4
    server.until_pods(*WORKERS, "pi-worker-2")
    server.patch(MPI_JOBS, "pi", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 2}}}})
    until_group(server, scheduler, lambda group: group["spec"]["podGroups"][0]["policy"]["gang"]["minCount"] == 3)
    await_writes(plane, scheduler.groups, server.namespace, "create", "delete", "create")


@pytest.mark.parametrize("scheduler", SCHEDULERS, indirect=True)
def test_B310_the_overlay_grants_what_is_used(
    plane: ControlPlane, server: Server, scheduler: Scheduler, operator: OperatorProcess
) -> None:
    server.submit(a_raw_job())
    run_until_running(server)
    server.patch(MPI_JOBS, "pi", SUSPEND)
    until_no_group(server, scheduler)
    # A watch is audited when it ends.
    assert operator.stop() == 0
    events = [
        event for event in plane.audit_events() if event.get("objectRef", {}).get("namespace") == server.namespace
    ]
    used = {right_of(event) for event in events}
    assert used <= granted(plane, scheduler.overlay)
    assert {right.verb for right in used if right.group == scheduler.groups.group} >= {"create", "delete", "watch"}


def test_A2_9_a_CRD_that_arrives_later_is_picked_up(control_plane_without_crd: ControlPlane) -> None:
    (port,) = free_ports(1)
    plane = control_plane_without_crd
    apply_overlay(plane, "gang-volcano")
    with (
        Server(plane.kubeconfig, "late") as server,
        OperatorProcess(
            f"--lock-namespace={LOCK_NAMESPACE}",
            "--gang-scheduling=volcano",
            f"--health-port={port}",
            "--bind-address=127.0.0.1",
            kubeconfig=plane.user_kubeconfig(ACCOUNT, GROUPS),
        ) as operator,
    ):
        operator.await_log(LEADING)
        status, lines = get(port, "/readyz")
        assert status == 503
        assert "[-]gangScheduling/volcano: podgroups.scheduling.volcano.sh v1beta1 is not served" in lines
        server.submit(a_raw_job())
        job = server.until_condition("pi", "Running", "False", "FailedCreate")
        assert "cannot create PodGroup pi" in condition(job, "Running")["message"]
        assert server.find(PODS) == []
        install(plane, VOLCANO_CRD)
        until_group(server, VOLCANO)
        server.until_pods(*WORKERS)
        await_true(lambda: get(port, "/readyz")[0] == 200, 30, lambda: AssertionError(get(port, "/readyz")[1]))
        assert "[+]gangScheduling/volcano ok" in get(port, "/readyz")[1]


@pytest.mark.parametrize("flag", ["volcano", "scheduler-plugins-scheduler", "kubernetes"])
def test_B276_the_chosen_scheduler_is_said_at_start(plane: ControlPlane, server: Server, flag: str) -> None:
    with OperatorProcess(
        f"--namespace={server.namespace}", f"--gang-scheduling={flag}", kubeconfig=plane.kubeconfig
    ) as process:
        process.await_log('"event": "gang scheduling"')
        (record,) = [record for record in process.records() if record["event"] == "gang scheduling"]
        assert record["scheduler"] == flag


def test_G1_a_server_without_a_native_API_schedules_one_by_one_and_says_so(
    control_plane_without_crd: ControlPlane,
) -> None:
    plane = control_plane_without_crd
    apply_overlay(plane, "gang-kubernetes")
    with (
        Server(plane.kubeconfig, "none") as server,
        OperatorProcess(
            f"--lock-namespace={LOCK_NAMESPACE}",
            "--gang-scheduling=kubernetes",
            kubeconfig=plane.user_kubeconfig(ACCOUNT, GROUPS),
        ) as operator,
    ):
        operator.await_log(LEADING)
        server.submit(a_raw_job())
        server.until_pods(*WORKERS)
        assert server.until_event("pi", "GangSchedulingUnavailable")["type"] == "Warning"
