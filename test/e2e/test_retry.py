"""A launcher that fails is tried again, and what went wrong is told (lifecycle.md 6; B225, B236, B237, A4.3)."""

from test.e2e.jobs import ENTRY_POINT, a_job, mpirun, pod_spec, shell, worker_names
from test.e2e.namespace import Namespace
from test.e2e.status import condition, rank_hosts, restarts

# Worker 0 remembers the first attempt, as long as it lives.
FAIL_ONCE = f"""
if mpirun -n 1 mkdir /tmp/tried; then
  echo 'the first attempt fails' > /dev/termination-log
  {ENTRY_POINT} sleep 1
  exit 3
fi
exec {" ".join(mpirun(2, "/home/mpiuser/pi", "--samples", "1000"))}
"""


def test_a_failed_launcher_is_retried_in_a_new_pod_and_the_job_says_so(namespace: Namespace) -> None:
    job = a_job(launcher=shell(FAIL_ONCE))
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] = "Never"
    name = namespace.apply(job)
    restarting = namespace.await_condition(name, "Restarting")
    assert condition(restarting, "Running")["status"] == "False"
    message = condition(restarting, "Restarting")["message"]
    for told in ("launcher", "3", "the first attempt fails"):
        assert told in message, message
    job = namespace.await_condition(name, "Succeeded")
    assert rank_hosts(namespace.launcher_log(name)) == worker_names(name, 2)
    assert job["status"]["replicaStatuses"]["Launcher"] == {"failed": 1, "succeeded": 1}
    assert job["status"]["conditions"][-1]["type"] == "Succeeded"
    assert condition(job, "Restarting")["status"] == "False"


def test_a_failed_launcher_is_restarted_in_its_pod_by_default(namespace: Namespace) -> None:
    name = namespace.apply(a_job(launcher=shell(FAIL_ONCE)))
    namespace.await_condition(name, "Succeeded")
    assert restarts(namespace.pods(name, "launcher")) == 1
    assert rank_hosts(namespace.launcher_log(name)) == worker_names(name, 2)


def test_A4_3_a_job_whose_launcher_goes_on_failing_fails_and_says_why(namespace: Namespace) -> None:
    job = a_job(launcher=shell("echo 'no input' > /dev/termination-log; exit 3"), run_policy={"backoffLimit": 0})
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] = "Never"
    pod_spec(job, "Launcher")["containers"][0]["name"] = "solver"
    name = namespace.apply(job)
    failed = condition(namespace.await_condition(name, "Failed"), "Failed")
    assert failed["reason"].startswith("BackoffLimitExceeded")
    for told in ("solver", "3", "no input"):
        assert told in failed["message"], failed
    assert namespace.await_event(name, failed["reason"])["message"] == failed["message"]
    namespace.await_that("the workers are cleaned up", lambda: namespace.pods(name) == [])
