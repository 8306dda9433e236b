"""Which object an event is about."""

from __future__ import annotations

import msgspec


class ObjectReference(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A reference to one object, as core/v1 writes it; `namespace` is empty for a cluster-scoped one."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""

    @property
    def identity(self) -> tuple[str, str, str, str, str]:
        """What tells this object from any other, whatever its version: kind, namespace, name, uid, apiVersion."""
        return (self.kind, self.namespace, self.name, self.uid, self.api_version)
