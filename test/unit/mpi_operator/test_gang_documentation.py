"""The jobs that docs/gang-scheduling.md shows are valid, and say what the page says of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from hack.manifests import OVERLAYS
from mpi_operator import reasons
from mpi_operator.api.defaults import apply_defaults
from mpi_operator.api.types import MPIJob
from mpi_operator.api.validation import validate
from mpi_operator.children.pod_group.scheduler import build_gang
from test.builders.jobs import decode_job

PAGE = (Path(__file__).parents[3] / "docs" / "gang-scheduling.md").read_text()
JOBS: dict[str, MPIJob] = {
    job.metadata.name: job
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    for job in [apply_defaults(decode_job(yaml.safe_load(block)))]
}


@pytest.mark.parametrize(
    ("name", "members", "resources"),
    [
        ("train", 5, {"cpu": "32", "memory": "128Gi"}),
        ("elastic", 3, {"cpu": "4", "memory": "8Gi"}),
        ("patient", 4, {"cpu": "8", "memory": "16Gi"}),
    ],
)
def test_a_job_of_the_page(name: str, members: int, resources: dict[str, str]) -> None:
    assert validate(JOBS[name]) == ()
    gang = build_gang(JOBS[name])
    assert (gang.min_member, gang.min_resources) == (members, resources)


def test_the_page_has_a_job_for_each_scheduler() -> None:
    assert set(JOBS) == {"train", "elastic", "patient"}


@pytest.mark.parametrize(
    "reason",
    [reasons.GANG_UNAVAILABLE, reasons.GANG_FIELD_DROPPED, reasons.GANG_NOT_RESIZED, reasons.SCHEDULER_NAME_REPLACED],
)
def test_the_page_explains_each_event(reason: reasons.Reason) -> None:
    assert f"`{reason.name}`" in PAGE


@pytest.mark.parametrize("overlay", ["gang-volcano", "gang-scheduler-plugins", "gang-kubernetes"])
def test_the_page_names_each_overlay(overlay: str) -> None:
    assert f"`{overlay}`" in PAGE
    assert (OVERLAYS / overlay).is_dir()
