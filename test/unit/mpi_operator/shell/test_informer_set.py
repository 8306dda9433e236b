"""What events put into the queue (B058-B064), with real informers over a fake API server."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest

from clockwork import StopToken, SystemClock
from informers.list_watch import Undecodable
from informers.resource import Resource
from informers.sync import wait_for_sync
from informers.testing import FakeApiServer, faults
from mpi_operator import names
from mpi_operator.api.types import MPIJob
from mpi_operator.shell.gang import GangResources
from mpi_operator.shell.informer_set import InformerSet
from mpi_operator.shell.resources import (
    CONFIG_MAPS,
    JOBS,
    MPI_JOBS,
    PODS,
    PRIORITY_CLASSES,
    RESOURCES,
    SECRETS,
    SERVICES,
)
from test.builders.jobs import a_raw_job, a_template
from workqueue import PriorityOrder, Queue

LABELS = {names.LABEL_OPERATOR_NAME: names.OPERATOR_NAME, names.LABEL_JOB_NAME: "pi"}
END = "default/end"
POD_GROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")


def owned_by(kind: str, name: str, uid: str = "uid", api_version: str = "") -> list[dict[str, Any]]:
    version = api_version or {"MPIJob": "kubeflow.org/v2beta1", "Job": "batch/v1"}[kind]
    return [{"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True}]


def child(name: str, *, owners: object = (), labels: Mapping[str, str] = LABELS, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "labels": dict(labels), "ownerReferences": list(owners)}  # type: ignore[call-overload]
    return {"metadata": metadata, **fields}


class Harness:
    """Informers that follow a fake server, and the keys that they enqueue."""

    def __init__(self, server: FakeApiServer, *, namespace: str = "") -> None:
        self.server = server
        self.queue: Queue[str] = Queue("test", order=PriorityOrder())
        self._markers = itertools.count()
        self.deleted: list[MPIJob] = []
        self.has_deleted = StopToken()
        self.undecodable: list[Undecodable] = []
        self._transport = server.transport()
        self.informers = InformerSet(
            self._transport,
            self.queue,
            namespace=namespace,
            clock=SystemClock(),
            random=Random(1),
            stop=StopToken(),
            on_deleted=self._delete,
            on_undecodable=self.undecodable.append,
            on_fatal=lambda _: None,
        )

    def _delete(self, job: MPIJob) -> None:
        self.deleted.append(job)
        self.has_deleted.set(job.key)

    def start(self) -> None:
        self.informers.start()
        self.informers.wait_for_sync(30)

    def await_optional(self) -> None:
        """Wait for the caches that nobody else waits for."""
        optional = tuple(self.informers._optional.values())
        wait_for_sync(optional, timeout_seconds=30, clock=SystemClock(), stop=StopToken())

    def close(self) -> None:
        self.informers.stop(10)
        self._transport.close()

    def keys_after(self, resource: Resource) -> list[str]:
        """Every key that is enqueued before that of a marker, an object of the resource that comes now."""
        marker = {"marker": str(next(self._markers))}
        if resource is MPI_JOBS:
            self.server.put(MPI_JOBS, a_raw_job(name="end", metadata={"uid": "end-uid", "annotations": marker}))
        else:
            self.server.put(resource, child("end", owners=owned_by("MPIJob", "end"), labels=LABELS | marker))
        keys = []
        while (key := self.queue.get()) != END:
            assert key is not None
            keys.append(key)
            self.queue.done(key)
        self.queue.done(END)
        return keys


@pytest.fixture
def harness() -> Iterator[Harness]:
    with FakeApiServer(*RESOURCES.values(), PRIORITY_CLASSES, POD_GROUPS) as server:
        harness = Harness(server)
        try:
            yield harness
        finally:
            harness.close()


@pytest.mark.parametrize(
    "resource", [PODS, JOBS, SERVICES, CONFIG_MAPS], ids=["B059 B060 Pod", "B060 Job", "B060 Service", "B060 ConfigMap"]
)
def test_each_change_of_a_child_enqueues_its_job(harness: Harness, resource: Resource) -> None:
    harness.start()
    harness.server.put(resource, child("x", owners=owned_by("MPIJob", "pi")))
    assert harness.keys_after(resource) == ["default/pi"]
    harness.server.put(resource, child("x", owners=owned_by("MPIJob", "pi"), data={"a": "b"}))
    assert harness.keys_after(resource) == ["default/pi"]
    harness.server.remove(resource, "default", "x")
    assert harness.keys_after(resource) == ["default/pi"]


def test_B074_each_change_of_a_job_enqueues_it(harness: Harness) -> None:
    harness.start()
    harness.server.put(MPI_JOBS, a_raw_job())
    assert harness.keys_after(MPI_JOBS) == ["default/pi"]
    harness.server.put(MPI_JOBS, a_raw_job(status={"startTime": "2030-01-01T00:00:00Z"}))
    assert harness.keys_after(MPI_JOBS) == ["default/pi"]


def test_B064_a_deleted_job_is_forgotten(harness: Harness) -> None:
    harness.server.put(MPI_JOBS, a_raw_job())
    harness.start()
    harness.server.remove(MPI_JOBS, "default", "pi")
    harness.keys_after(MPI_JOBS)
    assert [job.key for job in harness.deleted] == ["default/pi"]


def test_B062_a_launcher_pod_is_traced_through_its_Job(harness: Harness) -> None:
    harness.server.put(JOBS, child("any-name", owners=owned_by("MPIJob", "pi"), labels=LABELS | {"x": "y"}))
    harness.start()
    harness.queue.done(harness.queue.get() or "")
    stray = {names.LABEL_OPERATOR_NAME: names.OPERATOR_NAME}
    harness.server.put(PODS, child("p", owners=owned_by("Job", "any-name", "uid-any-name"), labels=stray))
    assert harness.keys_after(PODS) == ["default/pi"]


def test_A1_5_a_pod_whose_Job_is_gone_is_traced_by_its_label(harness: Harness) -> None:
    harness.start()
    harness.server.put(PODS, child("p", owners=owned_by("Job", "pi-launcher", "gone")))
    harness.keys_after(PODS)
    harness.server.remove(PODS, "default", "p")
    assert harness.keys_after(PODS) == ["default/pi"]


@pytest.mark.parametrize(
    "owners",
    [
        pytest.param([], id="B062 nobody's"),
        pytest.param(owned_by("MPIJob", "pi", api_version="kubeflow.org/v1"), id="B062 an MPIJob of another version"),
        pytest.param(owned_by("Job", "pi", api_version="example.com/v1"), id="B062 another kind of Job"),
        pytest.param([{**owned_by("MPIJob", "pi")[0], "controller": False}], id="B062 an owner that does not control"),
    ],
)
def test_a_child_of_others_enqueues_nothing(harness: Harness, owners: object) -> None:
    harness.start()
    harness.server.put(PODS, child("x", owners=owners))
    assert harness.keys_after(PODS) == []


def test_a_child_that_changes_hands_enqueues_both_jobs(harness: Harness) -> None:
    harness.start()
    harness.server.put(SERVICES, child("x", owners=owned_by("MPIJob", "pi")))
    harness.keys_after(SERVICES)
    harness.server.put(SERVICES, child("x", owners=owned_by("MPIJob", "other")))
    assert sorted(harness.keys_after(SERVICES)) == ["default/other", "default/pi"]


def test_A2_13_only_labelled_children_are_cached_and_no_Secret_is_listed(harness: Harness) -> None:
    harness.server.put(CONFIG_MAPS, child("big", owners=owned_by("MPIJob", "pi"), labels={}))
    harness.server.put(SECRETS, child("keys", owners=owned_by("MPIJob", "pi")))
    harness.start()
    assert harness.keys_after(CONFIG_MAPS) == []
    assert len(harness.informers.caches.config_maps) == 1
    assert [each for each in harness.server.requests if each.route and each.route.resource == SECRETS] == []
    selectors = {
        each.route.resource.plural: each.query.get("labelSelector") for each in harness.server.requests if each.route
    }
    assert selectors == {
        "mpijobs": None,
        "pods": names.OPERATOR_SELECTOR,
        "jobs": names.OPERATOR_SELECTOR,
        "services": names.OPERATOR_SELECTOR,
        "configmaps": names.OPERATOR_SELECTOR,
    }


def test_A3_1_a_change_goes_before_the_jobs_of_the_first_list(harness: Harness) -> None:
    for number in range(5):
        harness.server.put(MPI_JOBS, a_raw_job(name=f"old-{number}", metadata={"uid": f"old-{number}"}))
    harness.start()
    harness.server.put(MPI_JOBS, a_raw_job(name="new", metadata={"uid": "new-uid"}))
    harness.server.remove(MPI_JOBS, "default", "old-0")
    assert harness.has_deleted.wait(30)  # by then the new job, which came before, is in the queue
    assert harness.queue.statistics().depth == 6
    assert harness.queue.get() == "default/new"


def test_A2_14_a_job_that_cannot_be_read_stops_no_other(harness: Harness) -> None:
    broken = a_raw_job(name="broken", metadata={"uid": "broken-uid"})
    broken["spec"]["slotsPerWorker"] = "many"
    harness.server.put(MPI_JOBS, broken)
    harness.server.put(MPI_JOBS, a_raw_job())
    harness.start()
    assert [job.metadata.name for job in harness.informers.caches.mpi_jobs.list()] == ["pi"]
    assert [(each.name, each.uid) for each in harness.undecodable] == [("broken", "broken-uid")]
    assert "slotsPerWorker" in harness.undecodable[0].error


def test_B300_readiness_names_what_is_not_synced(harness: Harness) -> None:
    fault = harness.informers.check()
    assert fault is not None
    assert "pods (not started)" in fault
    harness.start()
    assert harness.informers.check() is None


def test_B065_readiness_names_what_may_not_be_followed_any_more_until_it_may(harness: Harness) -> None:
    harness.start()
    changed = threading.Condition()

    def notify() -> None:
        with changed:
            changed.notify_all()

    harness.informers._pods.on_progress(notify)
    harness.server.script(faults.Respond(403, reason="Forbidden", message="no rights"), resource=PODS, times=2)
    harness.server.inject(faults.SendError(410, reason="Expired"), resource=PODS)
    with changed:
        assert changed.wait_for(lambda: harness.informers.check() is not None, 30)
        assert "pods (not followed any more; latest error: list pods: no rights)" in str(harness.informers.check())
    harness.keys_after(PODS)
    assert harness.informers.check() is None


def test_the_versions_that_the_caches_have_seen_are_told_by_resource(harness: Harness) -> None:
    harness.start()
    assert set(harness.informers.last_versions()) == {
        "mpijobs.kubeflow.org",
        "pods",
        "jobs.batch",
        "services",
        "configmaps",
    }


@pytest.mark.parametrize("is_late", [False, True], ids=["served", "B065 served later"])
def test_a_PodGroup_enqueues_its_job_and_is_cached(harness: Harness, *, is_late: bool) -> None:
    harness.informers.add_gang(GangResources((POD_GROUPS,), are_served=not is_late))
    harness.start()
    if is_late:
        harness.informers.start_gang(GangResources((POD_GROUPS,), are_served=True))
    assert harness.informers.resources["PodGroup"] == POD_GROUPS
    harness.server.put(POD_GROUPS, child("pi", owners=owned_by("MPIJob", "pi"), spec={"minMember": 3}))
    assert harness.keys_after(POD_GROUPS) == ["default/pi"]
    groups = harness.informers.caches.groups
    assert (groups.version, groups.kinds) == ("v1beta1", ("PodGroup",))
    found = groups.get("PodGroup", "default/pi")
    assert found is not None
    assert found.spec == {"minMember": 3}
    assert groups.get("Workload", "default/pi") is None


def test_without_gang_scheduling_there_are_no_groups(harness: Harness) -> None:
    harness.start()
    assert (harness.informers.caches.groups.version, harness.informers.caches.groups.kinds) == ("", ())
    asked = {each.route.resource.plural for each in harness.server.requests if each.route}
    assert not asked & {"priorityclasses", "podgroups", "workloads"}  # B073


def test_every_job_is_looked_at_when_the_gang_schedulers_API_arrives(harness: Harness) -> None:
    """What was refused without it need not wait for its back-off."""
    harness.server.put(MPI_JOBS, a_raw_job())
    harness.informers.add_gang(GangResources((POD_GROUPS,)))
    harness.start()
    harness.queue.done(harness.queue.get() or "")
    assert (harness.informers.caches.groups.version, harness.informers.caches.groups.kinds) == ("", ())
    assert harness.informers.resources["PodGroup"] == POD_GROUPS
    harness.informers.start_gang(GangResources((POD_GROUPS,), are_served=True))
    assert harness.queue.get() == "default/pi"


@pytest.mark.parametrize("change", ["made", "changed", "deleted"])
def test_B063_a_PriorityClass_has_the_jobs_looked_at_that_name_it(harness: Harness, change: str) -> None:
    harness.server.put(MPI_JOBS, a_raw_job(worker={"template": a_template(priorityClassName="high")}))
    harness.server.put(MPI_JOBS, a_raw_job(name="other", metadata={"uid": "other-uid"}))
    last = a_template(priorityClassName="last")
    harness.server.put(MPI_JOBS, a_raw_job(name="last", metadata={"uid": "last-uid"}, worker={"template": last}))
    high = {"metadata": {"name": "high"}, "value": 1000}
    if change != "made":
        harness.server.put(PRIORITY_CLASSES, high)
    harness.informers.add_gang(GangResources((POD_GROUPS,), are_served=True))
    harness.start()
    for _ in range(3):
        harness.queue.done(harness.queue.get() or "")
    harness.await_optional()
    if change == "deleted":
        harness.server.remove(PRIORITY_CLASSES, "", "high")
    else:
        harness.server.put(PRIORITY_CLASSES, {**high, "description": "new"})
    harness.server.put(PRIORITY_CLASSES, {"metadata": {"name": "last"}, "value": 1})
    assert [harness.queue.get(), harness.queue.get()] == ["default/pi", "default/last"]


def test_A2_9_PriorityClasses_that_may_not_be_read_hold_up_nothing(harness: Harness) -> None:
    forbidden = faults.Respond(403, reason="Forbidden", message="cluster-scoped")
    harness.server.script(forbidden, resource=PRIORITY_CLASSES, times=1000)
    harness.informers.add_gang(GangResources((POD_GROUPS,), are_served=True))
    harness.start()
    assert harness.informers.check() is None


def test_B179_A2_9_one_namespace_is_all_that_is_asked_for() -> None:
    with FakeApiServer(*RESOURCES.values(), PRIORITY_CLASSES, POD_GROUPS) as server:
        harness = Harness(server, namespace="team")
        try:
            harness.informers.add_gang(GangResources((POD_GROUPS,), are_served=True))
            harness.start()
            elsewhere = [each.path for each in server.requests if "/namespaces/team/" not in each.path]
            assert {path.rpartition("/")[2] for path in elsewhere} <= {"priorityclasses"}
        finally:
            harness.close()
