"""A worker that is lost while the program runs is replaced, and the retried launcher uses the new one (B072, A1.7)."""

import pytest

from test.e2e.jobs import RUN_UNTIL_FINISH, SSHD_PID, a_job, mpirun, shell, with_shell_as_first_process, worker_names
from test.e2e.namespace import Namespace
from test.e2e.status import rank_hosts, restarts


def uids(namespace: Namespace, job: str) -> list[str]:
    return [pod["metadata"]["uid"] for pod in namespace.pods(job)]


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param("deleted", id="B072 a worker that was deleted"),
        pytest.param("crashed", id="A1_7 a worker that failed"),
    ],
)
def test_a_lost_worker_is_replaced_and_the_job_succeeds(namespace: Namespace, loss: str) -> None:
    job = with_shell_as_first_process(a_job(launcher=mpirun(2, *shell(RUN_UNTIL_FINISH))))
    # A new pod comes after ten seconds. A container is restarted at once, and might try the lost worker's address for
    # the forty seconds that ssh's ten attempts take.
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] = "Never"
    name = namespace.apply(job)
    first, lost = worker_names(name, 2)
    namespace.await_ranks(name, [first, lost])
    namespace.await_condition(name, "Running")
    kept_uid, lost_uid = uids(namespace, name)
    if loss == "deleted":
        namespace.kubectl("delete", "pod", lost, "--wait=false")
    else:
        namespace.run_in(lost, f"kill $(cat {SSHD_PID})")
    namespace.await_that(
        f"{lost} is another pod and runs",
        lambda: (
            lost_uid not in uids(namespace, name)
            and [pod["status"]["phase"] for pod in namespace.pods(name)] == ["Running", "Running"]
        ),
    )
    namespace.await_that("the launcher was retried", lambda: restarts(namespace.pods(name, "launcher")) == 1)
    namespace.await_ranks(name, [first, lost])
    assert uids(namespace, name)[0] == kept_uid
    namespace.finish(name)
    namespace.await_condition(name, "Succeeded")
    assert rank_hosts(namespace.launcher_log(name)) == [first, lost]
