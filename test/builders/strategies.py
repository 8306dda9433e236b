"""Arbitrary MPIJobs for property tests: odd, wrong and right ones, but all of them decodable."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from mpi_operator.api.defaults import apply_defaults
from mpi_operator.api.types import MPIJob
from test.builders.jobs import JSONObject

_SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "/root/.ssh", "ssh-auth", "é"])
_JSON = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
)
_PATHS = ["/root/.ssh", "/root/.ssh/", "/etc/mpi", "/etc", "/", "relative", "/home/mpiuser/.ssh", "", "/a:b"]


def _optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[JSONObject]:
    return st.fixed_dictionaries({}, optional=fields)


def _containers() -> st.SearchStrategy[list[JSONObject]]:
    mounts = st.lists(_optional(name=st.sampled_from(["a", "ssh-auth"]), mountPath=st.sampled_from(_PATHS)), max_size=2)
    variables = st.lists(
        _optional(name=st.sampled_from(["A", "K_MPI_JOB_ROLE"]), value=st.text(max_size=2)), max_size=2
    )
    container = _optional(
        name=st.sampled_from(["main", "side"]),
        command=st.lists(st.text(max_size=2), max_size=1),
        args=st.none() | st.lists(st.text(max_size=2), max_size=1),
        env=st.none() | variables,
        volumeMounts=st.none() | mounts,
        resources=st.none()
        | _optional(limits=st.dictionaries(st.sampled_from(["cpu", "nvidia.com/gpu"]), st.just("1"))),
        securityContext=st.none() | _optional(runAsUser=st.integers(0, 2)),
        newField=_JSON,
    )
    return st.lists(container, min_size=1, max_size=2)


def well_formed_templates() -> st.SearchStrategy[JSONObject]:
    """Templates that have containers and whose fields have the right types, with values of all kinds."""
    return st.fixed_dictionaries(
        {
            "spec": st.fixed_dictionaries(
                {"containers": _containers()},
                optional={
                    "volumes": st.none()
                    | st.lists(_optional(name=st.sampled_from(["data", "mpi-job-config"])), max_size=2),
                    "hostNetwork": st.booleans(),
                    "nodeSelector": st.dictionaries(st.text(max_size=2), st.text(max_size=2), max_size=2),
                    "affinity": _optional(nodeAffinity=_optional(a=_JSON), podAffinity=_optional(a=_JSON)),
                    "dnsConfig": st.none() | _optional(searches=st.none() | st.lists(st.just("x.y"), max_size=1)),
                    "restartPolicy": st.sampled_from(["Never", "Always"]),
                    "newField": _JSON,
                },
            )
        },
        optional={
            "metadata": st.none()
            | _optional(
                labels=st.dictionaries(st.sampled_from(["a", "training.kubeflow.org/job-name"]), st.text(max_size=2)),
                annotations=st.dictionaries(
                    st.sampled_from(["a", "kubectl.kubernetes.io/default-container"]), st.sampled_from(["side", "x"])
                ),
            )
        },
    )


def _replica_specs() -> st.SearchStrategy[JSONObject | None]:
    templates = well_formed_templates() | st.dictionaries(st.sampled_from(["spec", "metadata"]), _JSON, max_size=2)
    return st.none() | _optional(
        replicas=st.none() | st.integers(-2, 12),
        restartPolicy=st.sampled_from(["", "Never", "OnFailure", "Always"]),
        template=templates,
    )


def raw_jobs() -> st.SearchStrategy[bytes]:
    """Jobs as JSON that decodes."""
    policy = _optional(
        cleanPodPolicy=st.sampled_from([None, "", "All", "Running", "none"]),
        ttlSecondsAfterFinished=st.none() | st.integers(-2, 2),
        activeDeadlineSeconds=st.none() | st.integers(-2, 2),
        backoffLimit=st.none() | st.integers(-2, 2),
        suspend=st.none() | st.booleans(),
        managedBy=st.sampled_from([None, "", "foo", "kubeflow.org/mpi-operator"]),
        schedulingPolicy=st.none() | _optional(minAvailable=st.none() | st.integers(-2, 20), queue=st.text(max_size=2)),
    )
    spec = _optional(
        slotsPerWorker=st.none() | st.integers(-2, 4),
        runLauncherAsWorker=st.none() | st.booleans(),
        runPolicy=policy,
        mpiReplicaSpecs=st.none()
        | st.dictionaries(st.sampled_from(["Launcher", "Worker", "worker", ""]), _replica_specs(), max_size=3),
        sshAuthMountPath=st.sampled_from(_PATHS),
        launcherCreationPolicy=st.sampled_from(["", "AtStartup", "WaitForWorkersReady", "Foo"]),
        mpiImplementation=st.sampled_from(["", "OpenMPI", "Intel", "MPICH", "openmpi"]),
    )
    metadata = _optional(name=st.sampled_from(["", "pi", "Pi", "1", "a" * 54, "a" * 55]), namespace=st.just("default"))
    return _optional(metadata=metadata, spec=spec).map(msgspec.json.encode)


def stored_jobs() -> st.SearchStrategy[MPIJob]:
    """Jobs as stored, without defaults."""
    return raw_jobs().map(lambda raw: msgspec.json.decode(raw, type=MPIJob))


def valid_jobs() -> st.SearchStrategy[MPIJob]:
    """Defaulted jobs of which most are valid, with templates of all kinds."""

    def spec_of(launcher: JSONObject, worker: JSONObject | None, fields: JSONObject) -> MPIJob:
        replica_specs = {"Launcher": {"template": launcher}, "Worker": worker and {"template": worker}}
        spec = {"mpiReplicaSpecs": replica_specs, "runLauncherAsWorker": worker is None, **fields}
        raw = {"metadata": {"name": "pi", "namespace": "default", "uid": "1"}, "spec": spec}
        return apply_defaults(msgspec.json.decode(msgspec.json.encode(raw), type=MPIJob))

    fields = _optional(
        mpiImplementation=st.sampled_from(["OpenMPI", "Intel", "MPICH"]),
        sshAuthMountPath=st.sampled_from(["/root/.ssh", "/home/mpiuser/.ssh"]),
        runLauncherAsWorker=st.just(value=True),
    )
    return st.builds(spec_of, well_formed_templates(), st.none() | well_formed_templates(), fields)
