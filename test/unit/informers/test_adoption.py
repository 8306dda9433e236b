"""Who may adopt an orphan, and how a child is let go."""

from __future__ import annotations

from typing import Any

import pytest

from informers.adoption import Adopted, OwnerGone, adopt, release
from informers.errors import Conflict
from informers.object_identity import Identity
from informers.owner import Owner
from informers.resource import Resource
from test.builders.object_server import Manifest, ObjectServer

JOBS = Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob")
PODS = Resource("", "v1", "pods", "Pod")
JOB_PATH = "/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs/job"
POD_PATH = "/api/v1/namespaces/team/pods/worker"
OWNER = Owner("team/job", "job-uid")
REFERENCE = {
    "apiVersion": "kubeflow.org/v2beta1",
    "kind": "MPIJob",
    "name": "job",
    "uid": "job-uid",
    "controller": True,
}
POD = Identity(name="worker", namespace="team", uid="pod-uid")


def an_object(name: str, uid: str, **metadata: Any) -> Manifest:
    return {"metadata": {"name": name, "namespace": "team", "uid": uid, **metadata}}


@pytest.fixture
def server() -> ObjectServer:
    server = ObjectServer()
    server.put(JOB_PATH, an_object("job", "job-uid"))
    server.put(POD_PATH, an_object("worker", "pod-uid"))
    return server


def adopt_pod(server: ObjectServer, child: Identity = POD) -> Adopted | OwnerGone:
    return adopt(server, owner=OWNER, owner_resource=JOBS, owner_reference=REFERENCE, child=child, child_resource=PODS)


def owners_of_pod(server: ObjectServer) -> list[str]:
    return [owner["uid"] for owner in server.objects[POD_PATH]["metadata"].get("ownerReferences", [])]


def test_X14_a_living_owner_adopts(server: ObjectServer) -> None:
    outcome = adopt_pod(server)
    assert isinstance(outcome, Adopted)
    assert outcome.identity.controller is not None
    assert outcome.identity.controller.uid == "job-uid"
    assert owners_of_pod(server) == ["job-uid"]


@pytest.mark.parametrize(
    "live",
    [
        pytest.param(None, id="X14 the owner is gone"),
        pytest.param(an_object("job", "another-uid"), id="X14 the live owner is a namesake"),
        pytest.param(
            an_object("job", "job-uid", deletionTimestamp="2030-01-01T00:00:00Z"), id="X14 the owner is being deleted"
        ),
    ],
)
def test_X14_an_owner_that_only_the_cache_knows_adopts_nothing(live: Manifest | None, server: ObjectServer) -> None:
    del server.objects[JOB_PATH]
    if live is not None:
        server.put(JOB_PATH, live)
    assert adopt_pod(server) == OwnerGone()
    assert owners_of_pod(server) == []
    assert server.requests == [("GET", JOB_PATH)]


def test_a_namesake_of_the_child_is_not_adopted(server: ObjectServer) -> None:
    with pytest.raises(Conflict):
        adopt_pod(server, Identity(name="worker", namespace="team", uid="yesterday's"))
    assert owners_of_pod(server) == []


def test_adopting_keeps_other_owners(server: ObjectServer) -> None:
    server.put(POD_PATH, an_object("worker", "pod-uid", ownerReferences=[{"uid": "other"}]))
    adopt_pod(server)
    assert owners_of_pod(server) == ["other", "job-uid"]


def test_a_release_takes_only_our_reference_away(server: ObjectServer) -> None:
    server.put(POD_PATH, an_object("worker", "pod-uid", ownerReferences=[{"uid": "other"}, REFERENCE]))
    release(server, owner=OWNER, child=POD, child_resource=PODS)
    assert owners_of_pod(server) == ["other"]


def test_a_child_that_is_gone_is_released(server: ObjectServer) -> None:
    del server.objects[POD_PATH]
    release(server, owner=OWNER, child=POD, child_resource=PODS)
    assert server.requests == [("PATCH", POD_PATH)]
