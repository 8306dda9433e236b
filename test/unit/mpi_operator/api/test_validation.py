from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from mpi_operator.api.defaults import apply_defaults
from mpi_operator.api.metadata import ObjectMeta
from mpi_operator.api.types import MPIJob, MPIJobSpec, ReplicaSpec
from mpi_operator.api.validation import validate
from mpi_operator.api.violation import describe_violations
from test.builders.jobs import a_job, a_stored_job, a_template
from test.builders.strategies import stored_jobs

REPLICAS = "spec.mpiReplicaSpecs"


def texts(job: MPIJob) -> list[str]:
    return [str(violation) for violation in validate(job)]


def a_mount(path: str) -> dict[str, Any]:
    return a_template({"volumeMounts": [{"name": "data", "mountPath": path}]})


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="B039 Open MPI with workers"),
        pytest.param({"mpiImplementation": "Intel"}, id="B039 Intel"),
        pytest.param({"mpiImplementation": "MPICH"}, id="B039 MPICH"),
        pytest.param({"workers": None, "runLauncherAsWorker": True}, id="B023 the launcher alone, running the ranks"),
        pytest.param({"launcher": {"restartPolicy": "Never"}}, id="B039 a launcher that never restarts"),
        pytest.param({"launcher": {"restartPolicy": "OnFailure"}}, id="B039 a launcher that restarts"),
        pytest.param({"run_policy": {"managedBy": ""}}, id="B052 managed by an empty text"),
        pytest.param({"run_policy": {"managedBy": "kueue.x-k8s.io/multikueue"}}, id="B035 managed by MultiKueue"),
        pytest.param({"run_policy": {"activeDeadlineSeconds": 0}}, id="B033 a deadline of 0"),
        pytest.param({"run_policy": {"schedulingPolicy": {"minAvailable": 3}}}, id="B043 the whole gang"),
        pytest.param({"name": "a" * 54, "workers": 10}, id="B019 54 characters for 10 workers"),
        pytest.param({"name": "a" * 53, "workers": 100}, id="B019 53 characters for 100 workers"),
        pytest.param({"name": "a" * 52, "workers": 1000}, id="B019 52 characters for 1000 workers"),
        pytest.param({"worker": {"replicas": None}}, id="A4_9 a Worker entry without replicas"),
        pytest.param({"worker": {"template": a_mount("/etc/mpi")}}, id="B044 workers may use /etc/mpi"),
        pytest.param({"sshAuthMountPath": "/etc/mpi-keys"}, id="A4_9 a path that only begins like /etc/mpi"),
        pytest.param(
            {"launcher": {"template": {"spec": {"containers": [{}, {"volumeMounts": [{"mountPath": "/etc/mpi"}]}]}}}},
            id="B044 a sidecar may mount where it likes",
        ),
    ],
)
def test_a_good_job_is_accepted(fields: dict[str, Any]) -> None:
    assert texts(a_job(**fields)) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            {"launcher": {"replicas": 2}},
            f"{REPLICAS}[Launcher].replicas: Invalid value: 2: must be 1",
            id="B022 two launchers",
        ),
        pytest.param(
            {"workers": 0},
            f"{REPLICAS}[Worker].replicas: Invalid value: 0: must be greater than or equal to 1",
            id="B024 no worker at all",
        ),
        pytest.param(
            {"workers": 2_000_000_000},
            f"{REPLICAS}[Worker].replicas: Invalid value: 2000000000: must be less than or equal to 10000, "
            "the hosts that a ConfigMap can name",
            id="B024 more workers than can be named",
        ),
        pytest.param(
            {"worker": {"restartPolicy": "Always"}},
            f'{REPLICAS}[Worker].restartPolicy: Unsupported value: "Always": supported values: "Never", "OnFailure"',
            id="B026 a restart policy of pods",
        ),
        pytest.param(
            {"launcher": {"restartPolicy": "ExitCode"}},
            f'{REPLICAS}[Launcher].restartPolicy: Unsupported value: "ExitCode": supported values: "Never",'
            ' "OnFailure"',
            id="B026 A4_9 a restart policy of other operators",
        ),
        pytest.param(
            {"worker": {"template": {}}},
            f"{REPLICAS}[Worker].template.spec.containers: Required value: must define at least one container",
            id="B027 no container",
        ),
        pytest.param(
            {"launcher": {"template": {"spec": {"containers": []}}}},
            f"{REPLICAS}[Launcher].template.spec.containers: Required value: must define at least one container",
            id="B027 an empty list of containers",
        ),
        pytest.param(
            {"slotsPerWorker": -1},
            "spec.slotsPerWorker: Invalid value: -1: must be greater than or equal to 1",
            id="B029 negative slots",
        ),
        pytest.param(
            {"slotsPerWorker": 0},
            "spec.slotsPerWorker: Invalid value: 0: must be greater than or equal to 1",
            id="B029 A4_9 no slots",
        ),
        pytest.param(
            {"run_policy": {"cleanPodPolicy": "none"}},
            'spec.runPolicy.cleanPodPolicy: Unsupported value: "none": supported values: "All", "None", "Running"',
            id="B031 an unknown clean-up",
        ),
        pytest.param(
            {"run_policy": {"ttlSecondsAfterFinished": -1}},
            "spec.runPolicy.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0",
            id="B032 a negative TTL",
        ),
        pytest.param(
            {"run_policy": {"activeDeadlineSeconds": -1}},
            "spec.runPolicy.activeDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
            id="B033 a negative deadline",
        ),
        pytest.param(
            {"run_policy": {"backoffLimit": -1}},
            "spec.runPolicy.backoffLimit: Invalid value: -1: must be greater than or equal to 0",
            id="B034 a negative back-off limit",
        ),
        pytest.param(
            {"run_policy": {"managedBy": "foo"}},
            'spec.runPolicy.managedBy: Unsupported value: "foo": supported values: "kubeflow.org/mpi-operator",'
            ' "kueue.x-k8s.io/multikueue"',
            id="B035 A4_8 managed by nobody known",
        ),
        pytest.param(
            {"mpiImplementation": "openmpi"},
            'spec.mpiImplementation: Unsupported value: "openmpi": supported values: "Intel", "MPICH", "OpenMPI"',
            id="B037 an unknown implementation",
        ),
        pytest.param(
            {"launcherCreationPolicy": "Foo"},
            'spec.launcherCreationPolicy: Unsupported value: "Foo": supported values: "AtStartup",'
            ' "WaitForWorkersReady"',
            id="B040 A4_7 an unknown launcher policy",
        ),
        pytest.param(
            {"run_policy": {"schedulingPolicy": {"minAvailable": 0}}},
            "spec.runPolicy.schedulingPolicy.minAvailable: Invalid value: 0: must be between 1 and 3",
            id="B043 an empty gang",
        ),
        pytest.param(
            {"run_policy": {"schedulingPolicy": {"minAvailable": 4}}},
            "spec.runPolicy.schedulingPolicy.minAvailable: Invalid value: 4: must be between 1 and 3",
            id="B043 a gang larger than the job",
        ),
        pytest.param(
            {
                "run_policy": {"schedulingPolicy": {"minAvailable": 3}},
                "launcherCreationPolicy": "WaitForWorkersReady",
            },
            "spec.runPolicy.schedulingPolicy.minAvailable: Invalid value: 3: must be between 1 and 2",
            id="B043 a gang that counts the launcher that waits for it",
        ),
        pytest.param(
            {
                "workers": None,
                "runLauncherAsWorker": True,
                "run_policy": {"schedulingPolicy": {"minAvailable": -1}},
            },
            "spec.runPolicy.schedulingPolicy.minAvailable: Invalid value: -1: must be between 1 and 1",
            id="B170 A2_2 a negative gang without workers",
        ),
        pytest.param(
            {"launcher": {"template": a_template(volumes=[{"name": "data"}, {"name": "ssh-auth"}])}},
            f'{REPLICAS}[Launcher].template.spec.volumes[1].name: Invalid value: "ssh-auth":'
            " is reserved by the operator",
            id="B044 A4_9 a volume with the name of ours",
        ),
        pytest.param(
            {"worker": {"template": a_mount("/root/.ssh/")}},
            f"{REPLICAS}[Worker].template.spec.containers[0].volumeMounts[0].mountPath: Invalid value:"
            ' "/root/.ssh/": is reserved by the operator',
            id="B044 a mount where the keys go",
        ),
        pytest.param(
            {"launcher": {"template": a_mount("/etc/mpi")}},
            f"{REPLICAS}[Launcher].template.spec.containers[0].volumeMounts[0].mountPath: Invalid value:"
            ' "/etc/mpi": is reserved by the operator',
            id="B044 a mount where the hostfile goes",
        ),
        pytest.param(
            {"sshAuthMountPath": "keys"},
            'spec.sshAuthMountPath: Invalid value: "keys": must be an absolute path, for example /root/.ssh',
            id="A4_9 a relative path",
        ),
        pytest.param(
            {"sshAuthMountPath": "/a:b"},
            "spec.sshAuthMountPath: Invalid value: \"/a:b\": must not contain ':'",
            id="A4_9 a path that cannot be mounted",
        ),
        pytest.param(
            {"workers": None},
            f"{REPLICAS}[Worker]: Required value: must have Worker replica spec, as no rank has a place to run;"
            " add one, or set spec.runLauncherAsWorker",
            id="A4_9 no ranks at all",
        ),
    ],
)
def test_a_fault_is_named_with_field_value_and_remedy(fields: dict[str, Any], expected: str) -> None:
    assert texts(a_job(**fields)) == [expected]


