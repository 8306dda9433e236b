"""Which build this is, as `--version`, the user agent and the log's first line say it (B274, B283)."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping

import msgspec

_UNKNOWN = "Not provided."


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """The package's version, and the git revision and time of the build as the image's environment tells them."""

    version: str
    revision: str
    built: str


def read_version(environment: Mapping[str, str]) -> Version:
    """Return the version of the installed package, or of a source tree that was never installed."""
    try:
        version = f"v{importlib.metadata.version('mpi-operator')}"
    except importlib.metadata.PackageNotFoundError:
        version = "v0.0.0"
    return Version(
        version=version,
        revision=environment.get("MPI_OPERATOR_REVISION") or _UNKNOWN,
        built=environment.get("MPI_OPERATOR_BUILT") or _UNKNOWN,
    )


def build_version_text(version: Version) -> str:
    """Return what `--version` prints."""
    system = platform.uname()
    return (
        "API Version: v2\n"
        f"Version: {version.version}\n"
        f"Git SHA: {version.revision}\n"
        f"Built: {version.built}\n"
        f"Python Version: {platform.python_version()}\n"
        f"Platform: {system.system.lower()}/{system.machine}\n"
    )
