"""What other schedulers and queues read on an MPIJob's objects, a test for each of them (interop.md 1 to 4).

Each test looks at the objects as that system does: by the very keys that it reads, and through the same owners.
"""

from __future__ import annotations

from typing import Any

import pytest

from mpi_operator.actions import Create, CreateWorkers, Patch
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from test.builders.children import SUSPENDED, a_launcher_job
from test.builders.gangs import group_manifest, in_gang
from test.builders.jobs import JSONObject, a_raw_job, a_template, decode_job
from test.builders.pods import NOW
from test.builders.snapshots import (
    IS_NOT_RUNNING_SUSPENDED,
    IS_SUSPENDED,
    a_snapshot,
    an_accepted_job,
)

QUEUE = "kueue.x-k8s.io/queue-name"
TAS = "kueue.x-k8s.io/podset-required-topology"

VOLCANO_ANNOTATIONS = {
    "volcano.sh/preemptable": "true",
    "volcano.sh/cooldown-time": "600s",
    "volcano.sh/sla-waiting-time": "1h",
    "volcano.sh/network-topology-mode": "hard",
    "volcano.sh/network-topology-highest-tier": "2",
    "scheduling.volcano.sh/group-min-member": "3",
}


def a_role(
    *, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **spec: Any
) -> JSONObject:
    """A replica spec whose template has this metadata, and these fields in its pod spec."""
    metadata = {"labels": labels or {}, "annotations": annotations or {}}
    return {"template": {**a_template(**spec), "metadata": metadata}}


def children(gang_scheduling: str = "", **fields: Any) -> tuple[JSONObject, list[JSONObject], list[JSONObject]]:
    """The launcher's Job, all pods or pod templates, and the groups, that a new job is given."""
    decided = plan(
        a_snapshot(an_accepted_job(**fields), gang_version="v1beta1"), Settings(gang_scheduling=gang_scheduling), NOW
    )
    created = [action for action in decided.actions if isinstance(action, Create)]
    batches = [action for action in decided.actions if isinstance(action, CreateWorkers)]
    [job] = [dict(action.manifest) for action in created if action.kind == "Job"]
    workers = [dict(pod.manifest) for batch in batches for pod in batch.pods]
    return (
        job,
        [job["spec"]["template"], *workers],
        [dict(action.manifest) for action in created if action.kind == "PodGroup"],
    )


def controller(manifest: JSONObject) -> tuple[str, str, str]:
    """The controller of an object, as those follow it who look for a pod's workload."""
    [owner] = [owner for owner in manifest["metadata"]["ownerReferences"] if owner["controller"]]
    return owner["apiVersion"], owner["kind"], owner["uid"]


