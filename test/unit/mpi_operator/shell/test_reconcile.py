"""One sync from key to result, over a fake API server: what is on the server in the end is what counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from informers.errors import ApiError, ServerError
from informers.resource import Resource
from informers.testing import faults
from mpi_operator.shell.reconcile import OUTDATED_SECONDS, STALE_SECONDS
from mpi_operator.shell.resources import CONFIG_MAPS, JOBS, MPI_JOBS, PODS, SECRETS, SERVICES
from test.builders.shell import KEY, Shell, value_of
from workqueue import Done, RequeueAfter

CHILDREN = [
    "ConfigMap pi-config",
    "Job pi-launcher",
    "Pod pi-worker-0",
    "Pod pi-worker-1",
    "Secret pi-ssh",
    "Service pi",
]
CONFLICT = faults.Respond(409, reason="Conflict", message="the object has been modified")
INVALID = faults.Respond(422, reason="Invalid", message="spec is wrong")
QUOTA = faults.Respond(403, reason="Forbidden", message="exceeded quota")


@pytest.fixture
def shell() -> Iterator[Shell]:
    with Shell() as shell:
        yield shell


@pytest.mark.parametrize("key", ["a/b/c", "/b", ""])
def test_B048_a_malformed_key_is_dropped(shell: Shell, key: str) -> None:
    assert shell.reconcile(key) == Done()
    assert shell.server.requests == ()


def test_B049_the_key_of_a_job_that_is_gone_is_done(shell: Shell) -> None:
    assert shell.reconcile("default/gone") == Done()
    assert shell.server.requests == ()


def test_B055_B067_B069_a_new_job_gets_its_children_one_status_and_then_its_event(shell: Shell) -> None:
    shell.submit()
    shell.reconcile()
    assert shell.children() == CHILDREN
    assert shell.condition("Created")["status"] == "True"
    assert len(shell.server.requests_of("patch", MPI_JOBS)) == 1
    assert shell.events.reasons == ["MPIJobCreated"]
    assert value_of(shell.metrics.jobs_created) == 1


def test_A3_3_nothing_is_written_when_nothing_changes(shell: Shell) -> None:
    shell.submit()
    shell.settle()
    before = len(shell.writes)
    shell.refresh()
    assert shell.reconcile() == Done()
    assert len(shell.writes) == before
    assert shell.events.reasons == ["MPIJobCreated"]


def test_X_a_sync_waits_until_the_caches_have_seen_its_own_writes(shell: Shell) -> None:
    shell.submit()
    shell.reconcile()
    before = len(shell.server.requests)
    assert shell.reconcile() == RequeueAfter(STALE_SECONDS)
    assert len(shell.server.requests) == before
    shell.refresh()
    assert shell.reconcile() == Done()


def test_A1_10_A3_4_a_conflict_of_the_status_write_repeats_neither_event_nor_counter(shell: Shell) -> None:
    shell.submit()
    shell.server.script(CONFLICT, verb="patch", resource=MPI_JOBS)
    shell.reconcile()
    assert shell.condition("Created")["status"] == "True"
    assert len(shell.server.requests_of("get", MPI_JOBS)) == 1
    assert shell.events.reasons == ["MPIJobCreated"]
    assert value_of(shell.metrics.jobs_created) == 1


def test_a_job_that_keeps_changing_is_looked_at_again_quietly(shell: Shell) -> None:
    shell.submit()
    shell.server.script(CONFLICT, verb="patch", resource=MPI_JOBS, times=9)
    assert shell.reconcile() == RequeueAfter(OUTDATED_SECONDS)
    assert shell.events.reasons == []


def test_a_job_that_was_deleted_meanwhile_is_done(shell: Shell) -> None:
    shell.submit()
    shell.server.remove(MPI_JOBS, "default", "pi")
    assert shell.reconcile() == Done()
    assert shell.events.reasons == []
    assert value_of(shell.metrics.jobs_created) == 0


@pytest.mark.parametrize("after_write", [False, True], ids=["the write was lost", "its answer was lost"])
@pytest.mark.parametrize("position", range(8))
def test_a_fault_between_any_two_writes_changes_nothing_in_the_end(
    shell: Shell, position: int, *, after_write: bool
) -> None:
    shell.submit()
    fault = faults.DropRequest(after_write=after_write)
    for verb in ("create", "patch"):
        shell.server.script(fault, verb=verb, skip=position if verb == "create" else max(0, position - 6))
    for _ in range(3):
        shell.refresh()
        try:
            shell.reconcile()
        except ApiError:
            continue
    shell.restart()
    assert shell.settle() == Done()
    assert shell.children() == CHILDREN
    assert shell.condition("Created")["status"] == "True"
    assert shell.events.reasons.count("MPIJobCreated") <= 1
    assert value_of(shell.metrics.jobs_created) <= 1


def test_a_failure_that_may_pass_is_raised_for_the_queue_to_repeat(shell: Shell) -> None:
    shell.submit()
    shell.server.script(faults.Respond(503, message="come back later"), verb="create", resource=PODS, times=9)
    with pytest.raises(ServerError):
        shell.reconcile()
    assert shell.events.reasons == []
    assert shell.condition("Created") == {}
    assert value_of(shell.metrics.syncs, "failed") == 1


@pytest.mark.parametrize("refusal", [INVALID, QUOTA], ids=["A1_10 Invalid", "A1_10 quota"])
def test_a_refused_create_is_recorded_and_repeated_with_back_off(shell: Shell, refusal: faults.Respond) -> None:
    shell.submit()
    shell.server.script(refusal, verb="create", resource=PODS, times=99)
    delays = []
    for _ in range(12):
        shell.refresh()
        result = shell.reconcile()
        assert isinstance(result, RequeueAfter)
        delays.append(result.seconds)
    assert shell.condition("Created")["status"] == "True"
    assert shell.condition("Running")["reason"] == "FailedCreate"
    assert refusal.message in shell.condition("Running")["message"]
    assert shell.events.reasons.count("FailedCreate") == 1
    assert shell.events.reasons.count("MPIJobCreated") == 1
    assert value_of(shell.metrics.jobs_created) == 1
    assert delays[0] == pytest.approx(1.0, rel=0.11)
    assert delays[3] == pytest.approx(8.0, rel=0.11)
    assert delays[-1] == pytest.approx(300.0, rel=0.11)


def test_B132_a_refused_worker_stops_the_batches(shell: Shell) -> None:
    shell.submit(workers=20)
    shell.server.script(QUOTA, verb="create", resource=PODS, times=99)
    shell.reconcile()
    assert len(shell.server.requests_of("create", PODS)) == 1


def test_the_back_off_of_refusals_begins_anew_after_a_success(shell: Shell) -> None:
    shell.submit()
    shell.server.script(QUOTA, verb="create", resource=PODS, times=3)
    for _ in range(3):
        shell.refresh()
        shell.reconcile()
    assert isinstance(shell.settle(), Done)
    assert shell.children() == CHILDREN
    shell.server.remove(PODS, "default", "pi-worker-0")
    shell.server.script(QUOTA, verb="create", resource=PODS)
    shell.refresh()
    result = shell.reconcile()
    assert isinstance(result, RequeueAfter)
    assert result.seconds == pytest.approx(1.0, rel=0.11)


def test_a_namespace_that_goes_is_left_in_peace(shell: Shell) -> None:
    shell.submit()
    going = faults.Respond(403, reason="Forbidden", message="terminating", causes=("NamespaceTerminating",))
    shell.server.script(going, verb="create", times=99)
    assert shell.reconcile() == Done()
    assert shell.events.reasons == []


def test_who_does_not_lead_writes_nothing(shell: Shell) -> None:
    shell.submit()
    shell.is_leader = False
    with pytest.raises(ApiError):
        shell.reconcile()
    assert shell.writes == []
    assert shell.events.reasons == []


def test_B057_a_foreign_child_is_told_once_and_left_alone(shell: Shell) -> None:
    foreign = shell.server.put(SERVICES, {"metadata": {"name": "pi", "namespace": "default"}})
    shell.submit()
    shell.reconcile()
    shell.refresh()
    shell.reconcile()
    assert shell.server.find(SERVICES, "default", "pi") == foreign
    assert shell.condition("Running")["reason"] == "ErrResourceExists"
    assert shell.events.reasons.count("ErrResourceExists") == 1


def test_A4_12_a_child_of_a_predecessor_is_waited_for_quietly(shell: Shell) -> None:
    predecessor = {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "name": "pi",
        "uid": "old",
        "controller": True,
    }
    shell.server.put(SERVICES, {"metadata": {"name": "pi", "namespace": "default", "ownerReferences": [predecessor]}})
    shell.submit()
    result = shell.reconcile()
    assert isinstance(result, RequeueAfter)
    assert result.seconds <= 1
    assert "ErrResourceExists" not in shell.events.reasons
    shell.server.remove(SERVICES, "default", "pi")
    shell.settle()
    assert shell.children() == CHILDREN


def test_a_warning_of_the_server_becomes_one_event(shell: Shell) -> None:
    shell.submit()
    shell.server.script(faults.Warn("unknown field spec.nodeSelektor"), verb="create", resource=PODS, times=2)
    shell.settle()
    warnings = [event for event in shell.events.emitted if event.reason == "ServerWarning"]
    assert len(warnings) == 1
    assert warnings[0].type == "Warning"
    assert "unknown field spec.nodeSelektor" in warnings[0].message


def test_B115_the_Secret_is_looked_at_once_a_minute_at_most(shell: Shell) -> None:
    shell.submit()
    shell.settle()
    looks = len(shell.server.requests_of("get", SECRETS))
    shell.refresh()
    shell.reconcile()
    assert len(shell.server.requests_of("get", SECRETS)) == looks
    shell.clock.step(61)
    shell.refresh()
    shell.reconcile()
    assert len(shell.server.requests_of("get", SECRETS)) == looks + 1


def test_A1_19_an_unusable_Secret_is_repaired_in_place(shell: Shell) -> None:
    shell.submit()
    shell.settle()
    secret = shell.server.find(SECRETS, "default", "pi-ssh")
    assert secret is not None
    data = {**secret["data"], "ssh-privatekey": "eA==", "extra": "eA=="}
    shell.server.put(SECRETS, {**secret, "data": data})
    shell.restart()
    shell.settle()
    repaired = shell.server.find(SECRETS, "default", "pi-ssh")
    assert repaired is not None
    assert repaired["metadata"]["uid"] == secret["metadata"]["uid"]
    assert repaired["data"]["extra"] == "eA=="
    assert repaired["data"]["ssh-privatekey"] not in {"eA==", secret["data"]["ssh-privatekey"]}


def test_private_keys_are_in_no_request_but_the_Secrets_own(shell: Shell) -> None:
    shell.submit()
    shell.settle()
    secret = shell.server.find(SECRETS, "default", "pi-ssh")
    assert secret is not None
    key = secret["data"]["ssh-privatekey"].encode()
    carriers = [request.path for request in shell.server.requests if key in request.body]
    assert carriers == ["/api/v1/namespaces/default/secrets"]
    assert key.decode() not in repr(shell.memory.secrets.get(secret["metadata"]["ownerReferences"][0]["uid"]))


def test_B084_a_child_without_labels_is_adopted_not_made_again(shell: Shell) -> None:
    shell.submit()
    shell.settle()
    config_map = shell.server.find(CONFIG_MAPS, "default", "pi-config")
    assert config_map is not None
    shell.server.put(CONFIG_MAPS, {**config_map, "metadata": {**config_map["metadata"], "labels": {"app": "pi"}}})
    shell.settle()
    adopted = shell.server.find(CONFIG_MAPS, "default", "pi-config")
    assert adopted is not None
    assert adopted["metadata"]["uid"] == config_map["metadata"]["uid"]
    assert adopted["metadata"]["labels"] == config_map["metadata"]["labels"]


def test_a_child_that_changed_meanwhile_is_looked_at_again_quietly(shell: Shell) -> None:
    shell.submit()
    shell.settle()
    shell.server.put(MPI_JOBS, {**shell.job(), "spec": {**shell.job()["spec"], "slotsPerWorker": 4}})
    shell.refresh()
    shell.server.script(CONFLICT, verb="patch", resource=CONFIG_MAPS)
    assert shell.reconcile() == RequeueAfter(OUTDATED_SECONDS)
    shell.settle()
    config_map = shell.server.find(CONFIG_MAPS, "default", "pi-config")
    assert config_map is not None
    assert "slots=4" in config_map["data"]["hostfile"]


def test_what_is_remembered_of_a_job_goes_with_it(shell: Shell) -> None:
    uid = shell.submit()["metadata"]["uid"]
    shell.settle()
    job = shell.caches.mpi_jobs.get(KEY)
    assert job is not None
    shell.memory.announced.announce(uid, "something")
    shell.memory.forget(job)
    assert shell.memory.announced.keys(uid) == frozenset()
    assert shell.memory.secrets.get(uid) is None


def test_the_Job_is_deleted_with_its_pods(shell: Shell) -> None:
    shell.submit(run_policy={"ttlSecondsAfterFinished": 0})
    shell.settle()
    launcher_job = shell.server.find(JOBS, "default", "pi-launcher")
    assert launcher_job is not None
    ended = {"type": "Complete", "status": "True", "lastTransitionTime": "2029-12-31T23:00:00Z"}
    shell.server.put(JOBS, {**launcher_job, "status": {"succeeded": 1, "conditions": [ended]}})
    shell.settle()
    (deletion,) = shell.server.requests_of("delete", JOBS)
    assert deletion.json()["propagationPolicy"] == "Background"
    assert deletion.json()["preconditions"] == {"uid": launcher_job["metadata"]["uid"]}
    assert shell.events.reasons[-1] == "MPIJobSucceeded"


def suspended(shell: Shell) -> None:
    """A job that ran, was suspended, and is to run again."""
    shell.submit(run_policy={"suspend": True})
    shell.settle()
    launcher_job = shell.server.find(JOBS, "default", "pi-launcher")
    assert launcher_job is not None
    stopped = {"type": "Suspended", "status": "True", "lastTransitionTime": "2029-12-31T23:00:00Z"}
    shell.server.put(JOBS, {**launcher_job, "status": {"conditions": [stopped]}})
    shell.settle()
    job = shell.job()
    shell.server.put(MPI_JOBS, {**job, "spec": {**job["spec"], "runPolicy": {"suspend": False}}})
    shell.refresh()


def test_B200_a_resume_writes_the_status_then_the_launcher_then_the_workers(shell: Shell) -> None:
    suspended(shell)
    before = len(shell.writes)
    shell.settle()
    kinds = [(each.method, each.route.resource) for each in shell.writes[before:] if each.route is not None]
    order = list(dict.fromkeys(kinds))
    assert order.index(("PATCH", MPI_JOBS)) < order.index(("PATCH", JOBS)) < order.index(("POST", PODS))
    assert shell.events.reasons.count("MPIJobResumed") == 1


def test_a_resume_whose_status_cannot_be_written_does_nothing_else(shell: Shell) -> None:
    suspended(shell)
    before = len(shell.writes)
    shell.server.script(faults.Respond(503, message="not now"), verb="patch", resource=MPI_JOBS)
    with pytest.raises(ServerError):
        shell.reconcile()
    assert [each.route.resource for each in shell.writes[before:] if each.route] == [MPI_JOBS]
    assert "MPIJobResumed" not in shell.events.reasons


def test_a_refusal_after_the_status_was_written_first_is_recorded_over_it(shell: Shell) -> None:
    suspended(shell)
    shell.server.script(QUOTA, verb="create", resource=PODS, times=99)
    for _ in range(4):
        shell.refresh()
        shell.reconcile()
    assert shell.condition("Suspended")["status"] == "False"
    assert shell.condition("Running")["reason"] == "FailedCreate"
    assert shell.events.reasons.count("MPIJobResumed") == 1
    assert shell.events.reasons.count("FailedCreate") == 1


@pytest.mark.parametrize("position", range(5))
def test_a_fault_between_any_two_writes_of_a_resume_announces_nothing_twice(shell: Shell, position: int) -> None:
    suspended(shell)
    for verb in ("create", "patch"):
        shell.server.script(faults.DropRequest(after_write=True), verb=verb, skip=position)
    for _ in range(6):
        shell.refresh()
        try:
            shell.reconcile()
        except ApiError:
            continue
    shell.restart()
    shell.settle()
    assert shell.children() == CHILDREN
    assert shell.condition("Suspended")["status"] == "False"
    assert shell.events.reasons.count("MPIJobResumed") <= 1


def test_warnings_of_later_syncs_make_no_further_event(shell: Shell) -> None:
    shell.submit(workers=1)
    shell.server.script(faults.Warn("be warned"), verb="create", resource=PODS, times=9)
    shell.settle()
    shell.server.remove(PODS, "default", "pi-worker-0")
    shell.settle()
    assert len(shell.server.requests_of("create", PODS)) == 2
    assert shell.events.reasons.count("ServerWarning") == 1


def test_a_name_that_is_held_at_a_resume_is_planned_with_on_the_status_just_written(shell: Shell) -> None:
    suspended(shell)
    shell.server.put(PODS, {"metadata": {"name": "pi-worker-0", "namespace": "default"}})
    for _ in range(3):
        shell.refresh()
        shell.reconcile()
    assert shell.condition("Suspended")["status"] == "False"
    assert shell.condition("Running")["reason"] == "ErrResourceExists"
    assert shell.server.requests_of("get", MPI_JOBS) == ()


def test_A4_14_a_pod_that_is_gone_already_counts_as_deleted(shell: Shell) -> None:
    shell.submit()
    shell.settle()
    job = shell.job()
    shell.server.put(MPI_JOBS, {**job, "spec": {**job["spec"], "runPolicy": {"suspend": True}}})
    shell.refresh()
    shell.server.remove(PODS, "default", "pi-worker-0")
    shell.server.put(PODS, {"metadata": {"name": "pi-worker-1", "namespace": "default", "uid": "another"}})
    shell.reconcile()
    assert shell.condition("Suspended")["status"] == "True"
    another = shell.server.find(PODS, "default", "pi-worker-1")
    assert another is not None
    assert another["metadata"]["uid"] == "another"


@pytest.mark.parametrize("after_write", [False, True])
def test_B070_B176_a_failed_patch_leaves_the_cache_alone_and_is_repeated(shell: Shell, *, after_write: bool) -> None:
    shell.submit()
    shell.settle()
    job = shell.job()
    shell.server.put(MPI_JOBS, {**job, "spec": {**job["spec"], "runPolicy": {"suspend": True}}})
    shell.refresh()
    shell.server.script(faults.DropRequest(after_write=after_write), verb="patch", resource=JOBS)
    with pytest.raises(ApiError):
        shell.reconcile()
    cached = shell.caches.launcher_jobs.get("default/pi-launcher")
    assert cached is not None
    assert cached.spec.suspend is False
    shell.settle()
    launcher_job = shell.server.find(JOBS, "default", "pi-launcher")
    assert launcher_job is not None
    assert launcher_job["spec"]["suspend"] is True


@pytest.mark.parametrize(
    ("resource", "name"),
    [(PODS, "pi-worker-0"), (SERVICES, "pi"), (CONFIG_MAPS, "pi-config"), (SECRETS, "pi-ssh"), (JOBS, "pi-launcher")],
    ids=["B084 a worker", "B084 a Service", "B084 a ConfigMap", "B084 a Secret", "B084 a launcher Job"],
)
def test_an_own_child_that_no_cache_shows_is_adopted_and_asked_for_no_more(
    shell: Shell, resource: Resource, name: str
) -> None:
    shell.submit()
    shell.reconcile()
    made = shell.server.find(resource, "default", name)
    assert made is not None
    shell.server.put(resource, {**made, "metadata": {**made["metadata"], "labels": {"mine": "yes"}}})
    status = {key: value for key, value in shell.job().items() if key != "status"}
    shell.server.put(MPI_JOBS, status)
    shell.restart()
    shell.settle()
    adopted = shell.server.find(resource, "default", name)
    assert adopted is not None
    assert adopted["metadata"]["uid"] == made["metadata"]["uid"]
    assert adopted["metadata"]["labels"]["training.kubeflow.org/operator-name"] == "mpi-operator"
    assert adopted["metadata"]["labels"]["training.kubeflow.org/job-name"] == "pi"
    assert adopted["metadata"]["labels"]["mine"] == "yes"


def test_a_server_that_asks_for_patience_gets_it(shell: Shell) -> None:
    shell.submit()
    throttled = b'{"kind":"Status","code":429,"reason":"TooManyRequests","details":{"retryAfterSeconds":120}}'
    shell.server.script(faults.Respond(429, body=throttled), verb="create", resource=PODS)
    assert shell.reconcile() == RequeueAfter(120)
    assert value_of(shell.metrics.syncs, "throttled") == 1


def test_A1_5_no_second_launcher_is_made_while_a_pod_of_the_first_is_in_no_cache_yet(shell: Shell) -> None:
    shell.submit()
    shell.settle()
    launcher_job = shell.server.find(JOBS, "default", "pi-launcher")
    assert launcher_job is not None
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "pi-launcher", "controller": True}
    pod = {
        "metadata": {
            "name": "pi-launcher-abcde",
            "namespace": "default",
            "labels": launcher_job["spec"]["template"]["metadata"]["labels"],
            "ownerReferences": [{**owner, "uid": launcher_job["metadata"]["uid"]}],
        },
        "status": {"phase": "Running"},
    }
    shell.server.remove(JOBS, "default", "pi-launcher")
    shell.refresh()
    shell.server.put(PODS, pod)
    shell.reconcile()
    assert shell.server.find(JOBS, "default", "pi-launcher") is None
    shell.server.remove(PODS, "default", "pi-launcher-abcde")
    shell.settle()
    assert shell.server.find(JOBS, "default", "pi-launcher") is not None


def test_B218_pods_are_deleted_with_their_own_grace_period_and_only_those_that_were_looked_at(shell: Shell) -> None:
    shell.submit()
    shell.settle()
    uids = [pod["metadata"]["uid"] for pod in shell.server.objects(PODS)]
    job = shell.job()
    shell.server.put(MPI_JOBS, {**job, "spec": {**job["spec"], "runPolicy": {"suspend": True}}})
    shell.settle()
    options = [deletion.json() for deletion in shell.server.requests_of("delete", PODS)]
    kind = {"apiVersion": "v1", "kind": "DeleteOptions"}
    assert sorted(options, key=str) == sorted(({**kind, "preconditions": {"uid": uid}} for uid in uids), key=str)
