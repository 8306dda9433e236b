"""Changing the number of workers, and their slots, while the job runs (lifecycle.md 9)."""

from __future__ import annotations

from typing import Any

import pytest

from mpi_operator.api.types import MPIJob
from mpi_operator.children.config_map.build import build_config_map, hosts_version
from mpi_operator.plan.outcome import Plan
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from mpi_operator.plan.snapshot import Snapshot
from test.builders.children import a_config_map, a_launcher_job
from test.builders.pods import NOW, a_launcher_pod, a_worker, defaulted
from test.builders.rows import a_row, create_workers, delete, now, patch
from test.builders.snapshots import CREATED, IS_RUNNING, a_snapshot, an_accepted_job, counts

RLAW = {"runLauncherAsWorker": True}
TELL = "kubeflow.org/hosts-version"


def scaled(workers: int, *, active: int, **fields: Any) -> MPIJob:
    """A Running job that was edited to that many workers, with as many active ones counted."""
    return an_accepted_job(
        IS_RUNNING, workers=workers, replicas=counts(launcher={"active": 1}, worker={"active": active}), **fields
    )


def hosts(job: MPIJob, *running: int) -> dict[str, str]:
    """The ConfigMap's data with these workers running."""
    data: dict[str, str] = build_config_map(defaulted(job), running=running)["data"]
    return data


def version(job: MPIJob, *running: int) -> dict[str, Any]:
    """The patch that tells a launcher pod of these hosts."""
    return {"metadata": {"annotations": {TELL: hosts_version(hosts(job, *running))}}}


WORKERS = tuple(a_worker(ordinal) for ordinal in range(12))
LAUNCHER = a_launcher_pod()
LAUNCHER_JOB = a_launcher_job()
THREE, TWO, TEN = scaled(3, active=3), scaled(2, active=3), scaled(12, active=12)
TWO_RLAW, THREE_RLAW = scaled(2, active=3, **RLAW), scaled(3, active=3, **RLAW)
RLAW_WORKERS = tuple(a_worker(ordinal, THREE_RLAW) for ordinal in range(3))
SLOTS = scaled(2, active=2, slotsPerWorker=4)
OLD_SLOTS = scaled(2, active=2)
NOT_YET = an_accepted_job(replicas=counts(launcher={"active": 1}, worker={"active": 1}))
TOLD = a_launcher_pod(annotations={TELL: "an older version"})
UP = scaled(3, active=2)
OF_TWELVE = a_config_map(TEN, running=range(12))


@pytest.mark.parametrize(
    ("given", "settings", "expected"),
    [
        a_row(
            "B134 3 to 2: hosts follow, then worker-2 goes and the launcher is told",
            a_snapshot(
                TWO,
                pods=(*WORKERS[:3], LAUNCHER),
                launcher_job=LAUNCHER_JOB,
                config_map=(of_three := a_config_map(THREE, running=(0, 1, 2))),
            ),
            steps=(
                (patch(of_three, {"data": hosts(TWO, 0, 1)}),),
                (delete(WORKERS[2]), patch(LAUNCHER, version(TWO, 0, 1))),
            ),
        ),
        a_row(
            "A1.1 B080 with runLauncherAsWorker the label is shifted, and still worker-2 alone goes",
            a_snapshot(
                TWO_RLAW,
                pods=(*RLAW_WORKERS, LAUNCHER),
                launcher_job=a_launcher_job(TWO_RLAW),
                config_map=(of_three_too := a_config_map(THREE_RLAW, running=(0, 1, 2))),
            ),
            steps=(
                (patch(of_three_too, {"data": hosts(TWO_RLAW, 0, 1)}),),
                (delete(RLAW_WORKERS[2]), patch(LAUNCHER, version(TWO_RLAW, 0, 1))),
            ),
        ),
        a_row(
            "A1.18 B105 hosts are in numeric order, whatever order pods come in",
            a_snapshot(
                TEN,
                pods=(LAUNCHER, *reversed(WORKERS)),
                launcher_job=LAUNCHER_JOB,
                config_map=a_config_map(TEN, running=range(12)),
            ),
        ),
        a_row(
            "A1.18 B106 a worker that is terminating is no longer a host",
            a_snapshot(
                scaled(2, active=2),
                pods=(WORKERS[0], a_worker(1, terminating=True), LAUNCHER),
                launcher_job=LAUNCHER_JOB,
                config_map=(of_two := a_config_map(running=(0, 1))),
            ),
            steps=(
                (patch(of_two, {"data": {"discover_hosts.sh": hosts(OLD_SLOTS, 0)["discover_hosts.sh"]}}),),
                (patch(LAUNCHER, version(OLD_SLOTS, 0)),),
            ),
            status={
                "conditions": (
                    CREATED,
                    now("Running", "False", "WorkersNotRunning", "1 of 2 workers of MPIJob default/pi are running"),
                )
            },
        ),
        a_row(
            "2 to 3: the missing worker is made",
            a_snapshot(
                UP,
                pods=(*WORKERS[:2], LAUNCHER),
                launcher_job=LAUNCHER_JOB,
                config_map=(smaller := a_config_map(OLD_SLOTS, running=(0, 1))),
            ),
            steps=(
                (patch(smaller, {"data": {"hostfile": hosts(UP, 0, 1)["hostfile"]}}),),
                (patch(LAUNCHER, version(UP, 0, 1)), create_workers(UP, 2)),
            ),
            status={
                "conditions": (
                    CREATED,
                    now("Running", "False", "WorkersNotRunning", "2 of 3 workers of MPIJob default/pi are running"),
                )
            },
        ),
        a_row(
            "B097 changed slots reach the hostfile, and keys of others go",
            a_snapshot(
                SLOTS,
                pods=(*WORKERS[:2], LAUNCHER),
                launcher_job=LAUNCHER_JOB,
                config_map=(slotted := a_config_map(OLD_SLOTS, running=(0, 1), data={"x": "y"})),
            ),
            steps=(
                (patch(slotted, {"data": {"hostfile": hosts(SLOTS)["hostfile"], "x": None}}),),
                (patch(LAUNCHER, version(SLOTS, 0, 1)),),
            ),
        ),
        a_row(
            "B108 A3.8 the script follows, but the launcher is not told of hosts before the job first runs",
            a_snapshot(
                NOT_YET,
                pods=(WORKERS[0], a_worker(1, phase="Pending"), LAUNCHER),
                launcher_job=LAUNCHER_JOB,
                config_map=(none_yet := a_config_map()),
            ),
            steps=((patch(none_yet, {"data": {"discover_hosts.sh": hosts(NOT_YET, 0)["discover_hosts.sh"]}}),),),
        ),
        a_row(
            "A3.8 a launcher that was told before is told again after an interruption between the two writes",
            a_snapshot(
                OLD_SLOTS, pods=(*WORKERS[:2], TOLD), launcher_job=LAUNCHER_JOB, config_map=a_config_map(running=(0, 1))
            ),
            steps=((patch(TOLD, version(OLD_SLOTS, 0, 1)),),),
        ),
    ],
)
def test_scale(given: Snapshot, settings: Settings, expected: Plan) -> None:
    assert plan(given, settings, NOW) == expected
