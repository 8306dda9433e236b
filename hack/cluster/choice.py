"""Which cluster tests and the demo run on: the one that is named, or the best that this machine offers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Literal, get_args

import msgspec

Kind = Literal["existing", "kind", "local"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Choice(msgspec.Struct, frozen=True):
    """The kind of cluster taken, and why, for the line that says so."""

    kind: Kind
    reason: str

    def __str__(self) -> str:
        return f"cluster: {self.kind} ({self.reason})"


def choose(asked: Kind | None, environment: Mapping[str, str], has_kind: Callable[[], str]) -> Choice:
    """Return the cluster to take.

    `asked` (--cluster) wins; else KUBECONFIG, if set, names an existing one; else kind, if `has_kind()` returns no
    reason against it; else the local one.
    """
    if asked is not None:
        return Choice(asked, f"asked for by --cluster={asked}")
    if environment.get("KUBECONFIG"):
        return Choice("existing", f"KUBECONFIG={environment['KUBECONFIG']}")
    against = has_kind()
    if not against:
        return Choice("kind", "kind and a Docker engine are here, and KUBECONFIG is not set")
    return Choice("local", f"KUBECONFIG is not set and {against}")


def reason_against_kind() -> str:
    """Return why kind cannot be used on this machine; empty when it can."""
    if shutil.which("kind") is None:
        return "kind is not on PATH"
    if shutil.which("docker") is None:
        return "docker is not on PATH"
    engine = subprocess.run(["docker", "info"], capture_output=True, check=False)
    return "" if engine.returncode == 0 else "no Docker engine answers"
