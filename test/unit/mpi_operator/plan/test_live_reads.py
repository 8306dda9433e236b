"""What is read from the server because no cache has it (lifecycle.md 2)."""

from __future__ import annotations

from typing import Any

import pytest

from mpi_operator.plan.live_reads import LiveRead, live_reads
from mpi_operator.plan.snapshot import Snapshot
from test.builders.children import a_config_map, a_launcher_job, a_secret, a_service
from test.builders.jobs import a_stored_job
from test.builders.snapshots import a_condition, an_accepted_job, counts

SERVICE = LiveRead(kind="Service", name="pi")
CONFIG_MAP = LiveRead(kind="ConfigMap", name="pi-config")
SECRET = LiveRead(kind="Secret", name="pi-ssh")
LAUNCHER = LiveRead(kind="Job", name="pi-launcher")
WAITING: dict[str, Any] = {"launcherCreationPolicy": "WaitForWorkersReady"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(Snapshot(job=a_stored_job()), (), id="nothing for a job that was not accepted yet"),
        pytest.param(
            Snapshot(job=an_accepted_job()),
            (SERVICE, CONFIG_MAP, SECRET, LAUNCHER),
            id="every child of a fixed name that ought to exist and is in no cache",
        ),
        pytest.param(
            Snapshot(
                job=an_accepted_job(),
                service=a_service(),
                config_map=a_config_map(),
                launcher_job=a_launcher_job(),
            ),
            (SECRET,),
            id="the Secret always, for it is in no cache",
        ),
        pytest.param(
            Snapshot(
                job=an_accepted_job(),
                service=a_service(),
                config_map=a_config_map(),
                secret=a_secret(),
                launcher_job=a_launcher_job(),
            ),
            (),
            id="nothing when all is known",
        ),
        pytest.param(
            Snapshot(job=an_accepted_job(replicas=counts(worker={}), **WAITING)),
            (SERVICE, CONFIG_MAP, SECRET),
            id="not the launcher's Job while WaitForWorkersReady has held it back from the beginning",
        ),
        pytest.param(
            Snapshot(job=an_accepted_job(**WAITING)),
            (SERVICE, CONFIG_MAP, SECRET, LAUNCHER),
            id="but once the status remembers it",
        ),
        pytest.param(
            Snapshot(job=an_accepted_job(a_condition("Succeeded"))),
            (),
            id="nothing for a finished job, whose children may be gone",
        ),
        pytest.param(
            Snapshot(job=an_accepted_job(metadata={"deletionTimestamp": "2026-12-01T11:59:00Z"})),
            (),
            id="B054 nothing for a job that is being deleted",
        ),
        pytest.param(
            Snapshot(job=an_accepted_job(run_policy={"managedBy": "kueue.x-k8s.io/multikueue"})),
            (),
            id="B050 nothing for a job of another controller",
        ),
    ],
)
def test_live_reads(given: Snapshot, expected: tuple[LiveRead, ...]) -> None:
    assert live_reads(given) == expected
