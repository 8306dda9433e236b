"""Hands the machine's settings of pip on to pip inside a build. Pure."""

from __future__ import annotations

import re

import msgspec

# Where the build finds the certificates that the machine's pip trusts.
CERTIFICATE_IN_BUILD = "/etc/pip-certificates.crt"

# Settings that say how the package index is reached; folders of this machine do not exist in a build.
_HANDED_ON = ("default-timeout", "extra-index-url", "index-url", "proxy", "retries", "timeout", "trusted-host")

_LINE = re.compile(r"^(?:global|:env:)\.(?P<name>[a-z-]+)='(?P<value>.*)'$")


class PipConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """A pip.conf for a build, and the certificates on this machine that it refers to (empty: pip's own)."""

    text: str
    certificates: str


def build_pip_configuration(listing: str) -> PipConfiguration:
    """Return the build's configuration from what `pip config list` prints; the environment wins."""
    settings: dict[str, str] = {}
    for line in sorted(listing.splitlines(), key=lambda line: line.startswith(":env:")):
        match = _LINE.match(line)
        if match:
            settings[match["name"]] = match["value"]
    lines = [f"{name} = {settings[name]}" for name in _HANDED_ON if name in settings]
    certificates = settings.get("cert", "")
    if certificates:
        lines.append(f"cert = {CERTIFICATE_IN_BUILD}")
    return PipConfiguration(text="\n".join(["[global]", *lines, ""]), certificates=certificates)
