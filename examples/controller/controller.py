"""A whole controller: every ConfigMap labelled `greet` gets a greeting, again whenever somebody spoils it."""

from __future__ import annotations

from random import Random

import msgspec

from clockwork import StopToken, SystemClock
from informers import Deleted, Informer, Resource, key_of, split_key, wait_for_sync
from informers.api import Api
from informers.client import Client
from informers.resource_list_watch import ResourceListWatch
from workqueue import Attempt, Done, Queue, Result, WorkerPool

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")


class Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Only what is declared is decoded and kept."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class ConfigMap(msgspec.Struct, frozen=True, gc=False):
    """The fields this controller reads."""

    metadata: Metadata
    data: dict[str, str] = {}


class EnqueueKeys:
    """The handler does nothing but add keys to the queue, so it needs no thread."""

    def __init__(self, queue: Queue[str]) -> None:
        self._queue = queue

    def on_add(self, obj: ConfigMap, *, is_initial: bool) -> None:
        """Look at a new object; at the start there are many, and what changes now goes first."""
        self._queue.add(key_of(obj), priority=-100 if is_initial else 0)

    def on_update(self, old: ConfigMap, new: ConfigMap) -> None:  # noqa: ARG002 - the key is all that counts
        """Look at a changed object."""
        self._queue.add(key_of(new))

    def on_delete(self, deleted: Deleted[ConfigMap]) -> None:
        """Look at a deleted object, in case something of it is left."""
        self._queue.add(deleted.key)


def run(api: Api, stop: StopToken) -> None:
    """Run the controller until `stop` is set."""
    clock, client, queue = SystemClock(), Client(api), Queue[str]("greetings")
    source = ResourceListWatch(api, CONFIG_MAPS, ConfigMap, label_selector="greet")
    informer = Informer(source, clock=clock, random=Random(), stop_token=stop)  # noqa: S311 - jitter
    informer.add_handler(EnqueueKeys(queue), name="enqueue", enqueue_keys=True)

    def reconcile(key: str, attempt: Attempt) -> Result:  # noqa: ARG001 - one call needs no deadline of its own
        found = informer.store.get(key)
        namespace, name = split_key(key)
        if found is not None and found.data.get("greeting") != f"Hello, {name}":
            patch = {"data": {"greeting": f"Hello, {name}"}}
            client.patch(CONFIG_MAPS, namespace, name, patch, ConfigMap)
        return Done()

    workers = WorkerPool(queue, reconcile, size=2, stop=stop)
    try:
        informer.start()
        wait_for_sync([informer], timeout_seconds=60, clock=clock, stop=stop)
        workers.start()
        stop.wait()
    finally:
        workers.stop()
        workers.join(10)
        informer.stop()
