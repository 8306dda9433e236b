"""What each gang scheduler is told of a gang, and how its pods are put into it (B180-B194, G1-G3)."""

from __future__ import annotations

from typing import Any

import pytest

from mpi_operator.children.launcher.build import build_launcher_job, template_hash
from mpi_operator.children.pod_group.choice import find_candidates, find_scheduler
from mpi_operator.children.pod_group.coscheduling import Coscheduling
from mpi_operator.children.pod_group.member import brings_own_group, choose_scheduler, find_replaced_scheduler_names
from mpi_operator.children.pod_group.scheduler import find_priority_class, names_priority_class
from mpi_operator.children.pod_group.volcano import Volcano
from mpi_operator.children.workers.build import build_worker
from test.builders.gangs import COSCHEDULING, VERSIONS, a_scheduler, group_manifest, group_names, in_gang
from test.builders.jobs import JSONObject, a_job, a_template

REQUESTS = {"template": a_template({"resources": {"requests": {"cpu": "1"}}})}
POLICY = {
    "minAvailable": 2,
    "queue": "gold",
    "priorityClass": "high",
    "scheduleTimeoutSeconds": 90,
    "minResources": {"cpu": 3},
}
OWNER = {
    "apiVersion": "kubeflow.org/v2beta1",
    "kind": "MPIJob",
    "name": "pi",
    "uid": "11111111-2222-3333-4444-555555555555",
    "controller": True,
    "blockOwnerDeletion": True,
}
LABELS = {
    "app": "pi",
    "training.kubeflow.org/operator-name": "mpi-operator",
    "training.kubeflow.org/job-name": "pi",
}
CONTROLLER = {"apiGroup": "kubeflow.org", "kind": "MPIJob", "name": "pi"}


@pytest.mark.parametrize(
    ("gang_scheduling", "version", "fields", "kind", "expected"),
    [
        pytest.param(
            "volcano",
            "",
            {"launcher": REQUESTS, "worker": REQUESTS},
            "PodGroup",
            ("scheduling.volcano.sh/v1beta1", {"minMember": 3, "minResources": {"cpu": "3"}}),
            id="B181 B187 B188 Volcano, with nothing empty",
        ),
        pytest.param(
            "volcano",
            "",
            {"run_policy": {"schedulingPolicy": POLICY}},
            "PodGroup",
            (
                "scheduling.volcano.sh/v1beta1",
                {"minMember": 2, "minResources": {"cpu": 3}, "queue": "gold", "priorityClassName": "high"},
            ),
            id="B182 B183 B184 Volcano, with all that the policy says but the timeout",
        ),
        pytest.param(
            "volcano",
            "",
            {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "silver"}}},
            "PodGroup",
            ("scheduling.volcano.sh/v1beta1", {"minMember": 3, "queue": "silver"}),
            id="B182 Volcano, with the annotation's queue",
        ),
        pytest.param(
            COSCHEDULING,
            "",
            {"launcher": REQUESTS, "worker": REQUESTS},
            "PodGroup",
            (
                "scheduling.x-k8s.io/v1alpha1",
                {"minMember": 3, "minResources": {"cpu": "3"}, "scheduleTimeoutSeconds": 0},
            ),
            id="B190 B191 scheduler-plugins, with a timeout in any case",
        ),
        pytest.param(
            COSCHEDULING,
            "",
            {"run_policy": {"schedulingPolicy": POLICY}},
            "PodGroup",
            (
                "scheduling.x-k8s.io/v1alpha1",
                {"minMember": 2, "minResources": {"cpu": 3}, "scheduleTimeoutSeconds": 90},
            ),
            id="B191 B192 scheduler-plugins, without queue and priority",
        ),
        pytest.param(
            "kubernetes",
            "v1alpha1",
            {},
            "Workload",
            (
                "scheduling.k8s.io/v1alpha1",
                {"controllerRef": CONTROLLER, "podGroups": [{"name": "mpi", "policy": {"gang": {"minCount": 3}}}]},
            ),
            id="G1 Kubernetes 1.35",
        ),
        pytest.param(
            "kubernetes",
            "v1alpha2",
            {},
            "Workload",
            (
                "scheduling.k8s.io/v1alpha2",
                {
                    "controllerRef": CONTROLLER,
                    "podGroupTemplates": [{"name": "mpi", "schedulingPolicy": {"gang": {"minCount": 3}}}],
                },
            ),
            id="G1 Kubernetes 1.36, the Workload",
        ),
        pytest.param(
            "kubernetes",
            "v1alpha2",
            {"launcherCreationPolicy": "WaitForWorkersReady"},
            "PodGroup",
            (
                "scheduling.k8s.io/v1alpha2",
                {
                    "podGroupTemplateRef": {"workload": {"workloadName": "pi", "podGroupTemplateName": "mpi"}},
                    "schedulingPolicy": {"gang": {"minCount": 2}},
                },
            ),
            id="G1 G2 Kubernetes 1.36, the PodGroup of a job that holds its launcher back",
        ),
        pytest.param(
            "kubernetes",
            "v1beta1",
            {"run_policy": {"schedulingPolicy": POLICY}},
            "PodGroup",
            (
                "scheduling.k8s.io/v1beta1",
                {
                    "workloadRef": {"workloadName": "pi", "templateName": "mpi"},
                    "schedulingPolicy": {"gang": {"minCount": 2}},
                },
            ),
            id="G1 Kubernetes 1.37, the PodGroup",
        ),
    ],
)
def test_what_the_scheduler_is_told(
    gang_scheduling: str, version: str, fields: dict[str, Any], kind: str, expected: tuple[str, JSONObject]
) -> None:
    manifest = group_manifest(a_job(**fields), gang_scheduling, version, kind=kind)
    api_version, spec = expected
    assert manifest == {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "pi", "namespace": "default", "labels": LABELS, "ownerReferences": [OWNER]},
        "spec": spec,
    }


