"""The fake API server behaves like a real one, as far as it goes."""

import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from clockwork import FakeClock, StopToken
from informers import errors
from informers.api import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from informers.client import Client
from informers.list_watch import ListOptions, WatchEvent, WatchOptions
from informers.resource import Resource
from informers.resource_list_watch import ResourceListWatch
from informers.testing import FakeApiServer, faults
from informers.transport import Transport
from test.builders.items import NODES, PODS, WIDGETS, Item
from test.builders.tasks import LIMIT_SECONDS, running

STOP = StopToken()


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer(PODS, NODES, WIDGETS) as server:
        yield server


@pytest.fixture
def api(server: FakeApiServer) -> Iterator[Transport]:
    with server.transport() as api:
        yield api


@pytest.fixture
def client(api: Transport) -> Client:
    return Client(api)


def put(server: FakeApiServer, *names: str, namespace: str = "team", **metadata: Any) -> None:
    for name in names:
        server.put(PODS, {"metadata": {"name": name, "namespace": namespace, **metadata}})


def names(items: tuple[Item, ...]) -> list[str]:
    return [item.metadata.name for item in items]


def summary(events: list[WatchEvent[Item]]) -> list[tuple[str, str]]:
    return [(event.type, event.object.metadata.name if event.object else event.resource_version) for event in events]


def watch(api: Transport, version: str = "", *, streaming: bool = False, **scope: str) -> list[WatchEvent[Item]]:
    options = WatchOptions(resource_version=version, send_initial_events=streaming)
    with ResourceListWatch(api, PODS, Item, **scope).watch(options, StopToken()) as stream:  # type: ignore[arg-type]
        return list(stream)


