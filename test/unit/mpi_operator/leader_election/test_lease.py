from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from informers.errors import DecodeError
from mpi_operator.leader_election.lease import LeaseSpec, build_lease, build_update, decode_lease
from test.builders.lease_server import a_spec


def a_lease_body(spec: Any, **metadata: Any) -> bytes:
    return msgspec.json.encode(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "mpi-operator", "resourceVersion": "7", "uid": "u", **metadata},
            "spec": spec,
        }
    )


def test_every_field_of_the_spec_is_read() -> None:
    lease = decode_lease(a_lease_body(a_spec("me", strategy="OldestEmulationVersion", preferredHolder="you")))
    assert lease.spec == LeaseSpec(
        holder_identity="me",
        lease_duration_seconds=15,
        acquire_time="2030-01-01T00:00:00.000000Z",
        renew_time="2030-01-01T00:00:00.000000Z",
        lease_transitions=3,
        strategy="OldestEmulationVersion",
        preferred_holder="you",
    )
    assert (lease.uid, lease.resource_version) == ("u", "7")


@pytest.mark.parametrize("spec", [None, {}, {"holderIdentity": None, "leaseTransitions": None}])
def test_a_lease_without_a_holder_is_held_by_nobody(spec: Any) -> None:
    lease = decode_lease(a_lease_body(spec))
    assert (lease.spec.holder, lease.spec.transitions) == ("", 0)


@pytest.mark.parametrize(
    "body", [b"", b"not json", b"[]", b'{"metadata": {}, "spec": {"leaseDurationSeconds": "15"}}', b'{"spec": {}}']
)
def test_an_answer_that_is_no_lease_is_a_decode_error(body: bytes) -> None:
    with pytest.raises(DecodeError, match="not a Lease"):
        decode_lease(body)


def test_an_update_keeps_every_field_this_program_does_not_know() -> None:
    lease = decode_lease(
        a_lease_body(
            a_spec("me", strategy="X", invented={"deep": [1]}),
            labels={"a": "b"},
            managedFields=[{"manager": "kubectl"}],
        )
    )
    updated = msgspec.json.decode(build_update(lease, {"holderIdentity": "you"}))
    expected = msgspec.json.decode(lease.body)
    expected["spec"]["holderIdentity"] = "you"
    assert updated == expected


def test_an_update_fills_a_spec_that_was_empty() -> None:
    lease = decode_lease(a_lease_body(None))
    assert msgspec.json.decode(build_update(lease, {"leaseTransitions": 1}))["spec"] == {"leaseTransitions": 1}


def test_a_new_lease_names_itself() -> None:
    body = build_lease(namespace="ns", name="n", spec={"leaseTransitions": 0})
    assert msgspec.json.decode(body) == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "n", "namespace": "ns"},
        "spec": {"leaseTransitions": 0},
    }


def test_a_difference_in_the_spec_shows_in_its_text() -> None:
    first, second = (decode_lease(a_lease_body(a_spec(renewTime=time))) for time in ("a", "b"))
    relabelled = decode_lease(a_lease_body(a_spec(renewTime="a"), labels={"x": "y"}))
    assert first.spec_body != second.spec_body
    assert first.spec_body == relabelled.spec_body


def test_times_in_other_zones_are_only_text_here() -> None:
    zone = timezone(timedelta(hours=9))
    text = datetime(2030, 1, 1, tzinfo=UTC).astimezone(zone).isoformat()
    assert decode_lease(a_lease_body(a_spec(renewTime=text))).spec.renew_time == text