@pytest.mark.parametrize("path", ["/etc/mpi", "/etc/mpi/", "/etc/mpi/keys", "/etc", "/", "//etc//mpi", "/etc/x/../mpi"])
def test_a4_9_keys_may_not_be_mounted_at_in_or_above_the_hostfile(path: str) -> None:
    [violation] = texts(a_job(sshAuthMountPath=path))
    assert violation.startswith("spec.sshAuthMountPath: Invalid value: ")
    assert "is reserved by the operator" in violation


@pytest.mark.parametrize(
    ("fields", "host", "fault"),
    [
        pytest.param({"name": "1pi"}, "1pi-worker-1", "start with an alphabetic", id="B019 starts with a digit"),
        pytest.param({"name": "a.b"}, "a.b-worker-1", "a DNS-1035 label must consist of", id="B018 a dot"),
        pytest.param(
            {"name": "a" * 54, "workers": 11},
            f"{'a' * 54}-worker-10",
            "must be no more than 63 characters",
            id="B018 A4_10 too long for its workers",
        ),
        pytest.param(
            {"name": "a" * 55, "workers": None, "runLauncherAsWorker": True},
            f"{'a' * 55}-worker-0",
            "must be no more than 63 characters",
            id="B018 no worker counts as one",
        ),
    ],
)
def test_a_name_must_leave_room_for_its_workers(fields: dict[str, Any], host: str, fault: str) -> None:
    [violation] = texts(a_job(**fields))
    beginning = f'will not able to create pod and service with invalid DNS label "{host}": '
    assert violation.startswith(f'metadata.name: Invalid value: "{fields["name"]}": {beginning}')
    assert fault in violation


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        pytest.param(None, f"{REPLICAS}: Required value: must have replica specs", id="B020 no replica specs"),
        pytest.param(
            {},
            f"{REPLICAS}[Launcher]: Required value: must have Launcher replica spec",
            id="B021 no launcher",
        ),
    ],
)
def test_what_replica_specs_must_have(specs: dict[str, ReplicaSpec | None] | None, expected: str) -> None:
    job = MPIJob(metadata=ObjectMeta(name="pi"), spec=MPIJobSpec(mpi_replica_specs=specs))
    assert texts(apply_defaults(job)) == [expected]


