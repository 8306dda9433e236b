from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given

from mpi_operator.api.types import MPIJob
from mpi_operator.api.validation import validate
from mpi_operator.children.launcher.build import (
    build_launcher_job,
    build_pod_template,
    build_scheduling_directives,
    is_restart_policy_overridden,
    template_hash,
)
from mpi_operator.children.workers.build import build_worker
from test.builders.jobs import a_job, a_template
from test.builders.strategies import valid_jobs
from test.golden import assert_golden

GOLDEN = Path(__file__).parent / "golden"

DIRECTIVES: dict[str, Any] = {
    "metadata": {"labels": {"team": "a"}, "annotations": {"note": "kept"}},
    "spec": {
        "containers": [{"name": "mpi", "image": "mpi-pi"}],
        "nodeSelector": {"zone": "a"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
        "affinity": {
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []},
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []},
        },
    },
}


def a_launcher_of(template: dict[str, Any], **fields: Any) -> MPIJob:
    return a_job(launcher={"template": template}, **fields)


def test_b140_b142_b144_b146_b147_the_plainest_launcher() -> None:
    assert_golden(GOLDEN / "plain.yaml", build_launcher_job(a_job(), is_suspended=False))


def test_b081_b141_b143_b145_a_launcher_with_everything() -> None:
    job = a_launcher_of(
        {**DIRECTIVES, "spec": {**DIRECTIVES["spec"], "hostNetwork": True}},
        runLauncherAsWorker=True,
        mpiImplementation="Intel",
        slotsPerWorker=2,
        run_policy={"ttlSecondsAfterFinished": 1, "activeDeadlineSeconds": 2, "backoffLimit": 3, "suspend": True},
    )
    assert_golden(GOLDEN / "everything.yaml", build_launcher_job(job, is_suspended=True))


def test_a1_4_b141_the_job_never_carries_a_ttl() -> None:
    spec = build_launcher_job(a_job(run_policy={"ttlSecondsAfterFinished": 0}), is_suspended=False)["spec"]
    assert set(spec) == {"template", "podReplacementPolicy"}


def test_b012_a_backoff_limit_of_0_is_passed_on() -> None:
    assert build_launcher_job(a_job(run_policy={"backoffLimit": 0}), is_suspended=False)["spec"]["backoffLimit"] == 0


def test_b081_without_ranks_on_the_launcher_it_has_no_index() -> None:
    assert "training.kubeflow.org/replica-index" not in build_pod_template(a_job())["metadata"]["labels"]


def test_b098_b099_b155_volumes_come_after_the_users_in_one_order() -> None:
    template = a_template({"volumeMounts": [{"name": "data", "mountPath": "/data"}]}, volumes=[{"name": "data"}])
    pod = build_pod_template(a_launcher_of(template))
    assert [volume["name"] for volume in pod["spec"]["volumes"]] == ["data", "ssh-auth", "mpi-job-config"]
    assert [mount["name"] for mount in pod["spec"]["containers"][0]["volumeMounts"]] == [
        "data",
        "ssh-auth",
        "mpi-job-config",
    ]
    assert pod["spec"]["volumes"][2]["configMap"] == {
        "name": "pi-config",
        "items": [
            {"key": "hostfile", "path": "hostfile", "mode": 292},
            {"key": "discover_hosts.sh", "path": "discover_hosts.sh", "mode": 365},
        ],
    }


def test_b127_the_launcher_is_given_no_command() -> None:
    assert "command" not in build_pod_template(a_job())["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("policy", "overridden"),
    [
        pytest.param("Always", True, id="B148 B252 a policy in the template"),
        pytest.param(None, False, id="no policy in the template"),
        pytest.param("", False, id="an empty one"),
    ],
)
def test_a4_18_a_restart_policy_in_the_template_is_overridden(policy: str | None, *, overridden: bool) -> None:
    job = a_launcher_of(a_template(restartPolicy=policy))
    assert is_restart_policy_overridden(job) is overridden
    assert build_pod_template(job)["spec"]["restartPolicy"] == "OnFailure"


