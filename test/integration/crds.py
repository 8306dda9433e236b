"""Waiting for CRDs to be served."""

from __future__ import annotations

import subprocess

from hack.cluster.component import await_true
from hack.cluster.control_plane import ControlPlane

LIMIT_SECONDS = 30.0


def await_crds(plane: ControlPlane) -> None:
    """Wait until all CRDs are established; asked again and again, as kubectl gives up on one without conditions yet."""
    command = ["kubectl", "wait", "--for=condition=Established", "crd", "--all", f"--timeout={LIMIT_SECONDS:.0f}s"]
    await_true(
        lambda: subprocess.run(command, env=plane.env(), check=False, capture_output=True).returncode == 0,
        LIMIT_SECONDS,
        lambda: AssertionError("the CRDs are not established"),
    )
