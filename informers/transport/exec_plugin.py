"""Credentials that a program hands out: the `exec` section of a kubeconfig (informers.md 3.6 row 19)."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from clockwork import Clock
from informers.errors import Unauthorized
from informers.transport.credentials import Headers

EXPIRY_MARGIN = timedelta(seconds=60)
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_STDERR_SHOWN = 500


class PluginStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What a plugin answers: a token, or a client certificate with its key, or both, and until when."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class PluginCertificate(msgspec.Struct, frozen=True):
    """A client certificate that a plugin handed out."""

    certificate: str
    key: str


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    status: PluginStatus


class ExecPlugin:
    """Runs the plugin when there are no credentials, from a minute before they expire, and after a 401.

    One run at a time, bounded by `timeout_seconds`; other threads wait for it and share its result. A run that fails
    raises Unauthorized, with the end of what the program wrote. The program gets no terminal.
    """

    def __init__(
        self,
        spec: Mapping[str, Any],
        cluster: Mapping[str, Any],
        directory: Path,
        clock: Clock,
        *,
        timeout_seconds: float = 30.0,
    ) -> None:
        self._spec = spec
        self._cluster = cluster
        self._directory = directory
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._lock = threading.Lock()
        self._status: PluginStatus | None = None

    def headers(self) -> Headers:
        """Return the Authorization header, or none when the plugin gave only a certificate."""
        return _build_headers(self._current())

    def certificate(self) -> PluginCertificate | None:
        """Return the client certificate, if the plugin gave one."""
        status = self._current()
        if not status.client_certificate_data:
            return None
        return PluginCertificate(status.client_certificate_data, status.client_key_data)

    def refresh(self, rejected: Headers) -> bool:
        """Run the plugin again, unless another thread did since `rejected` was made; return True."""
        with self._lock:
            if self._status is not None and rejected == _build_headers(self._status):
                self._status = self._run()
        return True

    def _current(self) -> PluginStatus:
        with self._lock:
            if self._status is None or self._is_expiring(self._status):
                self._status = self._run()
            return self._status

    def _is_expiring(self, status: PluginStatus) -> bool:
        expires = status.expiration_timestamp
        return expires is not None and self._clock.wall() >= expires - EXPIRY_MARGIN

    def _run(self) -> PluginStatus:
        command = [self._resolve_command(), *(self._spec.get("args") or ())]
        try:
            ended = subprocess.run(  # noqa: S603 - to run this program is what the kubeconfig asks for
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=self._timeout_seconds,
                env=self._build_environment(),
            )
        except subprocess.TimeoutExpired as error:
            raise Unauthorized(
                f"the credential plugin {command[0]!r} did not end within {self._timeout_seconds:g} s"
            ) from error
        except OSError as error:
            hint = self._spec.get("installHint") or "install it, or correct the kubeconfig's exec.command"
            raise Unauthorized(f"the credential plugin {command[0]!r} cannot be run: {error}; {hint}") from error
        if ended.returncode != 0:
            output = ended.stderr.decode(errors="replace").strip()[-_STDERR_SHOWN:]
            raise Unauthorized(f"the credential plugin {command[0]!r} exited with {ended.returncode}: {output}")
        return self._decode(command[0], ended.stdout)

    def _resolve_command(self) -> str:
        command = str(self._spec.get("command") or "")
        is_path = os.sep in command
        return str(self._directory / command) if is_path else command

    def _build_environment(self) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": False}
        if self._spec.get("provideClusterInfo"):
            spec["cluster"] = _build_cluster_info(self._cluster)
        information = {"apiVersion": self._spec.get("apiVersion"), "kind": "ExecCredential", "spec": spec}
        return {
            **os.environ,
            **{str(each["name"]): str(each["value"]) for each in self._spec.get("env") or ()},
            "KUBERNETES_EXEC_INFO": msgspec.json.encode(information).decode(),
        }

    def _decode(self, command: str, output: bytes) -> PluginStatus:
        try:
            credential = msgspec.json.decode(output, type=_ExecCredential)
        except msgspec.MsgspecError as error:
            raise Unauthorized(f"the credential plugin {command!r} wrote no ExecCredential: {error}") from error
        status = credential.status
        if credential.api_version != self._spec.get("apiVersion"):
            raise Unauthorized(
                f"the credential plugin {command!r} answered in {credential.api_version}, "
                f"the kubeconfig asks for {self._spec.get('apiVersion')}"
            )
        if not status.token and not (status.client_certificate_data and status.client_key_data):
            raise Unauthorized(
                f"the credential plugin {command!r} gave neither a token nor a client certificate with its key"
            )
        return status


def _build_headers(status: PluginStatus) -> Headers:
    return {"Authorization": f"Bearer {status.token}"} if status.token else {}


def _build_cluster_info(cluster: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cluster as an ExecCredential's spec shows it to the plugin."""
    names = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url")
    information = {name: cluster[name] for name in names if cluster.get(name) is not None}
    for extension in cluster.get("extensions") or ():
        if extension.get("name") == _EXEC_EXTENSION:
            information["config"] = extension.get("extension")
    return information
