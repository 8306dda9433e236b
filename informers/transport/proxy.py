"""Whether to go through a proxy, decided once (informers.md 3.6 row 20)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit


def choose_proxy(url: str, configured: str | None, environ: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the proxy for the server at `url`, None to go directly, and in words why.

    A kubeconfig's proxy-url comes first, and is used always; then $HTTPS_PROXY (or $HTTP_PROXY for plain http), unless
    $NO_PROXY covers the server. Names in lower case come before those in upper case.
    """
    if configured:
        return configured, "proxy-url in the kubeconfig"
    variable = "https_proxy" if url.startswith("https") else "http_proxy"
    proxy = _variable(environ, variable)
    if not proxy:
        return None, f"${variable.upper()} is not set"
    if (entry := find_bypass(url, _variable(environ, "no_proxy"))) is not None:
        return None, f"{entry} is in $NO_PROXY" if entry else "the server is on this host"
    return (proxy if "://" in proxy else f"http://{proxy}"), f"${variable.upper()}"


def find_bypass(url: str, no_proxy: str) -> str | None:
    """Return the entry of `no_proxy` that covers the server, "" for a server on this host, None if none does.

    Entries are host names (which cover their subdomains; with a leading dot only these), addresses, networks in CIDR
    notation, each of the first two with or without a port, or `*`.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    port = str(parts.port or (443 if parts.scheme == "https" else 80))
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return ""
    for entry in (part.strip().lower() for part in no_proxy.split(",")):
        if entry and (entry == "*" or _covers(entry, host, port, address)):
            return entry
    return None


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _covers(entry: str, host: str, port: str, address: _Address | None) -> bool:
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, _, entry_port = entry.rpartition(":") if entry.count(":") == 1 or "]:" in entry else (entry, "", "")
    if entry_port and entry_port != port:
        return False
    name = name.strip("[]").removeprefix("*")
    if address is not None:
        return _address(name) == address
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _address(text: str) -> _Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.upper(), "")
