from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from mpi_operator.children.workers.build import build_worker
from test.builders.jobs import a_job, a_raw_job, a_template
from test.golden import assert_golden

GOLDEN = Path(__file__).parent / "golden"


def a_worker_of(
    template: dict[str, Any], *, ordinal: int = 0, cluster_domain: str = "", **fields: Any
) -> dict[str, Any]:
    return build_worker(a_job(worker={"template": template}, **fields), ordinal, cluster_domain=cluster_domain)


def container_of(pod: dict[str, Any], index: int = 0) -> dict[str, Any]:
    container: dict[str, Any] = pod["spec"]["containers"][index]
    return container


RICH_TEMPLATE = {
    "metadata": {
        "name": "dropped",
        "namespace": "dropped",
        "finalizers": ["dropped"],
        "labels": {"team": "a", "training.kubeflow.org/job-name": "not-this"},
        "annotations": {"note": "kept"},
    },
    "spec": {
        "containers": [
            {
                "name": "mpi",
                "image": "mpi-pi",
                "args": ["/entrypoint.sh"],
                "env": [{"name": "USER_SET", "value": "1"}],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            },
            {"name": "sidecar", "image": "proxy"},
        ],
        "volumes": [{"name": "data", "emptyDir": {}}],
        "hostNetwork": True,
        "dnsConfig": {"searches": ["example.com"], "options": [{"name": "ndots", "value": "2"}]},
        "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
        "schedulingGroup": {"podGroupName": "newer-than-the-operator"},
    },
}


def test_b123_b126_b127_b131_the_plainest_worker() -> None:
    assert_golden(GOLDEN / "plain.yaml", build_worker(a_job(), 1))


def test_b082_b083_b124_b128_b130_k9_a_worker_of_a_rich_template() -> None:
    assert_golden(GOLDEN / "rich.yaml", a_worker_of(RICH_TEMPLATE))


def test_b080_k7_the_index_label_is_shifted_where_the_launcher_is_replica_0() -> None:
    pod = build_worker(a_job(runLauncherAsWorker=True), 0)
    assert pod["metadata"]["name"] == "pi-worker-0"
    assert pod["metadata"]["labels"]["training.kubeflow.org/replica-index"] == "1"


def test_b126_the_restart_policy_is_the_replica_specs() -> None:
    job = a_job(worker={"restartPolicy": "OnFailure", "template": a_template(restartPolicy="Always")})
    assert build_worker(job, 0)["spec"]["restartPolicy"] == "OnFailure"


@pytest.mark.parametrize(
    ("container", "command"),
    [
        pytest.param({}, ["/usr/sbin/sshd", "-De"], id="B127 neither command nor args"),
        pytest.param({"command": [], "args": []}, ["/usr/sbin/sshd", "-De"], id="B127 both empty"),
        pytest.param({"command": ["/entrypoint.sh"]}, ["/entrypoint.sh"], id="B128 a command"),
        pytest.param({"args": ["/entrypoint.sh"]}, None, id="B128 args for the image's entry point"),
    ],
)
def test_what_a_worker_runs(container: dict[str, Any], command: list[str] | None) -> None:
    assert container_of(a_worker_of(a_template(container))).get("command") == command


def test_b129_the_role_comes_after_the_users_environment() -> None:
    pod = a_worker_of(a_template({"env": [{"name": "A", "value": "1"}]}))
    assert container_of(pod)["env"] == [{"name": "A", "value": "1"}, {"name": "K_MPI_JOB_ROLE", "value": "worker"}]


def test_a1_22_a_variable_that_the_user_set_is_not_added_again() -> None:
    own = [{"name": "K_MPI_JOB_ROLE", "value": "mine"}]
    assert container_of(a_worker_of(a_template({"env": own})))["env"] == own


@pytest.mark.parametrize(
    ("cluster_domain", "search"),
    [
        pytest.param("", "pi.default.svc.cluster.local", id="B125 without a cluster domain"),
        pytest.param("kube.local", "pi.default.svc.kube.local", id="B125 A1_21 with one"),
    ],
)
def test_hydra_resolves_short_names(cluster_domain: str, search: str) -> None:
    pod = a_worker_of(a_template(dnsConfig={"searches": ["x.y"]}), cluster_domain=cluster_domain)
    assert pod["spec"]["dnsConfig"]["searches"] == ["x.y", search]


