"""Updates of a job's pods that come together make one look (lifecycle.md 6)."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from clockwork import FakeClock
from informers import Deleted
from mpi_operator.api.observed import Job, Pod
from mpi_operator.shell.informer_set import BURST_SECONDS, _ChildHandler, _JobHandler
from test.builders.children import a_launcher_job
from test.builders.jobs import a_stored_job
from test.builders.pods import a_worker
from workqueue import PriorityOrder, Queue

KEY = "default/pi"


ChildT = TypeVar("ChildT", Pod, Job)


def changed(child: ChildT, version: int) -> ChildT:
    metadata = msgspec.structs.replace(child.metadata, resource_version=str(version))
    return msgspec.structs.replace(child, metadata=metadata)


def test_a_burst_of_updates_is_one_look_soon_after_its_beginning() -> None:
    clock = FakeClock()
    queue: Queue[str] = Queue("test", clock=clock, order=PriorityOrder())
    handler = _ChildHandler(queue, lambda _: (KEY,), is_bursting=True)
    pod = a_worker()
    for version in range(20, 25):
        handler.on_update(changed(pod, version), changed(pod, version + 1))
        clock.step(BURST_SECONDS / 10)
    assert len(queue) == 0
    clock.step(BURST_SECONDS / 2)
    assert len(queue) == 1
    assert queue.get() == KEY
    assert queue.statistics().adds_total == 1


def test_new_children_are_looked_at_together_and_one_that_is_gone_at_once() -> None:
    clock = FakeClock()
    queue: Queue[str] = Queue("test", clock=clock, order=PriorityOrder())
    handler = _ChildHandler(queue, lambda _: (KEY,))
    for ordinal in range(3):
        handler.on_add(a_worker(ordinal), is_initial=False)
    assert len(queue) == 0
    clock.step(BURST_SECONDS)
    assert queue.get() == KEY
    queue.done(KEY)
    handler.on_delete(Deleted("default/pi-worker-0", a_worker(0), final=True))
    assert queue.get() == KEY


def test_an_update_of_the_launcher_job_is_looked_at_at_once() -> None:
    queue: Queue[str] = Queue("test", clock=FakeClock(), order=PriorityOrder())
    handler = _ChildHandler(queue, lambda _: (KEY,))
    handler.on_update(changed(a_launcher_job(), 20), changed(a_launcher_job(), 21))
    assert len(queue) == 1


def test_B061_an_update_that_changes_nothing_is_no_look() -> None:
    clock = FakeClock()
    queue: Queue[str] = Queue("test", clock=clock, order=PriorityOrder())
    handler = _ChildHandler(queue, lambda _: (KEY,), is_bursting=True)
    handler.on_update(a_worker(), a_worker())
    clock.step(1)
    assert len(queue) == 0


def test_B074_an_edit_of_a_job_is_looked_at_at_once_and_its_own_status_write_soon() -> None:
    clock = FakeClock()
    queue: Queue[str] = Queue("test", clock=clock, order=PriorityOrder())
    handler = _JobHandler(queue, lambda _: None)
    job = a_stored_job(metadata={"generation": 1, "resourceVersion": "1"})
    handler.on_update(job, a_stored_job(metadata={"generation": 1, "resourceVersion": "2"}))
    assert len(queue) == 0
    clock.step(BURST_SECONDS)
    assert queue.get() == KEY
    queue.done(KEY)
    handler.on_update(job, a_stored_job(metadata={"generation": 2, "resourceVersion": "3"}))
    assert queue.get() == KEY
