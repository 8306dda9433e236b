"""Pods in their node's network find each other by the job's names (B124, B145)."""

from test.e2e.jobs import RUN_UNTIL_FINISH, a_job, mpirun, pod_spec, shell, worker_names
from test.e2e.namespace import Namespace


def test_B124_B145_a_job_runs_in_the_network_of_its_nodes(namespace: Namespace) -> None:
    # One worker: two could not listen on the same port of one node. Ranks are known by their pod, as all pods have
    # the node's host name.
    job = a_job(workers=1, launcher=mpirun(1, *shell(RUN_UNTIL_FINISH)))
    for role in ("Launcher", "Worker"):
        pod_spec(job, role)["hostNetwork"] = True
    name = namespace.apply(job)
    namespace.await_ranks(name, worker_names(name, 1))
    for pod in [*namespace.pods(name), *namespace.pods(name, "launcher")]:
        assert pod["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"
        assert pod["status"]["podIP"] == pod["status"]["hostIP"]
    namespace.finish(name)
    namespace.await_condition(name, "Succeeded")
