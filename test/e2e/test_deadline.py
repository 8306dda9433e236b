"""A job that takes longer than `activeDeadlineSeconds` fails, whether it runs or waits (lifecycle.md 8, A1.15)."""

from test.e2e.jobs import RUN_UNTIL_FINISH, a_job, mpirun, shell, with_slow_workers, worker_names
from test.e2e.namespace import Namespace
from test.e2e.status import condition


def test_A1_15_the_deadline_ends_programs_that_run_and_jobs_that_wait(namespace: Namespace) -> None:
    program = mpirun(2, *shell(RUN_UNTIL_FINISH))
    runs = namespace.apply(a_job("runs", launcher=program, run_policy={"activeDeadlineSeconds": 8}))
    waiting = a_job("waits", run_policy={"activeDeadlineSeconds": 3}, launcherCreationPolicy="WaitForWorkersReady")
    waits = namespace.apply(with_slow_workers(waiting, 600))
    namespace.await_ranks(runs, worker_names(runs, 2))
    for name in (waits, runs):
        job = namespace.await_condition(name, "Failed")
        assert condition(job, "Failed")["reason"] == "DeadlineExceeded"
        assert "completionTime" in job["status"]
        namespace.await_that(f"the workers of {name} are gone", lambda name=name: namespace.pods(name) == [])  # type: ignore[misc]
    assert [job["metadata"]["name"] for job in namespace.items("jobs")] == ["runs-launcher"]