def pods(fields: dict[str, Any], gang_scheduling: str, version: str = "") -> list[JSONObject]:
    """The launcher's template, and a worker."""
    job = in_gang(a_job(**fields), gang_scheduling, version)
    return [build_launcher_job(job, is_suspended=False)["spec"]["template"], build_worker(job, 0)]


def test_B185_B186_Volcano_finds_pods_by_an_annotation_and_schedules_them_itself() -> None:
    template = {**a_template(schedulerName="mine"), "metadata": {"annotations": {"a": "1"}}}
    for pod in pods({"worker": {"template": template}, "launcher": {"template": template}}, "volcano"):
        assert pod["spec"]["schedulerName"] == "volcano"
        assert pod["metadata"]["annotations"] == {"a": "1", "scheduling.k8s.io/group-name": "pi"}


def test_B193_scheduler_plugins_find_pods_by_a_label() -> None:
    for pod in pods({}, COSCHEDULING):
        assert pod["spec"]["schedulerName"] == COSCHEDULING
        assert pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "pi"
        assert pod["metadata"]["annotations"] == {}


@pytest.mark.parametrize(
    ("version", "field", "value"),
    [
        pytest.param("v1alpha1", "workloadRef", {"name": "pi", "podGroup": "mpi"}, id="G1 Kubernetes 1.35"),
        pytest.param("v1alpha2", "schedulingGroup", {"podGroupName": "pi"}, id="G1 Kubernetes 1.36"),
        pytest.param("v1beta1", "schedulingGroup", {"podGroupName": "pi"}, id="G1 Kubernetes 1.37"),
    ],
)
def test_Kubernetes_finds_pods_by_a_field_and_leaves_the_scheduler_to_the_user(
    version: str, field: str, value: JSONObject
) -> None:
    for pod in pods({"worker": {"template": a_template(schedulerName="mine")}}, "kubernetes", version):
        assert pod["spec"][field] == value
        assert pod["spec"].get("schedulerName") in {None, "mine"}


@pytest.mark.parametrize("gang_scheduling", ["volcano", COSCHEDULING, "kubernetes"])
def test_B139_the_jobs_own_templates_are_not_changed(gang_scheduling: str) -> None:
    job = a_job()
    in_gang(job, gang_scheduling)
    assert job == a_job()


