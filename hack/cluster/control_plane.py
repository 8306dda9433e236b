"""A bare control plane: etcd and kube-apiserver on loopback, up in about two seconds, for integration tests.

No kubelet, scheduler or controller runs: what happens to pods and Jobs is the test's to decide. Nothing is garbage
collected, and namespaces stay Terminating. Any number can run at once, each on free ports in a temporary folder.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from hack.cluster.certificates import Authority, signing_key
from hack.cluster.component import Component, is_healthy
from hack.cluster.go_programs import KUBERNETES, Echo, build_program
from hack.cluster.kubeconfig import write_kubeconfig

ADMIN = "local-admin"
ADMIN_GROUPS = ("system:masters",)
READY_SECONDS = 60.0
_LOOPBACK = "127.0.0.1"


class Options(msgspec.Struct, frozen=True):
    """How the API server is started.

    `audited_users`: whose requests are written to the audit log (metadata level); None means everybody's, and the
    empty tuple nobody's. `service_accounts`: whether the admission plugin that wants every pod's service account to
    exist is on. `enabled_admission`: further admission plugins. `flags`: further flags of the API server.
    """

    audited_users: tuple[str, ...] | None = ()
    service_accounts: bool = False
    enabled_admission: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def free_ports(count: int) -> list[int]:
    """Return `count` different ports that were free a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((_LOOPBACK, 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def build_audit_policy(users: tuple[str, ...] | None) -> str:
    """Return an audit policy, as JSON, that logs the completed requests of `users` (None: of everybody)."""
    rules: list[dict[str, Any]]
    if users is None:
        rules = [{"level": "Metadata"}]
    elif users:
        rules = [{"level": "Metadata", "users": list(users)}, {"level": "None"}]
    else:
        rules = [{"level": "None"}]
    return json.dumps(
        {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived", "ResponseStarted"],
            "rules": rules,
        }
    )


class ControlPlane:
    """etcd and kube-apiserver; a context manager that leaves no process and no folder behind.

    To be entered in a thread that outlives it (the main thread of a test run), since the kernel ends both programs
    with the thread that started them. `kubeconfig` and `env()` are the administrator's.
    """

    def __init__(self, options: Options = Options(), *, echo: Echo = print) -> None:  # noqa: B008 - frozen
        self._options = options
        self._echo = echo
        self._components: list[Component] = []
        self._flags: list[str] = []
        self._authority = Authority()
        self.directory = Path()
        self.port = 0

    @property
    def server(self) -> str:
        """The API server's URL."""
        return f"https://{_LOOPBACK}:{self.port}"

    @property
    def audit_log(self) -> Path:
        """The audit log; it exists after the first audited request."""
        return self.directory / "audit.log"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.directory / f"{ADMIN}.kubeconfig"

    def __enter__(self) -> Self:
        programs = build_program(KUBERNETES, echo=self._echo)
        self.directory = Path(tempfile.mkdtemp(prefix="control-plane-"))
        try:
            self._start(programs)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for component in reversed(self._components):
            component.stop()
        self._components.clear()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _start(self, programs: Path) -> None:
        etcd_port, peer_port, self.port = free_ports(3)
        etcd_url = f"http://{_LOOPBACK}:{etcd_port}"
        etcd = self._spawn("etcd", programs, etcd_flags(self.directory / "etcd", etcd_url, _LOOPBACK, peer_port))
        self._flags = self._apiserver_flags(etcd_url)
        self.user_kubeconfig(ADMIN, ADMIN_GROUPS)
        self._start_apiserver(programs)
        etcd.await_ready(lambda: is_healthy(_LOOPBACK, etcd_port, "/health", tls=False), READY_SECONDS)

    def _start_apiserver(self, programs: Path) -> None:
        apiserver = self._spawn("kube-apiserver", programs, self._flags)
        apiserver.await_ready(lambda: is_healthy(_LOOPBACK, self.port, "/readyz"), READY_SECONDS)

    def restart_apiserver(self) -> None:
        """Stop the API server and start it again on the same port and data; connections break, objects stay."""
        apiserver = self._components.pop()
        apiserver.stop()
        self._start_apiserver(build_program(KUBERNETES, echo=self._echo))

    def _spawn(self, name: str, programs: Path, flags: Sequence[str]) -> Component:
        component = Component(name, [str(programs / name), *flags], self.directory / f"{name}.log")
        self._components.append(component)
        return component

    def _apiserver_flags(self, etcd_url: str) -> list[str]:
        (self.directory / "audit.json").write_text(build_audit_policy(self._options.audited_users))
        flags = [
            *apiserver_flags(self.directory, self._authority, etcd_url, _LOOPBACK, self.port),
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.96.0.0/16",
            f"--audit-policy-file={self.directory}/audit.json",
            f"--audit-log-path={self.audit_log}",
        ]
        if self._options.enabled_admission:
            flags.append(f"--enable-admission-plugins={','.join(self._options.enabled_admission)}")
        if not self._options.service_accounts:
            flags.append("--disable-admission-plugins=ServiceAccount")
        return [*flags, *self._options.flags]

    def user_kubeconfig(self, user: str, groups: Sequence[str] = ()) -> Path:
        """Write (again) and return a kubeconfig that authenticates as `user` in `groups` by client certificate.

        A service account is the user `system:serviceaccount:<namespace>:<name>`, with the groups
        `system:serviceaccounts` and `system:serviceaccounts:<namespace>`.
        """
        path = self.directory / f"{user.replace(':', '-')}.kubeconfig"
        return write_kubeconfig(path, self.server, self._authority.certificate, self._authority.client(user, groups))

    def env(self) -> dict[str, str]:
        """Return this process's environment with KUBECONFIG and the matching kubectl first on PATH."""
        programs = build_program(KUBERNETES, echo=self._echo)
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "PATH": f"{programs}:{os.environ['PATH']}"}

    def audit_events(self) -> Iterator[dict[str, Any]]:
        """Yield the audited requests so far, as the API server logged them."""
        if self.audit_log.exists():
            for line in self.audit_log.read_text().splitlines():
                yield json.loads(line)


def etcd_flags(data: Path, client_url: str, address: str, peer_port: int) -> list[str]:
    """Return the flags of an etcd that does not wait for the disk: its data is not worth keeping."""
    return [
        f"--data-dir={data}",
        "--unsafe-no-fsync",
        "--log-level=warn",
        f"--listen-client-urls={client_url}",
        f"--advertise-client-urls={client_url}",
        f"--listen-peer-urls=http://{address}:{peer_port}",
        f"--initial-advertise-peer-urls=http://{address}:{peer_port}",
        f"--initial-cluster=default=http://{address}:{peer_port}",
    ]


def apiserver_flags(directory: Path, authority: Authority, etcd_url: str, address: str, port: int) -> list[str]:
    """Write the API server's certificates and keys to `directory` and return the flags that every one here shares."""
    (directory / "ca.crt").write_bytes(authority.certificate)
    serving, serving_key = authority.server(
        "kube-apiserver",
        sorted({address, _LOOPBACK, "10.96.0.1"}),
        [
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
        ],
    ).write(directory, "apiserver")
    accounts = directory / "service-accounts.key"
    accounts.touch(mode=0o600)
    accounts.write_bytes(signing_key())
    return [
        f"--etcd-servers={etcd_url}",
        f"--bind-address={address}",
        f"--secure-port={port}",
        f"--tls-cert-file={serving}",
        f"--tls-private-key-file={serving_key}",
        f"--client-ca-file={directory}/ca.crt",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={accounts}",
        f"--service-account-signing-key-file={accounts}",
        "--max-requests-inflight=2000",
        "--max-mutating-requests-inflight=1000",
    ]
