"""Which of the machine's apt sources a minimal Debian is made from."""

from __future__ import annotations

import pytest

from hack.images.apt_sources import select_sources

DEB822 = """\
Types: deb
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb deb-src
URIs: http://mirror.example/security
Suites: bookworm-security
Components: main
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param(
            "debian.sources",
            DEB822,
            (
                "deb http://mirror.example/debian bookworm main",
                "deb http://mirror.example/debian bookworm-updates main",
                "deb http://mirror.example/security bookworm-security main",
            ),
            id="paragraphs with several suites each",
        ),
        pytest.param(
            "sources.list",
            "deb [signed-by=/a.gpg arch=amd64] http://mirror.example/debian bookworm main non-free # why\n",
            ("deb http://mirror.example/debian bookworm main",),
            id="a line with options, other components and a comment",
        ),
        pytest.param("sources.list", "# deb http://mirror.example/debian bookworm main\n", (), id="a disabled line"),
        pytest.param(
            "debian.sources",
            "Enabled: no\nTypes: deb\nURIs: http://mirror.example\nSuites: bookworm\nComponents: main\n",
            (),
            id="a disabled paragraph",
        ),
        pytest.param(
            "sources.list", "deb-src http://mirror.example/debian bookworm main\n", (), id="sources of sources"
        ),
        pytest.param(
            "third.list",
            "deb http://third.example nodistro main\ndeb http://third.example bookworm-pgdg main\n",
            (),
            id="third parties",
        ),
        pytest.param("backports.list", "deb http://mirror.example bookworm-backports main\n", (), id="backports"),
        pytest.param("contrib.list", "deb http://mirror.example bookworm contrib\n", (), id="a source without main"),
        pytest.param(
            "debian.sources",
            "Types: deb\nURIs:\n http://one.example\n http://two.example\nSuites: bookworm\nComponents: main\n",
            ("deb http://one.example bookworm main", "deb http://two.example bookworm main"),
            id="a field over several lines",
        ),
    ],
)
def test_debians_own_suites_are_taken_and_nothing_else(name: str, text: str, expected: tuple[str, ...]) -> None:
    assert select_sources({name: text}, "bookworm") == expected


def test_a_source_named_twice_is_taken_once() -> None:
    line = "deb http://mirror.example/debian bookworm main\n"
    assert select_sources({"a.list": line, "b.list": line}, "bookworm") == (line.strip(),)
