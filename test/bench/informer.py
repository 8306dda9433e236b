"""How fast an informer is: events decoded and applied per second, the time to sync 10,000 pods, and memory.

Run as `python -m test.bench.informer`; it prints one line per measurement. Numbers are of the machine it runs on: the
events are decoded and applied by one thread, so what counts is one core.
"""

from __future__ import annotations

import resource
import time
from random import Random
from typing import Any

import msgspec
import structlog

from clockwork import Clock, StopToken, SystemClock
from informers import Deleted, Informer, ReflectorOptions, key_of, wait_for_sync
from informers.decode import ObjectDecoder
from informers.list_watch import ListWatch, WatchEvent
from informers.resource import Resource
from informers.resource_list_watch import ResourceListWatch
from informers.testing import FakeApiServer, FakeListWatch

PODS = Resource("", "v1", "pods", "Pod")
EVENTS = 100_000
LIVE_PODS = 5_000
LISTED_PODS = 10_000


class Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a controller of jobs reads of a pod's metadata."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    deletion_timestamp: str | None = None


class Status(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A pod's phase."""

    phase: str = ""


class Pod(msgspec.Struct, frozen=True, gc=False):
    """A pod, as far as it is cached."""

    metadata: Metadata
    status: Status = Status()


class Keys:
    """An inline handler that computes keys, as a controller's does."""

    def __init__(self) -> None:
        self.dirty: set[str] = set()

    def on_add(self, obj: Pod, *, is_initial: bool) -> None:
        """Note the key."""
        self.dirty.add(key_of(obj))

    def on_update(self, old: Pod, new: Pod) -> None:
        """Note the key."""
        self.dirty.add(key_of(new))

    def on_delete(self, deleted: Deleted[Pod]) -> None:
        """Note the key."""
        self.dirty.add(deleted.key)


def build_pod(number: int, version: int = 1) -> dict[str, Any]:
    """Return a pod of a job, with a spec that is not cached; about 2 KB of JSON."""
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": f"job-{number // 10}-worker-{number % 10}",
            "namespace": f"team-{number % 7}",
            "uid": f"00000000-0000-4000-8000-{number:012}",
            "resourceVersion": str(version),
            "labels": {"training.kubeflow.org/job-name": f"job-{number // 10}"},
        },
        "spec": {
            "containers": [{"name": "worker", "image": "example.com/mpi:1", "env": [{"name": "A", "value": "b"}] * 60}]
        },
        "status": {"phase": "Running"},
    }


def build_informer(
    source: ListWatch[Pod], stop: StopToken, clock: Clock, *, uses_streaming_list: bool = True
) -> Informer[Pod]:
    """Return an informer with one index and one inline handler."""
    informer = Informer(
        source,
        clock=clock,
        random=Random(0),
        stop_token=stop,
        options=ReflectorOptions(uses_streaming_list=uses_streaming_list),
        indexers={"job": lambda pod: [pod.metadata.labels.get("training.kubeflow.org/job-name", "")]},
    )
    informer.add_handler(Keys(), name="keys", enqueue_keys=True)
    return informer


def build_lines() -> list[bytes]:
    """Return watch lines that modify LIVE_PODS pods in turn."""
    return [
        msgspec.json.encode({"type": "MODIFIED", "object": build_pod(number % LIVE_PODS, number + 1)})
        for number in range(EVENTS)
    ]


def measure_events_per_second() -> float:
    """Return how many events are decoded and applied (store, index, handler) per second of processor time."""
    lines = build_lines()
    decoder = ObjectDecoder(PODS, Pod)
    started = time.process_time()
    events: list[WatchEvent[Pod]] = [
        event for line in lines if (event := decoder.decode_event(line, action="bench")) is not None
    ]
    decoding = time.process_time() - started
    stop = StopToken()
    informer = build_informer(FakeListWatch(), stop, SystemClock())
    started = time.process_time()
    informer._reflector._follow(iter(events), started=0, stop=stop)
    applying = time.process_time() - started
    if len(informer.store) != LIVE_PODS:
        raise AssertionError(f"{len(informer.store)} pods in the store, expected {LIVE_PODS}")
    return EVENTS / (decoding + applying)


def measure_sync(*, uses_streaming_list: bool) -> None:
    """Print the time from start to synced for LISTED_PODS pods on a fake API server, which shares our core."""
    clock, stop = SystemClock(), StopToken()
    with FakeApiServer(PODS) as server, server.transport() as api:
        for number in range(LISTED_PODS):
            server.put(PODS, build_pod(number))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        source = ResourceListWatch(api, PODS, Pod)
        informer = build_informer(source, stop, clock, uses_streaming_list=uses_streaming_list)
        started = time.perf_counter()
        informer.start()
        wait_for_sync([informer], timeout_seconds=120, clock=clock, stop=stop)
        seconds = time.perf_counter() - started
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        informer.stop()
    kind = "streaming" if uses_streaming_list else "paged"
    report(f"{LISTED_PODS} pods to synced, {kind} list", seconds, "seconds")
    report(f"  peak memory grown, server included, {kind} list", grown / 1024, "MiB")


def report(what: str, number: float, unit: str) -> None:
    """Print one result."""
    print(f"{what:60} {number:12,.2f} {unit}")


def main() -> None:
    """Run all measurements."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    for uses_streaming_list in (False, True):
        measure_sync(uses_streaming_list=uses_streaming_list)
    report("events decoded and applied (store, index, inline handler)", measure_events_per_second(), "per CPU second")


if __name__ == "__main__":
    main()
