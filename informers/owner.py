"""The owner of child objects, as the bookkeeping of writes knows it."""

from __future__ import annotations

import msgspec


class Owner(msgspec.Struct, frozen=True):
    """One incarnation of an owner: its store key (`namespace/name`), and the uid that tells it from a namesake."""

    key: str
    uid: str
