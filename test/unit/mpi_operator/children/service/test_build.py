from __future__ import annotations

from pathlib import Path

from mpi_operator.children.service.build import build_service
from test.builders.jobs import a_job, a_suspended_job
from test.golden import assert_golden


def test_b117_b118_b119_the_whole_service() -> None:
    assert_golden(Path(__file__).parent / "golden" / "service.yaml", build_service(a_job()))


def test_b119_names_resolve_before_readiness_for_every_kind_of_job() -> None:
    for job in (a_job(), a_job(runLauncherAsWorker=True), a_job(mpiImplementation="Intel")):
        assert build_service(job)["spec"]["publishNotReadyAddresses"] is True


def test_b121_suspension_and_workers_make_no_difference() -> None:
    assert build_service(a_suspended_job()) == build_service(a_job())
    assert build_service(a_job(workers=None, runLauncherAsWorker=True)) == build_service(a_job())