class TestLists:
    def test_pages_belong_to_one_snapshot(self, server: FakeApiServer, api: Transport) -> None:
        source = ResourceListWatch(api, PODS, Item)
        put(server, "a", "b", "c", "d", "e")
        first = source.list(ListOptions(limit=2), STOP)
        put(server, "bb", "f")
        server.remove(PODS, "team", "d")
        second = source.list(ListOptions(limit=2, continue_=first.continue_), STOP)
        third = source.list(ListOptions(limit=2, continue_=second.continue_), STOP)
        assert [names(page.items) for page in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
        assert {page.resource_version for page in (first, second, third)} == {first.resource_version}
        assert (first.remaining, third.continue_) == (3, "")

    def test_R11_a_continue_token_expires_with_compaction(self, server: FakeApiServer, api: Transport) -> None:
        source = ResourceListWatch(api, PODS, Item)
        put(server, "a", "b")
        first = source.list(ListOptions(limit=1), STOP)
        server.compact()
        with pytest.raises(errors.Expired):
            source.list(ListOptions(limit=1, continue_=first.continue_), STOP)

    def test_R10_a_continue_token_goes_with_no_version(self, server: FakeApiServer, api: Transport) -> None:
        source = ResourceListWatch(api, PODS, Item)
        put(server, "a", "b")
        first = source.list(ListOptions(limit=1), STOP)
        with pytest.raises(errors.BadRequest):
            source.list(ListOptions(limit=1, continue_=first.continue_, resource_version="2"), STOP)

    @pytest.mark.parametrize(
        ("version", "match", "expected"),
        [
            pytest.param("", "", ["a", "b"], id="unset is the latest"),
            pytest.param("0", "", ["a", "b"], id="0 is any"),
            pytest.param("2", "", ["a", "b"], id="not older than, by default"),
            pytest.param("2", "NotOlderThan", ["a", "b"], id="not older than"),
            pytest.param("2", "Exact", ["a"], id="exact"),
        ],
    )
    def test_a_version_is_understood(
        self, server: FakeApiServer, api: Transport, version: str, match: str, expected: list[str]
    ) -> None:
        put(server, "a", "b")
        options = ListOptions(resource_version=version, resource_version_match=match)
        assert names(ResourceListWatch(api, PODS, Item).list(options, STOP).items) == expected

    def test_R5_a_version_of_the_future_is_too_large(self, server: FakeApiServer, api: Transport) -> None:
        with pytest.raises(errors.TooLargeResourceVersion):
            ResourceListWatch(api, PODS, Item).list(ListOptions(resource_version="99"), STOP)

    def test_R9_lists_at_0_come_in_pages_only_without_a_watch_cache(self) -> None:
        options = ListOptions(resource_version="0", limit=1)
        for watch_cache, expected in ((True, ["a", "b"]), (False, ["a"])):
            with FakeApiServer(PODS, watch_cache=watch_cache) as server, server.transport() as api:
                put(server, "a", "b")
                assert names(ResourceListWatch(api, PODS, Item).list(options, STOP).items) == expected

    @pytest.mark.parametrize(
        ("scope", "expected"),
        [
            pytest.param({"namespace": "team"}, ["a", "b", "c"], id="a namespace"),
            pytest.param({"label_selector": "app=x"}, ["a"], id="a label"),
            pytest.param({"label_selector": "app==x,tier!=z"}, ["a"], id="two labels"),
            pytest.param({"label_selector": "app!=x"}, ["b", "c", "d"], id="another label, or none"),
            pytest.param({"label_selector": "app in (x, y)"}, ["a", "b"], id="one of a set"),
            pytest.param({"label_selector": "app notin (x,y),!tier"}, ["c", "d"], id="none of a set"),
            pytest.param({"label_selector": "app"}, ["a", "b"], id="a label with any value"),
            pytest.param({"field_selector": "metadata.name=b"}, ["b"], id="a name"),
            pytest.param({"field_selector": "metadata.namespace!=team"}, ["d"], id="another namespace"),
        ],
    )
    def test_selectors_select(
        self, server: FakeApiServer, api: Transport, scope: dict[str, Any], expected: list[str]
    ) -> None:
        put(server, "a", labels={"app": "x"})
        put(server, "b", labels={"app": "y"})
        put(server, "c")
        put(server, "d", namespace="other")
        page = ResourceListWatch(api, PODS, Item, **scope).list(ListOptions(), STOP)
        assert sorted(names(page.items)) == expected


class TestWatches:
    def test_changes_come_in_order_from_a_version_on(self, server: FakeApiServer, api: Transport) -> None:
        put(server, "a")
        version = server.resource_version
        put(server, "b")
        put(server, "a", labels={"x": "y"})
        server.remove(PODS, "team", "b")
        server.script(faults.CloseStream(), after_events=3)
        events = watch(api, version)
        assert summary(events) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
        assert [int(event.resource_version) for event in events] == [3, 4, 5]

    def test_what_happens_later_comes_too(self, server: FakeApiServer, api: Transport) -> None:
        server.script(faults.CloseStream(), after_events=2)
        with running(lambda: watch(api)) as watching:
            server.await_watches(1)
            put(server, "a", "b")
            assert summary(watching.result(LIMIT_SECONDS)) == [("ADDED", "a"), ("ADDED", "b")]
        server.await_watches(0)

    def test_an_object_that_leaves_the_selection_is_deleted_for_the_watch(
        self, server: FakeApiServer, api: Transport
    ) -> None:
        put(server, "a", labels={"app": "x"})
        version = server.resource_version
        put(server, "a", labels={"app": "y"})
        put(server, "a", labels={"app": "x"})
        put(server, "b")
        server.script(faults.CloseStream(), after_events=2)
        events = watch(api, version, label_selector="app=x")
        assert summary(events) == [("DELETED", "a"), ("ADDED", "a")]
        assert events[0].resource_version == "3"

    def test_a_version_before_the_compaction_is_expired(self, server: FakeApiServer, api: Transport) -> None:
        put(server, "a")
        server.compact()
        with pytest.raises(errors.Expired):
            watch(api, "1")

    def test_W3_a_streaming_list_ends_with_its_bookmark(self, server: FakeApiServer, api: Transport) -> None:
        put(server, "a", "b")
        server.script(faults.CloseStream(), after_events=3)
        with running(lambda: watch(api, streaming=True)) as watching:
            server.await_watches(1)
            put(server, "c")
            events = watching.result(LIMIT_SECONDS)
        assert [event.initial_events_end for event in events if event.type == "BOOKMARK"] == [True]

    @pytest.mark.parametrize(
        ("fault", "expected"),
        [
            pytest.param(faults.FalseInitialBookmark(), [("ADDED", "a"), ("BOOKMARK", "2")], id="W2 a false one"),
            pytest.param(faults.WithholdInitialBookmark(), [("ADDED", "a")], id="W1 none"),
        ],
    )
    def test_W2_the_bookmark_of_a_streaming_list_can_be_spoilt(
        self, server: FakeApiServer, api: Transport, fault: faults.Fault, expected: list[tuple[str, str]]
    ) -> None:
        put(server, "a")
        server.script(fault)
        with running(lambda: watch(api, streaming=True)) as watching:
            server.await_watches(1)
            assert server.inject(faults.CloseStream()) == 1
            events = watching.result(LIMIT_SECONDS)
        assert summary(events) == expected
        assert not any(event.initial_events_end for event in events)

    def test_W9_a_server_without_streaming_lists_says_so(self) -> None:
        with (
            FakeApiServer(PODS, streaming_lists=False) as server,
            server.transport() as api,
            pytest.raises(errors.Invalid),
        ):
            watch(api, streaming=True)

    def test_bookmarks_and_the_end_come_by_the_servers_clock(self) -> None:
        clock = FakeClock()
        with (
            FakeApiServer(PODS, clock=clock, bookmark_interval_seconds=60) as server,
            server.transport() as api,
            running(lambda: watch(api, "1")) as watching,
        ):
            for _ in range(4):
                clock.await_waiters(1)
                clock.step(60)
            clock.await_waiters(1)
            server.advance()
            clock.step(60)
            assert summary(watching.result(LIMIT_SECONDS)) == [("BOOKMARK", "1")] * 4


class TestWrites:
    def test_create_makes_up_what_the_server_owns(self, client: Client) -> None:
        made = client.create(PODS, "team", {"metadata": {"generateName": "a-"}, "status": {"phase": "Running"}}, dict)
        metadata = made["metadata"]
        assert metadata["name"].startswith("a-")
        assert metadata["name"] != "a-"
        assert (metadata["namespace"], metadata["generation"], made["kind"]) == ("team", 1, "Pod")
        assert metadata["uid"]
        assert metadata["creationTimestamp"].endswith("Z")
        assert "status" not in made

    def test_create_needs_a_name(self, client: Client) -> None:
        with pytest.raises(errors.Invalid):
            client.create(PODS, "team", {"metadata": {}}, dict)

    def test_an_update_that_changes_nothing_makes_no_version(self, server: FakeApiServer, client: Client) -> None:
        made = client.create(PODS, "team", {"metadata": {"name": "a"}}, dict)
        version = server.resource_version
        assert client.replace(PODS, "team", "a", made, dict) == made
        assert server.resource_version == version

    def test_only_a_change_of_what_is_desired_raises_the_generation(self, client: Client) -> None:
        client.create(WIDGETS, "team", {"metadata": {"name": "a"}, "spec": {"x": 1}}, dict)
        status = client.patch(WIDGETS, "team", "a", {"status": {"y": 1}}, dict, subresource="status")
        assert status["metadata"]["generation"] == 1
        ignored = client.patch(WIDGETS, "team", "a", {"status": {"y": 2}, "metadata": {"labels": {"l": "v"}}}, dict)
        assert (ignored["metadata"]["generation"], ignored["status"]) == (1, {"y": 1})
        assert client.patch(WIDGETS, "team", "a", {"spec": {"x": 2}}, dict)["metadata"]["generation"] == 2

    @pytest.mark.parametrize("precondition", [{"uid": "another"}, {"resourceVersion": "1"}], ids=["uid", "version"])
    def test_a_patch_may_have_preconditions(self, client: Client, precondition: dict[str, str]) -> None:
        client.create(PODS, "team", {"metadata": {"name": "a"}}, dict)
        with pytest.raises(errors.Conflict):
            client.patch(PODS, "team", "a", {"metadata": precondition}, dict)

    def test_finalizers_hold_a_deleted_object_until_the_last_is_gone(
        self, server: FakeApiServer, client: Client
    ) -> None:
        client.create(PODS, "team", {"metadata": {"name": "a", "finalizers": ["x"]}}, dict)
        client.delete(PODS, "team", "a")
        marked = client.get(PODS, "team", "a", dict)
        assert marked["metadata"]["deletionTimestamp"]
        client.patch(PODS, "team", "a", {"metadata": {"finalizers": None}}, dict)
        assert server.find(PODS, "team", "a") is None

    def test_a_collection_is_deleted_by_selector(self, server: FakeApiServer, api: Transport) -> None:
        put(server, "a", labels={"app": "x"})
        put(server, "b")
        api.request("DELETE", PODS.path(namespace="team"), query={"labelSelector": "app=x"})
        assert [item["metadata"]["name"] for item in server.objects(PODS)] == ["b"]

    @pytest.mark.parametrize(
        ("content_type", "patch", "expected"),
        [
            pytest.param(MERGE_PATCH, {"spec": {"a": None, "l": [3]}}, {"l": [3]}, id="merge replaces lists"),
            pytest.param(
                STRATEGIC_MERGE_PATCH,
                {"spec": {"containers": [{"name": "c", "x": 1}]}},
                {"a": 1, "l": [1, 2], "containers": [{"name": "c", "x": 1}]},
                id="strategic merge adds to lists with keys",
            ),
            pytest.param(
                JSON_PATCH,
                [
                    {"op": "test", "path": "/spec/a", "value": 1},
                    {"op": "add", "path": "/spec/l/1", "value": 9},
                    {"op": "add", "path": "/spec/l/-", "value": 8},
                    {"op": "remove", "path": "/spec/l/0"},
                    {"op": "move", "from": "/spec/a", "path": "/spec/b~1c"},
                ],
                {"l": [9, 2, 8], "b/c": 1},
                id="JSON patch",
            ),
        ],
    )
    def test_patches_do_what_their_type_says(
        self, client: Client, content_type: str, patch: Any, expected: dict[str, Any]
    ) -> None:
        client.create(PODS, "team", {"metadata": {"name": "a"}, "spec": {"a": 1, "l": [1, 2]}}, dict)
        assert client.patch(PODS, "team", "a", patch, dict, content_type=content_type)["spec"] == expected

    @pytest.mark.parametrize(
        "operation",
        [
            {"op": "test", "path": "/spec", "value": 5},
            {"op": "remove", "path": "/spec/missing"},
            {"op": "replace", "path": "/spec/missing", "value": 1},
        ],
        ids=lambda operation: str(operation["op"]),
    )
    def test_a_json_patch_that_does_not_apply_is_invalid(self, client: Client, operation: dict[str, Any]) -> None:
        client.create(PODS, "team", {"metadata": {"name": "a"}, "spec": {}}, dict)
        with pytest.raises(errors.Invalid):
            client.patch(PODS, "team", "a", [operation], dict, content_type=JSON_PATCH)

    def test_strategic_merge_keeps_the_other_owners(self, client: Client) -> None:
        client.create(PODS, "team", {"metadata": {"name": "a", "ownerReferences": [{"uid": "1"}]}}, dict)
        change = {
            "metadata": {"ownerReferences": [{"uid": "2"}, {"uid": "1", "$patch": "delete"}], "labels": {"l": "v"}}
        }
        patched = client.patch(PODS, "team", "a", change, dict, content_type=STRATEGIC_MERGE_PATCH)
        assert patched["metadata"]["ownerReferences"] == [{"uid": "2"}]


class TestRest:
    def test_any_resource_is_served(self, client: Client) -> None:
        unknown = Resource("batch.example.com", "v1", "policies", "Policy")
        client.create(unknown, "team", {"metadata": {"name": "a"}}, dict)
        assert client.get(unknown, "team", "a", dict)["kind"] == "Policy"

    def test_only_what_is_installed_is_served_on_request(self) -> None:
        with FakeApiServer(PODS, dynamic=False) as server, server.transport() as api:
            assert Client(api).list(PODS, Item).items == ()
            with pytest.raises(errors.NotFound, match="could not find the requested resource"):
                Client(api).list(WIDGETS, Item)
            with (
                pytest.raises(errors.NotFound),
                ResourceListWatch(api, WIDGETS, Item).watch(WatchOptions(), StopToken()),
            ):
                pass

    def test_discovery_knows_what_was_registered(self, api: Transport) -> None:
        found = msgspec.json.decode(api.request("GET", "/apis/example.com/v1").body)
        assert [each["name"] for each in found["resources"]] == ["widgets"]
        with pytest.raises(errors.NotFound):
            api.request("GET", "/apis/other.example.com/v1")

    def test_a_rule_matches_what_it_names(self, server: FakeApiServer, client: Client) -> None:
        server.script(faults.Respond(500), verb="patch", resource=PODS, name="b", subresource="status", skip=1)
        put(server, "a", "b")
        status = {"status": {"x": 1}}
        client.patch(PODS, "team", "a", status, dict, subresource="status")
        client.patch(PODS, "team", "b", {"spec": {}}, dict)
        client.patch(PODS, "team", "b", status, dict, subresource="status")
        with pytest.raises(errors.ServerError):
            client.patch(PODS, "team", "b", status, dict, subresource="status")
        client.patch(PODS, "team", "b", status, dict, subresource="status")

    def test_R11_a_page_can_be_named(self, server: FakeApiServer, api: Transport) -> None:
        source = ResourceListWatch(api, PODS, Item)
        put(server, "a", "b")
        server.script(faults.Respond(410, "Expired"), verb="list", page=2)
        first = source.list(ListOptions(limit=1), STOP)
        with pytest.raises(errors.Expired):
            source.list(ListOptions(limit=1, continue_=first.continue_), STOP)

    def test_X9_a_write_can_land_and_its_answer_get_lost(self, server: FakeApiServer, client: Client) -> None:
        server.script(faults.DropRequest(after_write=True), verb="create")
        with pytest.raises(errors.ConnectionLost):
            client.create(PODS, "team", {"metadata": {"name": "a"}}, dict)
        assert server.find(PODS, "team", "a") is not None

    def test_it_leaves_no_thread_whatever_hangs_in_it(self) -> None:
        before = set(threading.enumerate())
        with FakeApiServer(PODS) as server, server.transport() as api:
            server.script(faults.IgnoreRequest(), verb="get")
            with running(lambda: Client(api).get(PODS, "a", "b", dict)) as hanging:
                server.await_requests(1)
                with api.stream(PODS.path(), query={"watch": "1"}, stop=StopToken()):
                    server.await_watches(1)
                    api.close()
                assert isinstance(hanging.exception(LIMIT_SECONDS), errors.Stopped)
        assert set(threading.enumerate()) == before