def test_b025_b028_b030_b036_a_job_without_defaults_lacks_what_defaults_give() -> None:
    job = a_stored_job(launcher={"replicas": None}, worker={"replicas": None})
    assert [(violation.field, violation.detail) for violation in validate(job)] == [
        (f"{REPLICAS}[Launcher].replicas", "must define number of replicas"),
        (f"{REPLICAS}[Launcher].restartPolicy", 'supported values: "Never", "OnFailure"'),
        (f"{REPLICAS}[Worker].replicas", "must define number of replicas"),
        (f"{REPLICAS}[Worker].restartPolicy", 'supported values: "Never", "OnFailure"'),
        ("spec.slotsPerWorker", "must have number of slots per worker"),
        ("spec.runPolicy.cleanPodPolicy", "must have clean Pod policy"),
        ("spec.sshAuthMountPath", "must have a mount path for SSH credentials"),
        ("spec.mpiImplementation", 'supported values: "Intel", "MPICH", "OpenMPI"'),
        ("spec.launcherCreationPolicy", 'supported values: "AtStartup", "WaitForWorkersReady"'),
    ]


def test_b038_faults_are_told_in_a_fixed_order() -> None:
    job = a_job(
        name="1pi",
        launcher={
            "replicas": 0,
            "restartPolicy": "Always",
            "template": {
                "spec": {
                    "containers": [{"volumeMounts": [{"mountPath": "/etc/mpi"}]}],
                    "volumes": [{"name": "ssh-auth"}],
                }
            },
        },
        worker={"replicas": -1, "restartPolicy": "Always", "template": {}},
        slotsPerWorker=0,
        run_policy={
            "cleanPodPolicy": "x",
            "ttlSecondsAfterFinished": -1,
            "activeDeadlineSeconds": -1,
            "backoffLimit": -1,
            "managedBy": "x",
            "schedulingPolicy": {"minAvailable": 9},
        },
        sshAuthMountPath="x",
        mpiImplementation="x",
        launcherCreationPolicy="x",
    )
    assert [violation.field for violation in validate(job)] == [
        "metadata.name",
        f"{REPLICAS}[Launcher].restartPolicy",
        f"{REPLICAS}[Launcher].template.spec.volumes[0].name",
        f"{REPLICAS}[Launcher].template.spec.containers[0].volumeMounts[0].mountPath",
        f"{REPLICAS}[Launcher].replicas",
        f"{REPLICAS}[Worker].restartPolicy",
        f"{REPLICAS}[Worker].template.spec.containers",
        f"{REPLICAS}[Worker].replicas",
        "spec.slotsPerWorker",
        "spec.runPolicy.cleanPodPolicy",
        "spec.runPolicy.ttlSecondsAfterFinished",
        "spec.runPolicy.activeDeadlineSeconds",
        "spec.runPolicy.backoffLimit",
        "spec.runPolicy.managedBy",
        "spec.runPolicy.schedulingPolicy.minAvailable",
        "spec.sshAuthMountPath",
        "spec.mpiImplementation",
        "spec.launcherCreationPolicy",
    ]


