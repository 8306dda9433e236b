"""Informers against a real API server: the same promises as over the fake one (informers.md 1.2)."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from random import Random
from typing import Any

import pytest

from clockwork import StopToken, SystemClock
from hack.cluster.component import await_true
from hack.cluster.control_plane import ControlPlane, Options
from informers.client import Client
from informers.errors import Expired, Forbidden
from informers.informer import Informer
from informers.list_watch import ListOptions, ListWatch, Page, WatchOptions, WatchStream
from informers.notifications import Deleted
from informers.reflector import ReflectorOptions
from informers.resource import Resource
from informers.resource_list_watch import ResourceListWatch
from informers.sync import SyncTimeoutError, wait_for_sync
from informers.transport import Transport, load_configuration
from test.builders.items import Item

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
LIMIT_SECONDS = 30.0
BOTH_LISTS = pytest.mark.parametrize(
    "options",
    [
        pytest.param({"uses_streaming_list": True}, id="streaming list"),
        pytest.param({"uses_streaming_list": False, "page_size": 3}, id="R7 pages of three"),
        pytest.param({"uses_streaming_list": False, "initial_read": "any"}, id="R1 any version"),
    ],
)


class Mirror:
    """A handler that keeps its own picture of the objects, from notifications alone."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.Lock())
        self.versions: dict[str, str] = {}

    def _put(self, obj: Item) -> None:
        with self.changed:
            self.versions[obj.metadata.name] = obj.metadata.resource_version
            self.changed.notify_all()

    def on_add(self, obj: Item, *, is_initial: bool) -> None:
        assert obj.metadata.name not in self.versions
        self._put(obj)

    def on_update(self, old: Item, new: Item) -> None:
        assert self.versions[old.metadata.name] == old.metadata.resource_version
        self._put(new)

    def on_delete(self, deleted: Deleted[Item]) -> None:
        with self.changed:
            del self.versions[deleted.key.split("/")[-1]]
            self.changed.notify_all()

    def await_names(self, *names: str) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: set(self.versions) == set(names), LIMIT_SECONDS), self.versions


class World:
    """One namespace of a real server, and an informer of its config maps."""

    def __init__(self, transport: Transport, namespace: str) -> None:
        self.transport = transport
        self.namespace = namespace
        self.client = Client(transport)
        self.mirror = Mirror()
        self.errors: list[Exception] = []
        self.stop = StopToken()
        self.informer: Informer[Item] | None = None

    def create(self, *names: str, **labels: str) -> None:
        for name in names:
            self.client.create(CONFIG_MAPS, self.namespace, self.config_map(name, **labels), dict)

    def config_map(self, name: str, **labels: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}

    def list_watch(self, label_selector: str = "", transport: Transport | None = None) -> ResourceListWatch[Item]:
        return ResourceListWatch(
            transport or self.transport, CONFIG_MAPS, Item, namespace=self.namespace, label_selector=label_selector
        )

    def start(self, source: ListWatch[Item] | None = None, **options: Any) -> Informer[Item]:
        """Start an informer whose mirror follows; the caller waits for it."""
        self.informer = Informer(
            source or self.list_watch(),
            clock=SystemClock(),
            random=Random(0),
            stop_token=self.stop,
            options=ReflectorOptions(consistency_check="raise", **options),
            on_error=self.errors.append,
        )
        self.informer.add_handler(self.mirror, name="mirror", enqueue_keys=True)
        self.informer.start()
        return self.informer

    def await_synced(self, seconds: float = LIMIT_SECONDS) -> None:
        assert self.informer is not None
        wait_for_sync([self.informer], timeout_seconds=seconds, clock=SystemClock(), stop=self.stop)

    def close(self) -> None:
        if self.informer is not None:
            assert self.informer.stop() == []


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        yield plane


@pytest.fixture(scope="module")
def transport(plane: ControlPlane) -> Iterator[Transport]:
    with Transport(load_configuration(kubeconfig=str(plane.kubeconfig), environ={})) as transport:
        yield transport


def _new_namespace(transport: Transport) -> str:
    namespaces = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
    created: dict[str, Any] = Client(transport).create(
        namespaces, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "informers-"}}, dict
    )
    return str(created["metadata"]["name"])


@pytest.fixture
def world(transport: Transport) -> Iterator[World]:
    world = World(transport, _new_namespace(transport))
    yield world
    world.close()


@BOTH_LISTS
def test_the_store_and_a_handler_follow_the_server(world: World, options: dict[str, Any]) -> None:
    names = [f"map-{number}" for number in range(8)]
    world.create(*names)
    informer = world.start(**options)
    world.await_synced()
    world.mirror.await_names(*names)
    world.create("late")
    world.client.patch(CONFIG_MAPS, world.namespace, "map-0", {"data": {"a": "b"}}, dict)
    world.client.delete(CONFIG_MAPS, world.namespace, "map-1")
    world.mirror.await_names("late", "map-0", *names[2:])
    listed = world.list_watch().list(ListOptions(), world.stop)
    server = {item.metadata.name: item.metadata.resource_version for item in listed.items}
    assert {key.split("/")[1]: item.metadata.resource_version for key, item in informer.store.items().items()} == server
    assert world.mirror.versions == server
    assert world.errors == []


