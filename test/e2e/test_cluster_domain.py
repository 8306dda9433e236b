"""An operator that is told the cluster's domain writes whole names, and programs run by them (B092, B104, A1.21)."""

from collections.abc import Callable

from test.e2e.jobs import RUN_UNTIL_FINISH, a_job, mpirun, shell, worker_names
from test.e2e.namespace import Namespace
from test.e2e.status import rank_hosts


def test_B092_B104_jobs_run_by_names_with_the_cluster_domain(
    operator_arguments: Callable[..., None], namespace: Namespace
) -> None:
    operator_arguments("--cluster-domain=cluster.local")
    open_mpi = namespace.apply(a_job("open-mpi", launcher=mpirun(2, *shell(RUN_UNTIL_FINISH))))
    intel = namespace.apply(a_job("intel", image="intel"))
    namespace.await_ranks(open_mpi, worker_names(open_mpi, 2))
    hosts = [f"{worker}.{open_mpi}.{namespace.name}.svc.cluster.local" for worker in worker_names(open_mpi, 2)]
    data = namespace.get("configmap", f"{open_mpi}-config")["data"]
    assert data["hostfile"].splitlines() == [f"{host} slots=1" for host in hosts]
    assert data["discover_hosts.sh"].splitlines() == ["#!/bin/sh", *(f"echo {host}" for host in hosts)]
    namespace.finish(open_mpi)
    for name in (open_mpi, intel):
        namespace.await_condition(name, "Succeeded")
        assert rank_hosts(namespace.launcher_log(name)) == worker_names(name, 2)
