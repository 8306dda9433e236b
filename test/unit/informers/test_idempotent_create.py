"""Creating an object whose name may be taken."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from informers.errors import AlreadyExists, ConnectionLost, DecodeError, Forbidden, NamespaceTerminating
from informers.idempotent_create import (
    AlreadyOurs,
    Created,
    NamespaceGoing,
    NameTaken,
    NameTerminating,
    create_once,
)
from informers.resource import Resource
from informers.slow_start import start_slowly
from test.builders.object_server import Manifest, ObjectServer

PODS = Resource("", "v1", "pods", "Pod")
COLLECTION = "/api/v1/namespaces/team/pods"


@pytest.fixture
def server() -> ObjectServer:
    return ObjectServer()


def an_owner(**changes: Any) -> dict[str, Any]:
    return {"kind": "MPIJob", "name": "job", "uid": "owner-uid", "controller": True, **changes}


def a_pod(name: str = "job-worker-0", owners: list[dict[str, Any]] | None = None, **metadata: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "team",
            "ownerReferences": [an_owner()] if owners is None else owners,
            **metadata,
        },
    }


def path_of(pod: Manifest) -> str:
    return f"{COLLECTION}/{pod['metadata']['name']}"


def test_X8_a_free_name_is_created(server: ObjectServer) -> None:
    outcome = create_once(server, PODS, a_pod())
    assert isinstance(outcome, Created)
    assert (outcome.identity.name, outcome.identity.uid, outcome.identity.resource_version) == (
        "job-worker-0",
        "uid-1",
        "1",
    )
    assert msgspec.json.decode(outcome.body)["kind"] == "Pod"
    assert server.requests == [("POST", COLLECTION)]


@pytest.mark.parametrize(
    ("holder", "expected"),
    [
        pytest.param(a_pod(), AlreadyOurs, id="X8 ours is as good as created"),
        pytest.param(
            a_pod(owners=[an_owner(name="x", controller=False), an_owner()]), AlreadyOurs, id="X8 ours among others"
        ),
        pytest.param(
            a_pod(deletionTimestamp="2030-01-01T00:00:00Z"), NameTerminating, id="X8 ours but terminating: later"
        ),
        pytest.param(a_pod(owners=[an_owner(uid="old")]), NameTerminating, id="X8 a predecessor's goes by itself"),
        pytest.param(
            a_pod(owners=[an_owner(uid="old")], deletionTimestamp="2030-01-01T00:00:00Z"),
            NameTerminating,
            id="X8 a predecessor's that is going",
        ),
        pytest.param(
            a_pod(owners=[an_owner(kind="Job", uid="other")]), NameTaken, id="X8 another kind of controller's"
        ),
        pytest.param(a_pod(owners=[an_owner(name="other", uid="other")]), NameTaken, id="X8 another job's"),
        pytest.param(a_pod(owners=[an_owner(controller=False)]), NameTaken, id="X8 owned but not controlled by us"),
        pytest.param(a_pod(owners=[]), NameTaken, id="X8 nobody's"),
    ],
)
def test_X8_a_taken_name_is_judged_by_its_live_holder(
    holder: Manifest, expected: type[Any], server: ObjectServer
) -> None:
    stored = server.put(path_of(holder), holder)
    outcome = create_once(server, PODS, a_pod())
    assert type(outcome) is expected
    assert not isinstance(outcome, NamespaceGoing)
    assert outcome.identity.uid == stored["metadata"]["uid"]
    assert server.requests == [("POST", COLLECTION), ("GET", path_of(holder))]
    assert server.objects == {path_of(holder): stored}


def test_X8_our_live_state_comes_along(server: ObjectServer) -> None:
    stored = server.put(path_of(a_pod()), {**a_pod(), "status": {"phase": "Running"}})
    outcome = create_once(server, PODS, a_pod())
    assert isinstance(outcome, AlreadyOurs)
    assert msgspec.json.decode(outcome.body) == stored


def test_a_holder_that_vanished_before_it_was_read_leaves_the_error(server: ObjectServer) -> None:
    server.put(path_of(a_pod()), a_pod())

    def vanish(method: str, path: str) -> None:
        if method == "GET":
            del server.objects[path]

    server.before = vanish
    with pytest.raises(AlreadyExists):
        create_once(server, PODS, a_pod())


def test_X9_a_create_whose_answer_was_lost_makes_one_child(server: ObjectServer) -> None:
    def lose(method: str, path: str) -> None:
        server.after = lambda _method, _path: None
        raise ConnectionLost(f"{method} {path} was cut off")

    server.after = lose
    with pytest.raises(ConnectionLost):
        create_once(server, PODS, a_pod())
    assert isinstance(create_once(server, PODS, a_pod()), AlreadyOurs)
    assert list(server.objects) == [path_of(a_pod())]


@pytest.mark.parametrize("made", range(6))
def test_X10_a_new_leader_with_an_empty_memory_ends_with_five_children(made: int, server: ObjectServer) -> None:
    pods = [a_pod(f"job-worker-{ordinal}") for ordinal in range(5)]
    for pod in pods[:made]:
        create_once(server, PODS, pod)
    outcomes = [create_once(server, PODS, pod) for pod in pods]
    assert [type(outcome) for outcome in outcomes] == [AlreadyOurs] * made + [Created] * (5 - made)
    assert list(server.objects) == [path_of(pod) for pod in pods]


def test_X15_a_namespace_that_is_going_is_no_error(server: ObjectServer) -> None:
    def refuse(method: str, path: str) -> None:
        raise NamespaceTerminating("namespace team is being terminated", code=403)

    server.before = refuse
    assert create_once(server, PODS, a_pod()) == NamespaceGoing("namespace team is being terminated")
    assert len(server.requests) == 1


def test_X15_a_namespace_that_is_going_is_asked_once_by_a_slow_start(server: ObjectServer) -> None:
    def refuse(method: str, path: str) -> None:
        raise NamespaceTerminating("namespace team is being terminated", code=403)

    server.before = refuse
    pods = [a_pod(f"job-worker-{ordinal}") for ordinal in range(10)]
    with ThreadPoolExecutor(2) as executor:
        outcome = start_slowly(
            pods,
            lambda pod: create_once(server, PODS, pod),
            executor=executor,
            is_refusal=lambda created: isinstance(created, NamespaceGoing),
        )
    assert len(server.requests) == 1
    assert outcome.failures == ()
    assert len(outcome.not_attempted) == 9


def test_any_other_refusal_is_raised(server: ObjectServer) -> None:
    def refuse(method: str, path: str) -> None:
        raise Forbidden("exceeded quota", code=403)

    server.before = refuse
    with pytest.raises(Forbidden, match="exceeded quota"):
        create_once(server, PODS, a_pod())


def test_an_answer_that_is_no_object_is_an_error(server: ObjectServer) -> None:
    server.objects[path_of(a_pod())] = {"kind": "Pod"}
    with pytest.raises(DecodeError, match="job-worker-0"):
        create_once(server, PODS, a_pod())


def test_a_manifest_without_a_controller_is_refused_before_anything_is_sent(server: ObjectServer) -> None:
    with pytest.raises(ValueError, match="team/job-worker-0 has no controller"):
        create_once(server, PODS, a_pod(owners=[]))
    assert server.requests == []
