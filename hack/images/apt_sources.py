"""Chooses, from the machine's own apt sources, those that a minimal Debian is made from. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

_ONE_LINE = re.compile(r"^deb\s+(?:\[[^\]]*\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)$")


def _parse_one_line(text: str) -> Iterator[tuple[str, str, str]]:
    for line in text.splitlines():
        match = _ONE_LINE.match(line.split("#", 1)[0].strip())
        if match:
            yield match["uri"], match["suite"], match["components"]


def _parse_fields(paragraph: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in paragraph.splitlines():
        if line.startswith("#"):
            continue
        if line[:1].isspace():
            fields[name] = f"{fields.get(name, '')} {line.strip()}".strip()
        else:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            fields[name] = value.strip()
    return fields


def _parse_deb822(text: str) -> Iterator[tuple[str, str, str]]:
    for paragraph in re.split(r"\n\s*\n", text):
        fields = _parse_fields(paragraph)
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() == "no":
            continue
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                yield uri, suite, fields.get("components", "")


def select_sources(files: Mapping[str, str], suite: str) -> tuple[str, ...]:
    """Return one-line apt sources of `suite`, its updates and its security fixes, component main, each once.

    `files` maps the names of source files (`*.list`, or `*.sources` in deb822 form) to their text. Other suites, such
    as those of third parties, are left out. Empty when the machine knows no source of that suite.
    """
    wanted = {suite, f"{suite}-updates", f"{suite}-security"}
    entries: Iterable[tuple[str, str, str]] = (
        entry
        for name, text in files.items()
        for entry in (_parse_deb822(text) if name.endswith(".sources") else _parse_one_line(text))
    )
    lines = (
        f"deb {uri} {found} main"
        for uri, found, components in entries
        if found in wanted and "main" in components.split()
    )
    return tuple(dict.fromkeys(lines))