@BOTH_LISTS
def test_R18_an_api_server_that_comes_back_is_followed_again(
    plane: ControlPlane, world: World, options: dict[str, Any]
) -> None:
    world.create("before")
    world.start(**options)
    world.await_synced()
    plane.restart_apiserver()
    world.create("after")
    world.mirror.await_names("before", "after")


def test_an_object_that_leaves_the_selector_is_deleted(world: World) -> None:
    world.create("in", "moving", team="red")
    world.create("out", team="blue")
    world.start(world.list_watch(label_selector="team=red"))
    world.await_synced()
    world.mirror.await_names("in", "moving")
    world.client.patch(CONFIG_MAPS, world.namespace, "moving", {"metadata": {"labels": {"team": "blue"}}}, dict)
    world.mirror.await_names("in")


def test_R35_a_missing_right_is_named_and_recovered_from_by_itself(plane: ControlPlane, world: World) -> None:
    user = f"watcher-{world.namespace}"
    with Transport(load_configuration(kubeconfig=str(plane.user_kubeconfig(user)), environ={})) as limited:
        world.start(world.list_watch(transport=limited), uses_streaming_list=False)
        with pytest.raises(SyncTimeoutError, match=r"configmaps.*forbidden"):
            world.await_synced(seconds=0.5)
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        world.client.create(
            Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"),
            world.namespace,
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "watcher"},
                "roleRef": role,
                "subjects": [{"apiGroup": role["apiGroup"], "kind": "User", "name": user}],
            },
            dict,
        )
        world.await_synced()
        world.close()
        world.informer = None
    assert isinstance(world.errors[0], Forbidden)


class Compacting:
    """A source that lets the server forget its history at one point: before page two, or before the first watch."""

    def __init__(self, source: ResourceListWatch[Item], forget: Callable[[str], None], *, before_watch: bool) -> None:
        self.name = source.name
        self.lists: list[ListOptions] = []
        self.watches: list[WatchOptions] = []
        self._source = source
        self._forget = forget
        self._before_watch = before_watch
        self._has_forgotten = False
        self._version = ""

    def _forget_once(self, version: str) -> None:
        if not self._has_forgotten:
            self._has_forgotten = True
            self._forget(version)

    def list(self, options: ListOptions, stop: StopToken) -> Page[Item]:
        if options.continue_ and not self._before_watch:
            self._forget_once(self._version)
        self.lists.append(options)
        page = self._source.list(options, stop)
        self._version = page.resource_version
        return page

    def watch(self, options: WatchOptions, stop: StopToken) -> AbstractContextManager[WatchStream[Item]]:
        if self._before_watch:
            self._forget_once(options.resource_version)
        self.watches.append(options)
        return self._source.watch(options, stop)


@pytest.fixture(scope="module")
def forgetful() -> Iterator[Transport]:
    """A server that keeps its history for a second, answers everything from etcd, and knows no streaming list."""
    flags = ("--watch-cache=false", "--etcd-compaction-interval=1s", "--feature-gates=WatchList=false")
    with (
        ControlPlane(Options(flags=flags)) as plane,
        Transport(load_configuration(kubeconfig=str(plane.kubeconfig), environ={})) as transport,
    ):
        yield transport


@pytest.fixture
def forgetful_world(forgetful: Transport) -> Iterator[World]:
    world = World(forgetful, _new_namespace(forgetful))
    yield world
    world.close()


def _forget(world: World) -> Callable[[str], None]:
    """Return what writes to the server until it no longer knows a version."""

    def is_forgotten(version: str) -> bool:
        world.client.patch(CONFIG_MAPS, world.namespace, "clock", {"data": {"after": version}}, dict)
        world.client.patch(CONFIG_MAPS, world.namespace, "clock", {"data": {"after": None}}, dict)
        try:
            world.list_watch().list(ListOptions(resource_version=version, resource_version_match="Exact"), world.stop)
        except Expired:
            return True
        return False

    return lambda version: await_true(lambda: is_forgotten(version), LIMIT_SECONDS, lambda: AssertionError(version))


def test_R11_a_list_whose_second_page_has_expired_is_read_whole(forgetful_world: World) -> None:
    world = forgetful_world
    world.create("clock", "a", "b", "c")
    source = Compacting(world.list_watch(), _forget(world), before_watch=False)
    world.start(source, uses_streaming_list=False, page_size=2)
    world.await_synced()
    world.mirror.await_names("clock", "a", "b", "c")
    assert [(each.limit, bool(each.continue_)) for each in source.lists] == [(2, False), (2, True), (0, False)]


def test_a_watch_whose_version_has_expired_leads_to_a_new_list(forgetful_world: World) -> None:
    world = forgetful_world
    world.create("clock", "a")
    source = Compacting(world.list_watch(), _forget(world), before_watch=True)
    world.start(source, uses_streaming_list=False)
    world.await_synced()
    world.create("b")
    world.mirror.await_names("clock", "a", "b")
    assert len(source.lists) >= 2
    assert not [error for error in world.errors if isinstance(error, Expired)], "expiry is routine, not an error"


def test_W9_a_server_without_streaming_lists_is_listed_instead(forgetful_world: World) -> None:
    world = forgetful_world
    world.create("clock", "a")
    source = Compacting(world.list_watch(), lambda _: None, before_watch=True)
    world.start(source, uses_streaming_list=True)
    world.await_synced()
    world.mirror.await_names("clock", "a")
    assert source.watches[0].send_initial_events
    assert source.lists, "the streaming list was given up for a list"
