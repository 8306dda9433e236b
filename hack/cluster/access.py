"""One way to use a cluster, whichever it is: its kubeconfig, kubectl, and images."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from hack.cluster.choice import Choice
from hack.cluster.errors import ClusterError
from hack.cluster.go_programs import KUBERNETES, Echo, build_program
from hack.cluster.local import start_cluster
from hack.images.build import build_images
from hack.images.containerd import load_images

KIND_NAME = "mpi-operator"


class Access(msgspec.Struct, frozen=True):
    """A running cluster as its administrator sees it; safe from any thread."""

    choice: Choice
    kubeconfig: Path
    kubectl_path: Path
    containerd_address: Path | None = None

    def env(self) -> dict[str, str]:
        """Return this process's environment with KUBECONFIG, and the cluster's kubectl first on PATH."""
        path = f"{self.kubectl_path.parent}:{os.environ['PATH']}"
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "PATH": path}

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl and return what it prints; raise ClusterError with its error output when it fails."""
        result = subprocess.run(
            [str(self.kubectl_path), *arguments],
            input=stdin,
            env=self.env(),
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise ClusterError(
                f"`kubectl {' '.join(arguments)}` exited with {result.returncode}: {result.stderr.strip()}"
            )
        return result.stdout

    def load_images(self, names: Sequence[str], *, echo: Echo = print) -> None:
        """Build what is missing of the images `names` and make them known to the cluster's nodes.

        An existing cluster is left alone: it pulls the images by their public names.
        """
        if self.containerd_address is not None:
            load_images(names, containerd_address=self.containerd_address, echo=echo)
        elif self.choice.kind == "kind":
            for image in build_images(names, echo=echo).values():
                echo(f"loading {image.target.image.reference} into kind")
                subprocess.run(["kind", "load", "image-archive", str(image.archive), "--name", KIND_NAME], check=True)


def open_cluster(choice: Choice, environment: Mapping[str, str] = os.environ, *, echo: Echo = print) -> Access:
    """Return access to the chosen cluster, starting it where it is ours to start."""
    match choice.kind:
        case "existing":
            return _existing(choice, environment)
        case "kind":
            return _kind(choice)
        case "local":
            return _local(choice, echo)


def _existing(choice: Choice, environment: Mapping[str, str]) -> Access:
    kubeconfig = Path(environment.get("KUBECONFIG") or Path.home() / ".kube" / "config")
    if not kubeconfig.is_file():
        raise ClusterError(f"{kubeconfig} is not a file: set KUBECONFIG to the kubeconfig of the cluster to use")
    return Access(choice, kubeconfig, _kubectl_on_path())


def _kubectl_on_path() -> Path:
    found = shutil.which("kubectl")
    if found is None:
        raise ClusterError("kubectl is not on PATH: install the version of your cluster")
    return Path(found)


def _kind(choice: Choice) -> Access:
    from pytest_kind import KindCluster  # noqa: PLC0415 - drags in a client that nothing else here needs

    kind = shutil.which("kind")
    if kind is None:
        raise ClusterError("kind is not on PATH: install it, or use --cluster=local")
    kubectl = _kubectl_on_path()
    cluster = KindCluster(KIND_NAME, kind_path=Path(kind), kubectl_path=kubectl)
    cluster.create()
    return Access(choice, Path(cluster.kubeconfig_path).resolve(), kubectl)


def _local(choice: Choice, echo: Echo) -> Access:
    state = start_cluster(echo=echo)
    load_images(["pause"], containerd_address=state.node.containerd_address, echo=echo)
    kubectl = build_program(KUBERNETES, echo=echo) / "kubectl"
    return Access(choice, state.node.kubeconfig("admin"), kubectl, state.node.containerd_address)
