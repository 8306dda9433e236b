import os
import subprocess
from typing import Any

import pytest

from hack.cluster import debian
from hack.cluster.debian import ensure_packages, missing_packages
from hack.cluster.errors import ClusterError


def test_only_what_dpkg_calls_installed_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def dpkg(*_: Any, **__: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(
            [], 1, stdout="runc ii \ncontainerd rc \n", stderr="no packages found: iptables"
        )

    monkeypatch.setattr(subprocess, "run", dpkg)
    assert missing_packages(["runc", "containerd", "iptables"]) == ["containerd", "iptables"]


def test_without_dpkg_the_other_ways_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ClusterError, match=r"needs Debian(?s:.*)KUBECONFIG"):
        missing_packages(["runc"])


def test_without_root_the_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "missing_packages", lambda _: ["runc"])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ClusterError, match="missing: runc"):
        ensure_packages(["runc"])


def test_a_failing_apt_is_tried_again_after_an_update_and_then_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def apt(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 100, stdout="", stderr="E: Unable to locate package nonsense")

    monkeypatch.setattr(debian, "missing_packages", lambda _: ["nonsense"])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(subprocess, "run", apt)
    with pytest.raises(ClusterError, match="Unable to locate package nonsense"):
        ensure_packages(["nonsense"], echo=lambda _: None)
    assert ["update" in command for command in commands] == [False, True, False]