class TestKueue:
    """Kueue starts and stops jobs by `suspend`, and writes what it decided into the templates (interop.md 1)."""

    admitted = a_role(
        labels={"kueue.x-k8s.io/podset": "worker", "kueue.x-k8s.io/local-queue-name": "team"},
        annotations={"kueue.x-k8s.io/workload": "mpijob-pi-1"},
        nodeSelector={"zone": "a"},
        tolerations=[{"key": "gpu", "operator": "Exists"}],
        schedulingGates=[{"name": "kueue.x-k8s.io/topology"}],
    )

    def test_K5_K9_pods_carry_all_that_Kueue_put_into_the_template_and_no_pod_is_added(self) -> None:
        _, pods, _ = children(worker={**self.admitted, "replicas": 2}, launcher=self.admitted)
        assert len(pods) == 3
        for pod in pods:
            template = self.admitted["template"]
            assert template["metadata"]["labels"].items() <= pod["metadata"]["labels"].items()
            assert pod["metadata"]["annotations"] == template["metadata"]["annotations"]
            for key in ("nodeSelector", "tolerations", "schedulingGates"):
                assert pod["spec"][key] == template["spec"][key]

    def test_K5_what_Kueue_took_away_is_gone_from_the_launcher_at_the_next_start(self) -> None:
        job = an_accepted_job(IS_SUSPENDED, IS_NOT_RUNNING_SUSPENDED)
        before = an_accepted_job(launcher=self.admitted)
        stopped = a_launcher_job(before, suspended=True, conditions=[SUSPENDED])
        decided = plan(a_snapshot(job, launcher_job=stopped), Settings(), NOW)
        [patch] = [action for action in decided.actions if isinstance(action, Patch) and action.kind == "Job"]
        template = patch.patch["spec"]["template"]
        assert template["metadata"]["labels"]["kueue.x-k8s.io/podset"] is None
        assert template["metadata"]["annotations"] == {"kueue.x-k8s.io/workload": None}
        assert template["spec"]["nodeSelector"] == {"zone": None}

    def test_K7_ranks_are_told_by_the_index_label(self) -> None:
        _, pods, _ = children(runLauncherAsWorker=True)
        index = "training.kubeflow.org/replica-index"
        assert [pod["metadata"]["labels"].get(index) for pod in pods] == ["0", "1", "2"]
        _, pods, _ = children()
        assert [pod["metadata"]["labels"].get(index) for pod in pods] == [None, "0", "1"]

    def test_K8_the_launchers_Job_is_no_workload_of_its_own(self) -> None:
        job, _, _ = children(metadata={"labels": {QUEUE: "team"}})
        assert controller(job) == ("kubeflow.org/v2beta1", "MPIJob", "11111111-2222-3333-4444-555555555555")
        assert QUEUE not in job["metadata"]["labels"]

    def test_K5_topology_annotations_of_the_templates_reach_the_pods(self) -> None:
        role = a_role(annotations={TAS: "rack", "kueue.x-k8s.io/podset-group-name": "all"})
        _, pods, _ = children(launcher=role, worker={**role, "replicas": 2})
        assert {pod["metadata"]["annotations"][TAS] for pod in pods} == {"rack"}

    def test_K12_a_job_with_what_Kueue_stores_decodes(self) -> None:
        """Empty replica specs, null entries, and a manager of Kueue's own."""
        raw = a_raw_job()
        stored: tuple[JSONObject, ...] = ({}, {"Launcher": None}, {"Worker": None, "Other": {"template": {}}})
        for specs in stored:
            raw["spec"]["mpiReplicaSpecs"] = specs
            raw["spec"]["runPolicy"] = {"managedBy": "kueue.x-k8s.io/multikueue"}
            assert plan(a_snapshot(decode_job(raw)), Settings(), NOW).actions == ()


class TestVolcano:
    """Volcano groups pods by an annotation, and reads further ones on pods and PodGroups (interop.md 2)."""

    def test_B185_all_pods_are_in_the_group_and_carry_the_jobs_annotations(self) -> None:
        metadata = {"annotations": {**VOLCANO_ANNOTATIONS, "unrelated": "1", QUEUE: "team"}}
        _, pods, [group] = children("volcano", metadata=metadata)
        assert group["metadata"]["annotations"] == VOLCANO_ANNOTATIONS
        for pod in pods:
            assert pod["metadata"]["annotations"] == {**VOLCANO_ANNOTATIONS, "scheduling.k8s.io/group-name": "pi"}
            assert pod["spec"]["schedulerName"] == "volcano"

    def test_a_templates_own_annotation_goes_before_the_jobs(self) -> None:
        key = "volcano.sh/preemptable"
        role = a_role(annotations={key: "false"})
        _, pods, [group] = children("volcano", metadata={"annotations": {key: "true"}}, launcher=role)
        assert [pod["metadata"]["annotations"][key] for pod in pods] == ["false", "true", "true"]
        assert group["metadata"]["annotations"][key] == "true"

    def test_B182_the_queues_annotation_becomes_the_groups_queue(self) -> None:
        _, _, [group] = children("volcano", metadata={"annotations": {"scheduling.volcano.sh/queue-name": "gold"}})
        assert group["spec"]["queue"] == "gold"
        assert "annotations" not in group["metadata"]

    def test_task_roles_of_the_templates_reach_the_pods(self) -> None:
        """`volcano.sh/task-spec` is what a PodGroup's minTaskMember counts by."""
        role = a_role(annotations={"volcano.sh/task-spec": "worker"})
        _, pods, _ = children("volcano", worker={**role, "replicas": 2})
        assert [pod["metadata"]["annotations"].get("volcano.sh/task-spec") for pod in pods] == [
            None,
            "worker",
            "worker",
        ]


