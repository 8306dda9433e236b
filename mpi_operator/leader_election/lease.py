"""The Lease object as it is read and written, without losing what others wrote into it (informers.md 1.9.1)."""

from __future__ import annotations

from typing import Any

import msgspec

from informers.errors import DecodeError
from informers.resource import Resource

LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The spec of a Lease; every field may be missing. The times stay text: they are shown, never compared."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None
    strategy: str | None = None
    preferred_holder: str | None = None

    @property
    def holder(self) -> str:
        """The identity that holds the Lease, empty when nobody does."""
        return self.holder_identity or ""

    @property
    def transitions(self) -> int:
        """How often the Lease went to another holder, 0 where it is not recorded."""
        return self.lease_transitions or 0


class Lease(msgspec.Struct, frozen=True):
    """A Lease as the server sent it: `body` is its whole text, `spec_body` that of its spec."""

    body: bytes
    spec_body: bytes
    spec: LeaseSpec
    uid: str = ""
    resource_version: str = ""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _Envelope(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: msgspec.Raw = msgspec.Raw(b"null")


_EMPTY_SPEC = b"{}"
_ENVELOPES = msgspec.json.Decoder(_Envelope)
_SPECS = msgspec.json.Decoder(LeaseSpec)


def decode_lease(body: bytes) -> Lease:
    """Return the Lease in `body`; raise DecodeError when there is none."""
    try:
        envelope = _ENVELOPES.decode(body)
        spec_body = bytes(envelope.spec)
        if spec_body == b"null":
            spec_body = _EMPTY_SPEC
        spec = _SPECS.decode(spec_body)
    except msgspec.MsgspecError as error:
        raise DecodeError(f"the answer is not a Lease: {error}") from error
    return Lease(
        body=body,
        spec_body=spec_body,
        spec=spec,
        uid=envelope.metadata.uid,
        resource_version=envelope.metadata.resource_version,
    )


def build_lease(*, namespace: str, name: str, spec: dict[str, Any]) -> bytes:
    """Return the body that creates a Lease with `spec`."""
    return msgspec.json.encode(
        {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
        }
    )


def build_update(lease: Lease, changes: dict[str, Any]) -> bytes:
    """Return the body that replaces `lease` with `changes` to its spec.

    The resourceVersion read and every field this program does not know stay as they are.
    """
    content: dict[str, Any] = msgspec.json.decode(lease.body)
    content["spec"] = {**(content.get("spec") or {}), **changes}
    return msgspec.json.encode(content)
