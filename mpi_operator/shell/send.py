"""One action to one or two requests, and what their answers mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, assert_never

import msgspec

from informers.api import MERGE_PATCH, Answer, Api
from informers.errors import AlreadyExists, BadRequest, Conflict, Forbidden, Invalid, NotFound
from informers.idempotent_create import AlreadyOurs, Created, NamespaceGoing, NameTaken, NameTerminating, create_once
from informers.object_identity import Identity, decode_identity
from informers.resource import Resource
from mpi_operator import names
from mpi_operator.actions import Create, Delete, EnsureSecret, Patch
from mpi_operator.api.metadata import ObjectMeta
from mpi_operator.api.observed import Secret
from mpi_operator.children.ssh_secret.build import build_ssh_secret, build_ssh_secret_data
from mpi_operator.shell.observe import Holder, decode_secret
from mpi_operator.ssh_key import generate_pair

SingleAction: TypeAlias = Create | EnsureSecret | Patch | Delete


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """The action is done. `identity` is the object's as the write left it; None where nothing was written.

    `secret` is what the server made of a Secret that was not there before.
    """

    identity: Identity | None = None
    secret: Secret | None = None


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """The name is held by an object that is not ours, is terminating, or is in no cache until it is adopted."""

    holder: Holder


class Outdated(msgspec.Struct, frozen=True, kw_only=True):
    """The object changed or went since it was looked at: look again, quietly."""


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """The server will not do this, however often it is asked."""

    message: str


class Hopeless(msgspec.Struct, frozen=True, kw_only=True):
    """The namespace is being deleted, and the job with it: nothing needs to be done."""


Result: TypeAlias = Sent | Held | Outdated | Refused | Hopeless


class Sender:
    """Sends actions to the server. Safe from any thread; raises every ApiError that a repetition may mend."""

    def __init__(self, api: Api, resources: Mapping[str, Resource]) -> None:
        self._api = api
        self._resources = resources

    def send(self, action: SingleAction) -> Result:
        """Carry out one action."""
        match action:
            case Create():
                return self._create(action.kind, action.manifest)
            case EnsureSecret(uid=""):
                return self._create("Secret", build_ssh_secret(action.job, generate_pair()))
            case EnsureSecret():
                return self._patch(_build_secret_repair(action))
            case Patch():
                return self._patch(action)
            case Delete():
                return self._delete(action)
        assert_never(action)

    def _create(self, kind: str, manifest: Mapping[str, Any]) -> Result:
        try:
            outcome = create_once(self._api, self._resources[kind], manifest)
        except AlreadyExists:
            # Whoever had the name was gone before it could be looked at.
            return Outdated()
        except (Invalid, Forbidden, BadRequest, NotFound) as error:
            # NotFound of a create: the kind is unknown, or the namespace has just gone.
            return Refused(message=error.message)
        match outcome:
            case AlreadyOurs(identity, body) if _lacks_labels(body, manifest):
                return Held(holder=Holder(kind=kind, name=identity.name))
            case Created(identity) | AlreadyOurs(identity):
                return Sent(identity=identity, secret=_find_new_secret(kind, outcome))
            case NameTerminating(identity) | NameTaken(identity):
                return Held(holder=Holder(kind=kind, name=identity.name))
            case NamespaceGoing():
                return Hopeless()
        assert_never(outcome)

    def _patch(self, patch: Patch) -> Result:
        metadata = {**patch.patch.get("metadata", {}), "uid": patch.uid}
        if patch.resource_version:
            metadata["resourceVersion"] = patch.resource_version
        action = f"patch {patch.kind} {patch.namespace}/{patch.name}"
        path = self._resources[patch.kind].path(
            namespace=patch.namespace, name=patch.name, subresource=patch.subresource
        )
        body = msgspec.json.encode({**patch.patch, "metadata": metadata})
        try:
            answer = self._api.request("PATCH", path, body=body, content_type=MERGE_PATCH, action=action)
        except (Conflict, NotFound):
            return Outdated()
        except (Invalid, Forbidden, BadRequest) as error:
            return Refused(message=error.message)
        return Sent(identity=decode_identity(answer.body, action=action))

    def _delete(self, delete: Delete) -> Result:
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": delete.uid}}
        if delete.kind == "Job":
            options["propagationPolicy"] = "Background"
        action = f"delete {delete.kind} {delete.namespace}/{delete.name}"
        path = self._resources[delete.kind].path(namespace=delete.namespace, name=delete.name)
        try:
            answer = self._api.request("DELETE", path, body=msgspec.json.encode(options), action=action)
        except (Conflict, NotFound):
            # Gone, or another object has the name by now: the one that was meant is no more.
            return Sent()
        except (Invalid, Forbidden, BadRequest) as error:
            return Refused(message=error.message)
        return Sent(identity=_deleted_identity(answer, delete, action))


def _find_new_secret(kind: str, outcome: Created | AlreadyOurs) -> Secret | None:
    if kind != "Secret" or not isinstance(outcome, Created):
        return None
    return decode_secret(outcome.body, action=f"create Secret {outcome.identity.name}")


def _lacks_labels(body: bytes, manifest: Mapping[str, Any]) -> bool:
    """Whether the object in an answer lacks a label by which the operator finds its children (lifecycle.md 2)."""
    found, wanted = _OBJECT_DECODER.decode(body).metadata.labels, manifest["metadata"]["labels"]
    return any(found.get(key) != wanted[key] for key in (names.LABEL_OPERATOR_NAME, names.LABEL_JOB_NAME))


def _deleted_identity(answer: Answer, delete: Delete, action: str) -> Identity | None:
    """Return the object's identity if the server answered with it: with a Status it says nothing of a version."""
    identity = decode_identity(answer.body, action=action)
    return identity if identity.uid == delete.uid else None


class _Object(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


_OBJECT_DECODER = msgspec.json.Decoder(_Object)


def _build_secret_repair(action: EnsureSecret) -> Patch:
    return Patch(
        kind="Secret",
        namespace=action.namespace,
        name=action.name,
        patch={"data": build_ssh_secret_data(generate_pair())},
        uid=action.uid,
        resource_version=action.resource_version,
    )
