"""Another leader goes on where the last one stopped, or was killed (lifecycle.md 10, B292, B293, A2.11)."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from hack.cluster.control_plane import ControlPlane, free_ports
from mpi_operator import names
from mpi_operator.shell.resources import JOBS, MPI_JOBS, PODS
from test.builders.jobs import a_raw_job
from test.integration.conftest import FAST_ELECTION, StartOperator
from test.integration.operator_process import FILLED, LEADING, OperatorProcess
from test.integration.play import RESUME, SUSPEND, run_workers, told, worker_names, writes
from test.integration.server import JSONObject, Server, condition
from test.integration.test_faults_outcome import count_of

JOB_NAMES = tuple(f"job-{number}" for number in range(5))
ONE_LIFE = {
    "MPIJobCreated": 1,
    "MPIJobRunning": 2,
    "MPIJobSuspended": 1,
    "MPIJobResumed": 1,
    "MPIJobSucceeded": 1,
}
Move = Callable[[Server, str], None]


class Leaders:
    """A leader and a standby; ending the leader brings another standby."""

    def __init__(self, start: StartOperator) -> None:
        self._start = start
        self.leader = self._begin()
        self.leader.await_log(LEADING)
        self._standby = self._begin()

    def _begin(self) -> OperatorProcess:
        return self._start(*FAST_ELECTION)

    def await_standby(self) -> None:
        """Wait until the standby could take over."""
        self._standby.await_log(FILLED)

    def end(self, number: signal.Signals) -> None:
        """End the leader with a signal; the standby takes over, and is followed by a new one."""
        self.leader.signal(number)
        assert self.leader.wait() == (0 if number is signal.SIGTERM else -number)
        self.leader, self._standby = self._standby, self._begin()


def submit(server: Server, job: str) -> None:
    server.submit(a_raw_job(name=job, run_policy={"cleanPodPolicy": "Running"}))


def start_pods(server: Server, job: str) -> None:
    run_workers(server, *worker_names(2, job))
    server.start_launcher(names.launcher_name(job))


def suspend(server: Server, job: str) -> None:
    server.until_condition(job, "Running")
    server.patch(MPI_JOBS, job, SUSPEND)


def stop_launcher(server: Server, job: str) -> None:
    server.suspend_launcher(names.launcher_name(job))


def resume(server: Server, job: str) -> None:
    server.until(PODS, lambda pods: not [name for name in pods if name.startswith(job)], f"no pods of {job}")
    server.until_condition(job, "Suspended")
    server.patch(MPI_JOBS, job, RESUME)


def finish(server: Server, job: str) -> None:
    server.until_condition(job, "Running")
    launcher = names.launcher_name(job)
    (pod,) = (pod["metadata"]["name"] for pod in server.find(PODS) if pod["metadata"]["name"].startswith(launcher))
    server.finish_launcher(launcher, pod)


LIFE: tuple[Move, ...] = (submit, start_pods, suspend, stop_launcher, resume, start_pods, finish)


def until_cleaned_up(server: Server) -> None:
    for job in JOB_NAMES:
        server.until_condition(job, "Succeeded")
    workers = {worker for job in JOB_NAMES for worker in worker_names(2, job)}
    server.until(PODS, lambda pods: not workers & set(pods), "no workers")


def creations(plane: ControlPlane, namespace: str) -> Counter[tuple[str, str]]:
    """How often each child was created."""
    found = writes(plane, namespace)
    return Counter((write.resource, write.name) for write in found if write[0] == "create" and write.code == 201)


def expected_creations() -> dict[tuple[str, str], int]:
    """All children once, and the workers once more after the suspension."""
    wanted: dict[tuple[str, str], int] = {}
    for job in JOB_NAMES:
        wanted |= {("services", job): 1, ("configmaps", f"{job}-config"): 1, ("secrets", f"{job}-ssh"): 1}
        wanted |= {("jobs", names.launcher_name(job)): 1}
        wanted |= {("pods", worker): 2 for worker in worker_names(2, job)}
    return wanted


def interrupted_moves(chance: random.Random) -> Iterator[tuple[Move, int, int]]:
    """Each move, after how many jobs' moves the leader ends, and how many requests of others pass before that."""
    for move in LIFE:
        yield move, chance.randrange(1, len(JOB_NAMES) + 1), chance.randrange(12)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGTERM, id="B293 A2_11 stopped"),
        pytest.param(signal.SIGKILL, id="lifecycle 10 killed"),
    ],
)
def test_leaders_that_end_at_any_moment_leave_nothing_out_and_do_nothing_twice(
    control_plane: ControlPlane, server: Server, start_operator: StartOperator, number: signal.Signals
) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    leaders = Leaders(start_operator)
    for move, after, pause in interrupted_moves(random.Random(seed)):
        leaders.await_standby()
        for job in JOB_NAMES[:after]:
            move(server, job)
        for _ in range(pause):
            server.find(JOBS)
        leaders.end(number)
        for job in JOB_NAMES[after:]:
            move(server, job)
    until_cleaned_up(server)
    made = creations(control_plane, server.namespace)
    assert {key: count for key, count in made.items() if key[0] != "events"} == expected_creations()
    for job in JOB_NAMES:
        assert told(server, job) <= Counter(ONE_LIFE), job
        assert number is not signal.SIGTERM or told(server, job) == ONE_LIFE, job
        assert condition(server.must_get(MPI_JOBS, job), "Running")["status"] == "False"


