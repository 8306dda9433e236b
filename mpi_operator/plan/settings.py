"""The operator's options that decisions read."""

from __future__ import annotations

from typing import Literal

import msgspec

TtlTarget = Literal["launcher", "mpijob"]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`cluster_domain` (default none, B280) ends host names; `ttl_target` (default launcher) is what a TTL deletes.

    `gang_scheduling` (default none, B276) is the gang scheduler, as the flag names it.
    """

    cluster_domain: str = ""
    ttl_target: TtlTarget = "launcher"
    gang_scheduling: str = ""