def test_b203_a1_17_the_directives_are_those_of_the_template_now() -> None:
    assert build_scheduling_directives(a_launcher_of(DIRECTIVES)) == {
        "metadata": {
            "labels": {
                "team": "a",
                "training.kubeflow.org/operator-name": "mpi-operator",
                "training.kubeflow.org/job-name": "pi",
                "training.kubeflow.org/job-role": "launcher",
            },
            "annotations": {"note": "kept"},
        },
        "spec": {
            "nodeSelector": {"zone": "a"},
            "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
        },
    }


def test_b203_directives_that_the_template_lacks_are_empty_not_absent() -> None:
    assert build_scheduling_directives(a_job())["spec"] == {
        "nodeSelector": {},
        "affinity": {"nodeAffinity": {}},
        "tolerations": [],
        "schedulingGates": [],
    }


def test_b205_directives_do_not_count_as_a_change_of_the_template() -> None:
    plain = {"spec": {"containers": DIRECTIVES["spec"]["containers"]}}
    pod_affinity: dict[str, Any] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    bare = {"spec": {**plain["spec"], "affinity": pod_affinity}}
    assert template_hash(a_launcher_of(DIRECTIVES)) == template_hash(a_launcher_of(bare))
    assert template_hash(a_launcher_of(bare)) != template_hash(a_launcher_of(plain))


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"launcher": {"template": a_template({"image": "other"})}}, id="B205 another image"),
        pytest.param({"launcher": {"template": a_template({"env": [{"name": "A"}]})}}, id="B205 another environment"),
        pytest.param({"launcher": {"template": a_template({"resources": {}})}}, id="B205 other resources"),
        pytest.param({"launcher": {"restartPolicy": "Never"}}, id="another restart policy"),
        pytest.param({"slotsPerWorker": 2}, id="other slots"),
        pytest.param({"mpiImplementation": "MPICH"}, id="another implementation"),
        pytest.param({"sshAuthMountPath": "/keys"}, id="another mount path"),
        pytest.param({"runLauncherAsWorker": True}, id="ranks on the launcher"),
    ],
)
def test_what_shapes_the_pods_otherwise_changes_the_hash(changed: dict[str, Any]) -> None:
    assert template_hash(a_job(**changed)) != template_hash(a_job())


def test_b205_the_hash_does_not_depend_on_the_order_of_keys() -> None:
    container = {"name": "mpi", "image": "mpi-pi"}
    swapped = {"spec": {"containers": [dict(reversed(container.items()))]}}
    assert template_hash(a_launcher_of(swapped)) == template_hash(a_job())


def test_scaling_and_the_run_policy_do_not_change_the_hash() -> None:
    assert template_hash(a_job(workers=5, run_policy={"backoffLimit": 1})) == template_hash(a_job())


def _scribble(value: Any) -> None:
    """Destroy every container in a manifest, however deep."""
    inner = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    for item in inner:
        _scribble(item)
    if isinstance(value, (dict, list)):
        value.clear()


@given(valid_jobs())
def test_manifests_share_nothing_with_the_job(job: MPIJob) -> None:
    assume(not validate(job))
    before = deepcopy(job)
    _scribble(build_launcher_job(job, is_suspended=False))
    _scribble(build_scheduling_directives(job))
    if job.spec.worker is not None:
        _scribble(build_worker(job, 0))
    assert job == before


@given(valid_jobs())
def test_whatever_the_template_says_the_operators_parts_are_there(job: MPIJob) -> None:
    assume(not validate(job))
    manifest = build_launcher_job(job, is_suspended=False)
    template = manifest["spec"]["template"]
    labels = template["metadata"]["labels"]
    assert labels["training.kubeflow.org/job-name"] == job.metadata.name
    names = [
        [variable.get("name") for variable in container.get("env") or ()]
        for container in template["spec"]["containers"]
    ]
    assert sum("HYDRA_HOST_FILE" in found for found in names) <= 1
    assert sum("K_MPI_JOB_ROLE" in found for found in names) >= 1
    assert [volume.get("name") for volume in template["spec"]["volumes"]][-2:] == ["ssh-auth", "mpi-job-config"]
    assert msgspec.json.encode(manifest)