def test_b041_a2_1_an_unknown_replica_type_is_refused_after_the_known_ones() -> None:
    job = a_stored_job(workers=0)
    specs = {"worker": None, **(job.spec.mpi_replica_specs or {})}
    odd = apply_defaults(MPIJob(metadata=job.metadata, spec=MPIJobSpec(mpi_replica_specs=specs)))
    assert texts(odd) == [
        f"{REPLICAS}[Worker].replicas: Invalid value: 0: must be greater than or equal to 1",
        f'{REPLICAS}[worker]: Unsupported value: "worker": supported values: "Launcher", "Worker"',
    ]


@pytest.mark.parametrize(
    "template",
    [
        pytest.param({"spec": 3}, id="a spec that is a number"),
        pytest.param({"spec": {"containers": ["a"]}}, id="a container that is a text"),
        pytest.param({"metadata": {"labels": {"a": 1}}, "spec": {"containers": [{}]}}, id="a label that is a number"),
    ],
)
def test_a_malformed_template_is_a_violation_not_an_exception(template: dict[str, Any]) -> None:
    [violation] = texts(a_job(worker={"template": template}))
    assert violation.startswith(f"{REPLICAS}[Worker].template: Invalid value: null: must be a pod template: ")


def test_the_mount_path_of_the_container_that_runs_mpi_is_judged() -> None:
    template = {
        "metadata": {"annotations": {"kubectl.kubernetes.io/default-container": "mpi"}},
        "spec": {"containers": [{"name": "proxy"}, {"name": "mpi", "volumeMounts": [{"mountPath": "/root/.ssh"}]}]},
    }
    [violation] = validate(a_job(worker={"template": template}))
    assert violation.field == f"{REPLICAS}[Worker].template.spec.containers[1].volumeMounts[0].mountPath"


def test_b046_one_fault_is_told_bare_and_several_in_brackets_each_once() -> None:
    one = validate(a_job(slotsPerWorker=0))
    two = validate(a_job(slotsPerWorker=0, mpiImplementation="x"))
    assert describe_violations(one) == str(one[0])
    assert describe_violations(two) == f"[{two[0]}, {two[1]}]"
    assert describe_violations((*two, two[0])) == f"[{two[0]}, {two[1]}]"


@given(stored_jobs())
def test_validation_answers_for_whatever_decodes(job: MPIJob) -> None:
    for candidate in (job, apply_defaults(job)):
        violations = validate(candidate)
        if violations:
            assert describe_violations(violations)
        assert violations == validate(candidate)
