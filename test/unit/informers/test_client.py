from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from informers.api import JSON_PATCH, STRATEGIC_MERGE_PATCH
from informers.client import Client, Preconditions
from informers.errors import AlreadyExists, Conflict, DecodeError, NotFound
from informers.list_watch import ListOptions
from informers.testing import FakeApiServer, faults
from test.builders.items import NODES, PODS, Item


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer(PODS, NODES) as server:
        yield server


@pytest.fixture
def client(server: FakeApiServer) -> Iterator[Client]:
    with server.transport() as api:
        yield Client(api)


def a_pod(name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **fields}


class _Manifest(msgspec.Struct):
    metadata: dict[str, str]


def test_what_is_created_can_be_read(client: Client) -> None:
    created = client.create(PODS, "team", a_pod(spec={"nodeName": "n"}), Item)
    assert created.metadata.uid
    assert client.get(PODS, "team", "a", Item) == created


def test_a_body_may_be_a_struct_and_an_answer_a_dict(client: Client) -> None:
    created = client.create(PODS, "team", _Manifest({"name": "a"}), dict)
    assert created["metadata"]["name"] == "a"


def test_a_cluster_scoped_object_has_no_namespace(server: FakeApiServer, client: Client) -> None:
    client.create(NODES, "", a_pod(), Item)
    assert client.get(NODES, "", "a", Item).metadata.namespace == ""
    assert server.requests[-1].path == "/api/v1/nodes/a"


def test_a_list_is_a_page(client: Client) -> None:
    for name in "abc":
        client.create(PODS, "team", a_pod(name), Item)
    page = client.list(PODS, Item, namespace="team", options=ListOptions(limit=2))
    assert [item.metadata.name for item in page.items] == ["a", "b"]
    assert page.continue_


def test_a_patch_merges_unless_told_otherwise(client: Client) -> None:
    client.create(PODS, "team", a_pod(spec={"nodeName": "n", "x": 1}), Item)
    patched = client.patch(PODS, "team", "a", {"spec": {"x": None, "y": 2}}, dict)
    assert patched["spec"] == {"nodeName": "n", "y": 2}
    operations = [{"op": "replace", "path": "/spec/y", "value": 3}]
    assert client.patch(PODS, "team", "a", operations, dict, content_type=JSON_PATCH)["spec"]["y"] == 3
    owners = {"metadata": {"ownerReferences": [{"uid": "u"}]}}
    patched = client.patch(PODS, "team", "a", owners, dict, content_type=STRATEGIC_MERGE_PATCH)
    assert patched["metadata"]["ownerReferences"] == [{"uid": "u"}]


def test_a_status_is_patched_and_replaced_at_its_subresource(client: Client) -> None:
    client.create(PODS, "team", a_pod(), Item)
    patched = client.patch(PODS, "team", "a", {"status": {"phase": "Running"}}, dict, subresource="status")
    assert patched["status"] == {"phase": "Running"}
    replaced = client.replace(PODS, "team", "a", {**patched, "status": {"phase": "Failed"}}, dict, subresource="status")
    assert replaced["status"] == {"phase": "Failed"}


def test_a_stale_replace_is_a_conflict(client: Client) -> None:
    first = client.create(PODS, "team", a_pod(), dict)
    client.replace(PODS, "team", "a", {**first, "spec": {"x": 1}}, dict)
    with pytest.raises(Conflict, match="replace pods team/a"):
        client.replace(PODS, "team", "a", {**first, "spec": {"x": 2}}, dict)


def test_a_delete_says_what_must_hold_and_what_becomes_of_dependents(server: FakeApiServer, client: Client) -> None:
    client.create(PODS, "team", a_pod(), Item)
    with pytest.raises(Conflict, match="delete pods team/a"):
        client.delete(PODS, "team", "a", preconditions=Preconditions(uid="another"))
    client.delete(PODS, "team", "a", propagation_policy="Foreground", grace_period_seconds=0)
    assert server.objects(PODS) == ()
    assert [request.json() for request in server.requests_of("delete")] == [
        {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": "Background",
            "preconditions": {"uid": "another"},
        },
        {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground", "gracePeriodSeconds": 0},
    ]


def test_an_error_names_verb_kind_and_object(client: Client) -> None:
    client.create(PODS, "team", a_pod(), Item)
    with pytest.raises(AlreadyExists, match="create pods team/a"):
        client.create(PODS, "team", a_pod(), Item)
    with pytest.raises(NotFound, match="get pods team/b"):
        client.get(PODS, "team", "b", Item)
    with pytest.raises(NotFound, match="patch status of pods team/b"):
        client.patch(PODS, "team", "b", {}, Item, subresource="status")


def test_R33_an_answer_that_does_not_fit_is_a_decode_error(server: FakeApiServer, client: Client) -> None:
    server.script(faults.Respond(200, body=b'{"metadata":5}'))
    with pytest.raises(DecodeError, match="get pods team/a: the answer does not fit Item"):
        client.get(PODS, "team", "a", Item)
