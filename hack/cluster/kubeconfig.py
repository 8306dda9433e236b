"""Kubeconfig files, as JSON (which is YAML)."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from hack.cluster.certificates import KeyPair


def build_kubeconfig(server: str, authority: bytes, user: KeyPair, *, name: str = "local") -> str:
    """Return a self-contained kubeconfig for `server` with the CA and the client certificate embedded."""

    def encoded(data: bytes) -> str:
        return base64.b64encode(data).decode()

    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [
                {"name": name, "cluster": {"server": server, "certificate-authority-data": encoded(authority)}}
            ],
            "users": [
                {
                    "name": name,
                    "user": {
                        "client-certificate-data": encoded(user.certificate),
                        "client-key-data": encoded(user.key),
                    },
                }
            ],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        },
        indent=1,
    )


def write_kubeconfig(path: Path, server: str, authority: bytes, user: KeyPair, *, name: str = "local") -> Path:
    """Write `build_kubeconfig` to `path`, readable by its owner only, and return the path."""
    path.touch(mode=0o600)
    path.write_text(build_kubeconfig(server, authority, user, name=name))
    return path
