"""What the ConfigMap remembers of the hosts that a job has (A4.10)."""

from __future__ import annotations

from mpi_operator.children.config_map.plan import count_workers
from test.builders.children import a_config_map
from test.builders.jobs import a_job


def test_A4_10_the_hostfile_says_how_many_workers_there_are() -> None:
    job = a_job(workers=12)
    assert count_workers(job, a_config_map(job)) == 12


def test_the_launcher_is_no_worker_although_it_is_a_host() -> None:
    job = a_job(workers=2, runLauncherAsWorker=True)
    assert count_workers(job, a_config_map(job)) == 2


def test_without_a_hostfile_nobody_knows() -> None:
    assert count_workers(a_job(), None) is None
