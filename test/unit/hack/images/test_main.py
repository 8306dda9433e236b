"""The command line of the images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hack.cluster.errors import ClusterError
from hack.images import __main__ as command
from hack.images.catalog import DEFAULT_NAMES


def test_load_asks_for_an_address(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["load"])
    assert ended.value.code == 2
    assert "--address" in capsys.readouterr().err


def test_without_names_all_images_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(command, "load_images", lambda names, **options: asked.update(options, names=names))
    assert command.main(["load", "--address", "/run/c.sock", "--pause-reference", "example/pause:1"]) == 0
    assert asked["names"] == DEFAULT_NAMES
    assert asked["containerd_address"] == Path("/run/c.sock")
    assert asked["namespace"] == "k8s.io"
    assert asked["catalog"]["pause"].reference == "example/pause:1"


@pytest.mark.parametrize(
    ("failure", "code", "said"),
    [
        pytest.param(ClusterError("no space left"), 1, "error: no space left", id="a failure is explained"),
        pytest.param(KeyboardInterrupt(), 130, "interrupted", id="an interruption is no traceback"),
    ],
)
def test_failures_end_with_a_sentence_and_a_code(
    failure: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def build_images(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(command, "build_images", build_images)
    assert command.main(["build", "base"]) == code
    assert said in capsys.readouterr().err
