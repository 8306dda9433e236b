"""Jobs that cannot work say what is wrong and what to do, and do not harm others."""

import pytest

from test.e2e.jobs import Manifest, a_job, pod_spec, worker_names
from test.e2e.namespace import Namespace
from test.e2e.status import condition, rank_hosts, reasons


def test_a_malformed_command_fails_the_job_and_is_named(namespace: Namespace) -> None:
    def failing(name: str) -> Manifest:
        job = a_job(name, run_policy={"backoffLimit": 0})
        job["spec"]["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] = "Never"
        return job

    no_program = failing("no-program")
    pod_spec(no_program, "Launcher")["containers"][0]["command"] = ["/no/such/program"]
    no_option = failing("no-option")
    pod_spec(no_option, "Launcher")["containers"][0]["args"] = ["mpirun", "--no-such-option", "-n", "2"]
    for job in (no_program, no_option):
        namespace.apply(job)
    failed = condition(namespace.await_condition("no-program", "Failed"), "Failed")
    assert failed["reason"].startswith("BackoffLimitExceeded"), failed
    assert "/no/such/program" in failed["message"], failed
    failed = condition(namespace.await_condition("no-option", "Failed"), "Failed")
    assert "container launcher exited with code 1" in failed["message"], failed
    assert "no-such-option" in namespace.launcher_log("no-option")


def test_B045_an_invalid_job_names_field_value_and_remedy_and_runs_when_corrected(namespace: Namespace) -> None:
    job = a_job("wrong")
    job["spec"]["launcherCreationPolicy"] = "Later"
    name = namespace.apply(job)
    other = namespace.apply(a_job("right"))
    created = condition(namespace.await_condition(name, "Created", "False"), "Created")
    assert created["reason"] == "ValidationError"
    for told in ("spec.launcherCreationPolicy", "Later", "AtStartup", "WaitForWorkersReady"):
        assert told in created["message"], created
    event = namespace.await_event(name, "ValidationError")
    assert event["type"] == "Warning"
    assert event["message"] == created["message"]
    assert namespace.pods(name) == []
    namespace.await_condition(other, "Succeeded")

    namespace.patch(name, {"launcherCreationPolicy": "AtStartup"})
    namespace.await_condition(name, "Succeeded")
    assert rank_hosts(namespace.launcher_log(name)) == worker_names(name, 2)


def test_a_job_that_the_server_cannot_take_apart_is_refused_by_the_server(namespace: Namespace) -> None:
    job = a_job()
    job["spec"]["slotsPerWorker"] = "many"
    with pytest.raises(Exception, match=r"spec\.slotsPerWorker.*integer"):
        namespace.apply(job)


def test_FailedCreate_a_pod_that_the_server_refuses_is_explained_and_created_after_an_edit(
    namespace: Namespace,
) -> None:
    quota: Manifest = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "tight"}}
    namespace.apply(quota | {"spec": {"hard": {"pods": "1"}}})
    name = namespace.apply(a_job())
    namespace.await_that(
        "Running=False says that a pod is refused",
        lambda: "FailedCreate" in reasons(namespace.job(name)),
    )
    message = condition(namespace.job(name), "Running")["message"]
    assert "exceeded quota: tight" in message
    namespace.apply(quota | {"spec": {"hard": {"pods": "10"}}})
    namespace.patch(name, {"runPolicy": {"backoffLimit": 3}})
    namespace.await_condition(name, "Succeeded")
    assert rank_hosts(namespace.launcher_log(name)) == worker_names(name, 2)


def test_B050_a_job_that_another_manages_is_left_alone(namespace: Namespace) -> None:
    theirs = namespace.apply(a_job("theirs", run_policy={"managedBy": "kueue.x-k8s.io/multikueue"}))
    ours = namespace.apply(a_job("ours", run_policy={"managedBy": "kubeflow.org/mpi-operator"}))
    namespace.await_condition(ours, "Succeeded")  # by now, the other would have been taken up too
    assert "status" not in namespace.job(theirs)
    assert namespace.events(theirs) == []
    selector = f"training.kubeflow.org/job-name={theirs}"
    assert namespace.items("pods,jobs,services,configmaps,secrets", selector) == []
