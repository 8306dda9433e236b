"""Pods in their node's network and pods in their own find each other by the job's names (B124, B145).

One role at a time, and one worker: where launcher and worker share one node's address, Open MPI takes the worker's
name for its own and does not use ssh, and two workers could not listen on the same port of one node.
"""

import pytest

from test.e2e.jobs import RUN_UNTIL_FINISH, a_job, mpirun, pod_spec, shell, worker_names
from test.e2e.namespace import Namespace


@pytest.mark.parametrize(
    "role", [pytest.param("Launcher", id="B145 the launcher"), pytest.param("Worker", id="B124 the worker")]
)
def test_a_job_runs_when_one_role_is_in_the_network_of_its_node(namespace: Namespace, role: str) -> None:
    job = a_job(workers=1, launcher=mpirun(1, *shell(RUN_UNTIL_FINISH)))
    pod_spec(job, role)["hostNetwork"] = True
    name = namespace.apply(job)
    namespace.await_ranks(name, worker_names(name, 1))
    [pod] = namespace.pods(name, role.lower())
    assert pod["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert pod["status"]["podIP"] == pod["status"]["hostIP"]
    namespace.finish(name)
    namespace.await_condition(name, "Succeeded")
