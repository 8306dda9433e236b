"""An API that keeps objects in memory: enough of a server to create, read and patch single objects."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from clockwork import StopToken
from informers.api import STRATEGIC_MERGE_PATCH, Answer, LineStream
from informers.errors import AlreadyExists, Conflict, NotFound

Manifest = dict[str, Any]


class ObjectServer:
    """Implements `informers.api.Api` for one object at a time.

    `before` runs before each request and may raise what the server should answer; `after` runs after the request took
    effect and may raise what becomes of its answer on the way. `requests` lists method and path.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Manifest] = {}
        self.requests: list[tuple[str, str]] = []
        self.before: Callable[[str, str], None] = lambda _method, _path: None
        self.after: Callable[[str, str], None] = lambda _method, _path: None
        self._version = 0

    def put(self, path: str, manifest: Manifest) -> Manifest:
        """Store an object as the server would; give it a uid and a version."""
        self._version += 1
        metadata = {"uid": f"uid-{self._version}", **manifest["metadata"], "resourceVersion": str(self._version)}
        self.objects[path] = {**manifest, "metadata": metadata}
        return self.objects[path]

    def request(self, method: str, path: str, *, body: bytes | None = None, content_type: str = "", **_: Any) -> Answer:
        self.requests.append((method, path))
        self.before(method, path)
        manifest = msgspec.json.decode(body or b"{}")
        if method == "POST":
            answer = self._create(path, manifest)
        elif method == "PATCH":
            assert content_type == STRATEGIC_MERGE_PATCH
            answer = self._patch(path, manifest)
        else:
            answer = self._get(path)
        self.after(method, path)
        return Answer(200, msgspec.json.encode(answer))

    def stream(self, path: str, *, stop: StopToken, **_: Any) -> AbstractContextManager[LineStream]:
        raise NotImplementedError(path)

    def _create(self, path: str, manifest: Manifest) -> Manifest:
        path = f"{path}/{manifest['metadata']['name']}"
        if path in self.objects:
            raise AlreadyExists("the name is taken", code=409)
        return self.put(path, manifest)

    def _get(self, path: str) -> Manifest:
        if path not in self.objects:
            raise NotFound("no such object", code=404)
        return self.objects[path]

    def _patch(self, path: str, patch: Manifest) -> Manifest:
        metadata = self._get(path)["metadata"]
        if patch["metadata"]["uid"] != metadata["uid"]:
            raise Conflict("the uid in the precondition is not the object's", code=409)
        owners = {owner["uid"]: owner for owner in metadata.get("ownerReferences", [])}
        for owner in patch["metadata"]["ownerReferences"]:
            if owner.get("$patch") == "delete":
                owners.pop(owner["uid"], None)
            else:
                owners[owner["uid"]] = owner
        return self.put(
            path, {**self.objects[path], "metadata": {**metadata, "ownerReferences": list(owners.values())}}
        )