def test_B205_a_launcher_that_was_in_no_gang_is_made_anew_at_a_resume() -> None:
    """The field of the group, and the scheduler's name, may not change in a Job's template."""
    job = a_job()
    hashes = {template_hash(in_gang(job, name)) for name in ("volcano", COSCHEDULING, "kubernetes")}
    assert len(hashes | {template_hash(job)}) == 4


@pytest.mark.parametrize("field", ["schedulingGroup", "workloadRef"])
@pytest.mark.parametrize("role", ["launcher", "worker"])
def test_G3_a_group_that_the_user_set_is_never_overwritten(field: str, role: str) -> None:
    job = a_job(**{role: {"template": a_template(**{field: {"podGroupName": "theirs"}})}})
    assert brings_own_group(job, "kubernetes")
    assert choose_scheduler(job, "kubernetes", "v1beta1") is None
    assert choose_scheduler(job, "volcano", "v1beta1") == Volcano()


@pytest.mark.parametrize(
    ("gang_scheduling", "resources"),
    [
        pytest.param("volcano", {"podgroups.scheduling.volcano.sh"}, id="B180 volcano"),
        pytest.param("scheduler-plugins-scheduler", {"podgroups.scheduling.x-k8s.io"}, id="B189 a scheduler's name"),
        pytest.param("default-scheduler", {"podgroups.scheduling.x-k8s.io"}, id="B189 any other name"),
        pytest.param(
            "kubernetes", {"workloads.scheduling.k8s.io", "podgroups.scheduling.k8s.io"}, id="B276 kubernetes"
        ),
    ],
)
def test_which_scheduler_the_flag_stands_for(gang_scheduling: str, resources: set[str]) -> None:
    assert group_names(gang_scheduling) == resources


def test_B189_the_flags_value_is_the_schedulers_name() -> None:
    assert find_scheduler("mine", "") == Coscheduling("mine")


def test_G1_the_newest_version_of_Kubernetes_own_API_is_preferred_and_none_is_taken_blindly() -> None:
    versions = [each.resources[0].version for each in find_candidates("kubernetes")]
    assert versions == ["v1beta1", "v1alpha2", "v1alpha1"]
    assert find_scheduler("kubernetes", "") is None
    assert find_scheduler("kubernetes", "v9") is None


def test_no_scheduler_without_the_flag() -> None:
    assert find_scheduler("", "v1beta1") is None


@pytest.mark.parametrize(
    ("policy", "launcher", "worker", "expected"),
    [
        pytest.param("a", "b", "c", "a", id="B183 the policy's"),
        pytest.param("", "b", "c", "b", id="B183 else the launcher's"),
        pytest.param("", "", "c", "c", id="B183 else the workers'"),
        pytest.param("", "", "", "", id="B183 else none"),
    ],
)
def test_the_class_of_the_gang(policy: str, launcher: str, worker: str, expected: str) -> None:
    job = a_job(
        launcher={"template": a_template(priorityClassName=launcher)},
        worker={"template": a_template(priorityClassName=worker)},
        run_policy={"schedulingPolicy": {"priorityClass": policy}},
    )
    assert find_priority_class(job) == expected


def test_B063_a_job_is_concerned_with_the_class_of_each_of_its_pods() -> None:
    job = a_job(worker={"template": a_template(priorityClassName="low")}, launcher={"template": {"spec": None}})
    assert names_priority_class(job, "low")
    assert not names_priority_class(job, "high")


def test_B186_only_another_name_that_the_user_gave_is_said_to_be_replaced() -> None:
    job = a_job(
        launcher={"template": a_template(schedulerName="volcano")},
        worker={"template": a_template(schedulerName="mine")},
    )
    assert find_replaced_scheduler_names(job, in_gang(job)) == ("mine",)
    assert find_replaced_scheduler_names(a_job(), in_gang(a_job())) == ()


@pytest.mark.parametrize("gang_scheduling", VERSIONS)
def test_what_is_owned_is_never_empty(gang_scheduling: str) -> None:
    """G3: an empty queue is refused by Volcano's CRD, and an empty field would take away what others set."""
    scheduler = a_scheduler(gang_scheduling)
    for resource in scheduler.resources:
        spec = group_manifest(a_job(), gang_scheduling, kind=resource.kind)["spec"]
        assert all(value not in ("", None, {}) for value in spec.values())