@pytest.mark.parametrize(
    ("annotation", "index"),
    [
        pytest.param("mpi", 1, id="B114 B130 A1_23 the container that the annotation names"),
        pytest.param("unknown", 0, id="an annotation that names none: the first"),
        pytest.param(None, 0, id="B114 no annotation: the first"),
    ],
)
def test_one_container_gets_keys_environment_and_command(annotation: str | None, index: int) -> None:
    template: dict[str, Any] = {"spec": {"containers": [{"name": "proxy"}, {"name": "mpi"}]}}
    if annotation is not None:
        template["metadata"] = {"annotations": {"kubectl.kubernetes.io/default-container": annotation}}
    pod = a_worker_of(template)
    assert [set(container) for container in pod["spec"]["containers"]][index] == {
        "name",
        "command",
        "env",
        "volumeMounts",
    }
    assert set(container_of(pod, 1 - index)) == {"name"}


@pytest.mark.parametrize(
    ("path", "template", "mode"),
    [
        pytest.param("/root/.ssh", a_template(), 0o600, id="B113 root's folder"),
        pytest.param("/root/.ssh/", a_template(), 0o600, id="A1_24 root's folder, written otherwise"),
        pytest.param("//home/../root/.ssh", a_template(), 0o600, id="A1_24 root's folder, in a roundabout way"),
        pytest.param("/root/../home/.ssh", a_template(), None, id="A1_24 out of root's folder again"),
        pytest.param("/home/mpiuser/.ssh", a_template(), None, id="B113 another folder, the user unknown"),
        pytest.param("/rooted/.ssh", a_template(), None, id="a folder that only begins like root's"),
        pytest.param("/keys", a_template(securityContext={"runAsUser": 0}), 0o600, id="B113 root, wherever"),
        pytest.param(
            "/root/.ssh", a_template(securityContext={"runAsUser": 1000}), None, id="another user could not read 0600"
        ),
        pytest.param(
            "/keys",
            a_template({"securityContext": {"runAsUser": 0}}, securityContext={"runAsUser": 1000}),
            0o600,
            id="the container's user is what counts",
        ),
        pytest.param("/root/.ssh", a_template(securityContext={"runAsNonRoot": True}), None, id="certainly not root"),
    ],
)
def test_the_mode_of_the_keys_follows_the_user(path: str, template: dict[str, Any], mode: int | None) -> None:
    [volume] = a_worker_of(template, sshAuthMountPath=path)["spec"]["volumes"]
    assert volume["secret"].get("defaultMode") == mode


def test_b112_b114_the_keys_are_mounted_after_the_users_volumes() -> None:
    pod = a_worker_of(RICH_TEMPLATE, sshAuthMountPath="/home/mpiuser/.ssh")
    assert [volume["name"] for volume in pod["spec"]["volumes"]] == ["data", "ssh-auth"]
    assert container_of(pod)["volumeMounts"][1] == {"name": "ssh-auth", "mountPath": "/home/mpiuser/.ssh"}


def test_k5_k9_the_template_is_taken_as_it_is_now() -> None:
    gated = a_template(schedulingGates=[{"name": "kueue.x-k8s.io/topology"}], nodeSelector={"zone": "b"})
    gated["metadata"] = {"labels": {"kueue.x-k8s.io/podset": "worker"}, "annotations": {"kueue.x-k8s.io/workload": "w"}}
    pod = a_worker_of(gated)
    assert pod["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}]
    assert pod["spec"]["nodeSelector"] == {"zone": "b"}
    assert pod["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "worker"
    assert pod["metadata"]["annotations"] == {"kueue.x-k8s.io/workload": "w"}


def test_b137_a_job_without_workers_has_none_to_build() -> None:
    with pytest.raises(ValueError, match="default/pi"):
        build_worker(a_job(workers=None), 0)


def test_building_leaves_the_job_as_it_was() -> None:
    job = a_job(worker={"template": RICH_TEMPLATE})
    before = deepcopy(job)
    pod = build_worker(job, 0)
    pod["spec"]["containers"][0]["env"].clear()
    pod["spec"]["dnsConfig"]["options"].clear()
    assert job == before
    assert (
        a_raw_job(worker={"template": RICH_TEMPLATE})["spec"]["mpiReplicaSpecs"]["Worker"]["template"] == RICH_TEMPLATE
    )
