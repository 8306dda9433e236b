"""Which server, trusted how, as whom: what a kubeconfig or a pod's service account says (informers.md 3.7)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import structlog

from clockwork import Clock, SystemClock
from informers.transport.credentials import Credentials, FixedCredentials, RefreshedCredentials, TokenFile
from informers.transport.exec_plugin import ExecPlugin
from informers.transport.proxy import choose_proxy

_LOG = structlog.get_logger(__name__)
_WRONG_SHAPE = (TypeError, AttributeError, KeyError)
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ConfigurationError(Exception):
    """No server can be found, or not as whom to talk to it; the text says where it was sought and what to do."""


class ServerConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """One server and one identity.

    Files are paths, "" for none: without `ca_file` the system's certificate authorities are trusted. `server_name`
    takes the place of the URL's host in TLS. `proxy` is the proxy's URL, None to go directly.
    """

    url: str
    credentials: Credentials = FixedCredentials({})
    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""
    verify: bool = True
    server_name: str = ""
    proxy: str | None = None


def load_configuration(
    *,
    kubeconfig: str = "",
    context: str = "",
    master: str = "",
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
    clock: Clock | None = None,
    credential_plugin_timeout: float = 30.0,
) -> ServerConfiguration:
    """Return the configuration of the first that there is: `kubeconfig`, $KUBECONFIG, the pod's service account.

    `master` overrides the server's URL; with nothing else it is all there is, without credentials. Reads files, logs
    what was found, and raises ConfigurationError. Loading the `kubernetes` package is put off until here, because it
    takes 20 MB and some tenths of a second.
    """
    clock = clock or SystemClock()
    path = kubeconfig or environ.get("KUBECONFIG", "")
    if path:
        found = _load_kubeconfig(path, context, clock, credential_plugin_timeout)
    elif environ.get("KUBERNETES_SERVICE_HOST"):
        found = _load_service_account(environ, service_account, clock)
    elif master:
        found = ServerConfiguration(url=master)
    else:
        raise ConfigurationError(
            "no API server is known: found neither a kubeconfig (--kubeconfig or $KUBECONFIG) nor a pod's service "
            "account ($KUBERNETES_SERVICE_HOST); name one of them, or the server's URL with --master"
        )
    url = (master or found.url).rstrip("/")
    proxy, why = choose_proxy(url, found.proxy, environ)
    _LOG.info("found the API server", url=url, kubeconfig=path or None, proxy=_without_password(proxy), because=why)
    return msgspec.structs.replace(found, url=url, proxy=proxy)


def _load_service_account(environ: Mapping[str, str], directory: Path, clock: Clock) -> ServerConfiguration:
    incluster_config = import_module("kubernetes.config.incluster_config")
    token, authority = directory / "token", directory / "ca.crt"
    found = import_module("kubernetes.client.configuration").Configuration()
    try:
        incluster_config.InClusterConfigLoader(
            token_filename=str(token), cert_filename=str(authority), try_refresh_token=False, environ=environ
        ).load_and_set(found)
    except (incluster_config.ConfigException, OSError) as error:
        raise ConfigurationError(f"the pod's service account in {directory} cannot be used: {error}") from error
    return ServerConfiguration(url=found.host, credentials=TokenFile(token, clock), ca_file=str(authority))


def _load_kubeconfig(path: str, context: str, clock: Clock, plugin_timeout: float) -> ServerConfiguration:
    kube_config = import_module("kubernetes.config.kube_config")
    # The last three are what the loader makes of YAML in another shape than a kubeconfig's.
    unusable = (kube_config.ConfigException, kube_config.yaml.YAMLError, OSError, ValueError, *_WRONG_SHAPE)
    found = import_module("kubernetes.client.configuration").Configuration()
    try:
        merged = kube_config.KubeConfigMerger(path).config
        if merged is None:
            raise ConfigurationError(f"there is no kubeconfig at {path}")
        chosen = merged["contexts"].get_with_name(context or merged["current-context"])["context"]
        cluster = merged["clusters"].get_with_name(chosen["cluster"])["cluster"]
        user = _find_user(merged, chosen)
        # Rotation and plugins are ours: the loader is given what is left.
        credentials = _take_credentials(user, cluster, clock, plugin_timeout)
        kube_config.KubeConfigLoader(
            config_dict=merged, active_context=context or None, config_base_path=None
        ).load_and_set(found)
    except unusable as error:
        raise ConfigurationError(f"the kubeconfig at {path} cannot be used: {error}") from error
    return ServerConfiguration(
        url=found.host,
        credentials=credentials or _build_loaded_credentials(found, user),
        ca_file=found.ssl_ca_cert or "",
        certificate_file=found.cert_file or "",
        key_file=found.key_file or "",
        verify=bool(found.verify_ssl),
        server_name=getattr(found, "tls_server_name", None) or "",
        proxy=cluster.safe_get("proxy-url"),
    )


def _find_user(merged: Any, chosen: Any) -> Any:  # noqa: ANN401 - the kubernetes package is untyped
    if not chosen.safe_get("user") or not merged.safe_get("users"):
        return None
    named = merged["users"].get_with_name(chosen["user"], safe=True)
    return named["user"] if named is not None and named.safe_get("user") else None


def _take_credentials(user: Any, cluster: Any, clock: Clock, plugin_timeout: float) -> Credentials | None:  # noqa: ANN401 - as above
    """Remove and return the credentials that change by themselves; None when there are none of them."""
    if user is None:
        return None
    directory = Path(user.path or ".").absolute().parent
    if "as" in user:
        raise ConfigurationError("impersonation (`as`) is not supported: use the credentials of the account itself")
    if token_file := user.value.pop("tokenFile", None):
        return TokenFile(directory / token_file, clock)
    if plugin := user.value.pop("exec", None):
        if user.safe_get("token"):
            return None
        return ExecPlugin(plugin, dict(cluster.value), directory, clock, timeout_seconds=plugin_timeout)
    return None


def _build_loaded_credentials(found: Any, user: Any) -> Credentials:  # noqa: ANN401 - as above
    header = found.api_key.get("BearerToken")
    if header and user is not None and "auth-provider" in user:
        return RefreshedCredentials(found)
    return FixedCredentials({"Authorization": header} if header else {})


def _without_password(url: str | None) -> str | None:
    return url if url is None or "@" not in url else f"{url.partition('://')[0]}://…@{url.rpartition('@')[2]}"
