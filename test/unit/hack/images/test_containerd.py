"""Importing into containerd what it does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from hack.cluster.errors import ClusterError
from hack.images import containerd
from hack.images.catalog import DebianRecipe, Image
from hack.images.containerd import CONTENT_LABEL, is_loaded, load_images
from hack.images.plan import Target
from hack.images.recipes import BuiltImage

LISTING = f"""\
REF                  TYPE          DIGEST   SIZE    PLATFORMS   LABELS
example/base:latest  application/x sha256:1 149 MiB linux/amd64 {CONTENT_LABEL}=aaaa,io.cri-containerd.image=managed
example/other:latest application/x sha256:2 149 MiB linux/amd64 -
"""

# Prints what it is asked to do and plays a containerd that knows one image.
CTR = """\
#!/bin/sh
echo "$*" >> "$(dirname "$0")/calls"
[ "$6" != ls ] || [ "$5" != images ] || cat "$(dirname "$0")/listing"
case "$*" in *broken*) echo "connection refused" >&2; exit 1 ;; esac
"""


@pytest.mark.parametrize(
    ("reference", "content_hash", "expected"),
    [
        pytest.param("example/base:latest", "aaaa", True, id="the same content"),
        pytest.param("example/base:latest", "aaa", False, id="another content whose hash begins alike"),
        pytest.param("example/base", "aaaa", False, id="another reference"),
        pytest.param("example/other:latest", "aaaa", False, id="an image without our label"),
    ],
)
def test_an_image_is_recognised_by_reference_and_content(reference: str, content_hash: str, *, expected: bool) -> None:
    assert is_loaded(LISTING, reference, content_hash) is expected


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ctr").write_text(CTR)
    (tmp_path / "ctr").chmod(0o755)
    (tmp_path / "listing").write_text(LISTING)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(containerd, "ensure_packages", lambda packages, echo: None)
    monkeypatch.setattr(containerd, "build_images", lambda names, **_: {name: a_built_image(name) for name in names})
    return tmp_path / "calls"


def a_built_image(name: str) -> BuiltImage:
    image = Image(name=name, reference=f"example/{name}:latest", recipe=DebianRecipe(suite="bookworm"))
    return BuiltImage(target=Target(image=image, content_hash="aaaa"), archive=Path(f"/cache/{name}/image.tar"))


def test_only_what_containerd_lacks_is_imported_and_then_labelled(calls: Path) -> None:
    load_images(["base", "other"], containerd_address=Path("/run/c.sock"), namespace="k8s.io", echo=lambda _: None)
    prefix = "--address /run/c.sock --namespace k8s.io images"
    assert calls.read_text().splitlines() == [
        f"{prefix} ls",
        f"{prefix} import /cache/other/image.tar",
        f"{prefix} label example/other:latest {CONTENT_LABEL}=aaaa",
    ]


def test_a_containerd_that_does_not_answer_is_named(calls: Path) -> None:
    with pytest.raises(ClusterError, match=r"ctr --address /run/broken.sock .* failed: connection refused"):
        load_images(["base"], containerd_address=Path("/run/broken.sock"), echo=lambda _: None)
    assert len(calls.read_text().splitlines()) == 1