def test_B262_B263_what_one_leader_counted_the_next_does_not(server: Server, start_operator: StartOperator) -> None:
    first, second = free_ports(2)
    leader = start_operator(f"--monitoring-port={first}")
    leader.await_log(LEADING)
    standby = start_operator(f"--monitoring-port={second}")
    for job in JOB_NAMES:
        submit(server, job)
        server.until_event(job, "MPIJobCreated")
    assert count_of(first, "created") == len(JOB_NAMES)
    assert leader.stop() == 0
    standby.await_log(LEADING)
    for job in JOB_NAMES:
        start_pods(server, job)
        finish(server, job)
    until_cleaned_up(server)
    for job in JOB_NAMES:
        server.until_event(job, "MPIJobSucceeded")
        assert told(server, job) == {"MPIJobCreated": 1, "MPIJobRunning": 1, "MPIJobSucceeded": 1}
    assert (count_of(second, "created"), count_of(second, "successful")) == (0, len(JOB_NAMES))


def test_A1_4_a_result_is_recorded_although_its_job_went_while_no_operator_ran(
    control_plane: ControlPlane, server: Server, start_operator: StartOperator
) -> None:
    leader = start_operator()
    leader.await_log(LEADING)
    for job in ("gone", "there"):
        server.submit(a_raw_job(name=job, workers=1))
        start_pods_of_one(server, job)
        server.until_job(job, has_launcher, "the launcher is counted")
    assert leader.stop() == 0
    pods = {job: launcher_pod(server, job) for job in ("gone", "there")}
    for job, pod in pods.items():
        server.finish_launcher(names.launcher_name(job), pod)
    server.delete(JOBS, "gone-launcher", propagationPolicy="Background")
    start_operator().await_log(LEADING)
    for job in pods:
        server.until_condition(job, "Succeeded")
        server.until_event(job, "MPIJobSucceeded")
    made = creations(control_plane, server.namespace)
    assert [made["jobs", names.launcher_name(job)] for job in pods] == [1, 1]
    assert [job["metadata"]["name"] for job in server.find(JOBS)] == ["there-launcher"]


def has_launcher(job: JSONObject) -> bool:
    return bool(job.get("status", {}).get("replicaStatuses", {}).get("Launcher", {}).get("active"))


def start_pods_of_one(server: Server, job: str) -> None:
    run_workers(server, *worker_names(1, job))
    server.start_launcher(names.launcher_name(job))


def launcher_pod(server: Server, job: str) -> str:
    prefix = f"{names.launcher_name(job)}-"
    (found,) = (pod["metadata"]["name"] for pod in server.find(PODS) if pod["metadata"]["name"].startswith(prefix))
    return str(found)


def test_A1_12_a_launcher_that_has_finished_wins_over_suspend_and_over_an_invalid_spec(
    server: Server, start_operator: StartOperator
) -> None:
    edits: dict[str, JSONObject] = {
        "suspended": SUSPEND,
        "invalid": {"spec": {"mpiReplicaSpecs": {"Launcher": {"replicas": 2}}}},
    }
    leader = start_operator()
    leader.await_log(LEADING)
    for job in edits:
        server.submit(a_raw_job(name=job, workers=1))
        start_pods_of_one(server, job)
        server.until_condition(job, "Running")
    assert leader.stop() == 0
    for job, edit in edits.items():
        server.finish_launcher(names.launcher_name(job), launcher_pod(server, job))
        server.patch(MPI_JOBS, job, edit)
    versions = {job["metadata"]["name"]: job["metadata"]["resourceVersion"] for job in server.find(JOBS)}
    last = start_operator()
    last.await_log(LEADING)
    for job in edits:
        finished = server.until_condition(job, "Succeeded")
        assert condition(finished, "Suspended") == {}
    assert last.stop() == 0
    assert {job["metadata"]["name"]: job["metadata"]["resourceVersion"] for job in server.find(JOBS)} == versions


def test_A1_21_A2_12_A2_13_what_a_process_asks_for_and_what_its_flags_say(
    control_plane: ControlPlane, server: Server, start_operator: StartOperator
) -> None:
    before = sum(1 for _ in control_plane.audit_events())
    operator = start_operator("--cluster-domain=kube.local")
    operator.await_log(LEADING)
    server.submit(a_raw_job(mpiImplementation="Intel"))
    pods = server.until_pods(*worker_names(2))
    searches = pods["pi-worker-0"]["spec"]["dnsConfig"]["searches"]
    assert searches == [f"pi.{server.namespace}.svc.kube.local"]
    server.until_condition("pi", "Created")
    assert operator.stop() == 0
    asked = [
        (event["objectRef"]["resource"], event["verb"], event["requestURI"])
        for event in list(control_plane.audit_events())[before:]
        if event["verb"] in {"list", "watch"} and "objectRef" in event
    ]
    assert {(resource, verb) for resource, verb, _ in asked if resource == "secrets"} == set()
    assert all("limit=1" in uri for resource, verb, uri in asked if (resource, verb) == ("mpijobs", "list"))
    selector = "labelSelector=training.kubeflow.org%2Foperator-name%3Dmpi-operator"
    children = [(resource, selector in uri) for resource, _, uri in asked if resource not in {"mpijobs", "leases"}]
    assert set(children) == {(resource, True) for resource in ("configmaps", "jobs", "pods", "services")}
