"""Debian packages that the cluster and the images need."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence

from hack.cluster.errors import ClusterError


def missing_packages(packages: Sequence[str]) -> list[str]:
    """Return those of `packages` that are not installed."""
    query = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Abbrev}\n", *packages]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError as error:
        raise ClusterError(
            "dpkg-query is not on this machine: the local cluster needs Debian; use an existing cluster through "
            "KUBECONFIG, or kind, instead"
        ) from error
    installed = {line.split()[0] for line in answer.splitlines() if line.split()[1:2] == ["ii"]}
    return [package for package in packages if package not in installed]


def ensure_packages(packages: Sequence[str], *, echo: Callable[[str], None] = print) -> None:
    """Install what is missing of `packages` with apt-get; nothing happens when all are there.

    Daemons that a package would start are not started. Raises ClusterError with apt's last lines when it fails.
    """
    missing = missing_packages(packages)
    if not missing:
        return
    if os.geteuid() != 0:
        raise ClusterError(f"these Debian packages are missing: {' '.join(missing)}; install them, or run as root")
    echo(f"installing Debian packages: {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    policy = ["-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Use-Pty=0"]
    install = ["apt-get", *policy, "install", "--yes", "--no-install-recommends", *missing]
    # A policy that forbids services keeps the packages' own containerd from starting beside ours.
    install = ["env", "RUNLEVEL=1", *install]
    for attempt, command in enumerate((install, ["apt-get", *policy, "update"], install)):
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if result.returncode == 0 and attempt != 1:
            return
    tail = "\n".join((result.stdout + result.stderr).splitlines()[-10:])
    raise ClusterError(f"apt-get could not install {' '.join(missing)}:\n{tail}")