def test_scheduler_plugins_find_the_group_of_each_pod_by_its_label() -> None:
    _, pods, [group] = children("scheduler-plugins-scheduler")
    assert {pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] for pod in pods} == {group["metadata"]["name"]}
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"scheduler-plugins-scheduler"}


class TestKai:
    """KAI follows owners from the pod to the MPIJob, whose replicas it reads as stored (interop.md 3.2)."""

    def test_each_pod_leads_to_its_MPIJob_and_says_its_role(self) -> None:
        role = a_role(labels={"kai.scheduler/queue": "team"}, schedulerName="kai-scheduler")
        job, pods, groups = children(launcher=role, worker={**role, "replicas": 2})
        assert groups == []
        assert {controller(owned)[1] for owned in (job, *pods[1:])} == {"MPIJob"}
        assert [pod["metadata"]["labels"]["training.kubeflow.org/job-role"] for pod in pods] == [
            "launcher",
            "worker",
            "worker",
        ]
        for pod in pods:
            assert pod["metadata"]["labels"]["kai.scheduler/queue"] == "team"
            assert pod["metadata"]["labels"]["training.kubeflow.org/job-name"] == "pi"
            assert pod["spec"]["schedulerName"] == "kai-scheduler"

    def test_K6_B015_what_KAI_reads_of_the_job_is_as_the_user_wrote_it(self) -> None:
        """No action ever names the MPIJob's spec: patches of MPIJobs are of their status alone."""
        decided = plan(a_snapshot(an_accepted_job()), Settings(), NOW)
        assert not [action for action in decided.actions if getattr(action, "kind", "") == "MPIJob"]


@pytest.mark.parametrize(
    ("labels", "annotations", "spec"),
    [
        pytest.param(
            {"pod-group.scheduling.sigs.k8s.io": "pi"},
            {
                "gang.scheduling.koordinator.sh/name": "pi",
                "gang.scheduling.koordinator.sh/min-available": "3",
                "gang.scheduling.koordinator.sh/mode": "Strict",
            },
            {"schedulerName": "koord-scheduler"},
            id="K9 Koordinator",
        ),
        pytest.param(
            {"applicationId": "pi", "queue": "root.team", "yunikorn.apache.org/app-id": "pi"},
            {
                "yunikorn.apache.org/task-group-name": "worker",
                "yunikorn.apache.org/task-groups": '[{"name": "worker", "minMember": 2}]',
                "yunikorn.apache.org/schedulingPolicyParameters": "placeholderTimeoutInSeconds=30",
            },
            {"schedulerName": "yunikorn"},
            id="K9 YuniKorn",
        ),
        pytest.param(
            {},
            {},
            {"schedulingGroup": {"podGroupName": "theirs"}},
            id="K9 a gang of Kubernetes' own that the user made",
        ),
    ],
)
def test_what_the_template_says_reaches_every_pod_unchanged(
    labels: dict[str, str], annotations: dict[str, str], spec: dict[str, Any]
) -> None:
    role = a_role(labels=labels, annotations=annotations, **spec)
    _, pods, groups = children(launcher=role, worker={**role, "replicas": 2})
    assert groups == []
    for pod in pods:
        assert labels.items() <= pod["metadata"]["labels"].items()
        assert pod["metadata"]["annotations"] == annotations
        assert spec.items() <= pod["spec"].items()


def test_a_gang_and_Kueue_may_come_together() -> None:
    """Kueue's gates and labels stay on pods that are in a gang, too."""
    role = a_role(labels={"kueue.x-k8s.io/podset": "worker"}, schedulingGates=[{"name": "kueue.x-k8s.io/topology"}])
    _, pods, [group] = children("volcano", worker={**role, "replicas": 2})
    assert pods[1]["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}]
    assert pods[1]["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "worker"
    assert group == group_manifest(in_gang(an_accepted_job(worker={**role, "replicas": 2})))
