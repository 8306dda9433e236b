"""As whom a request is made, and how that is kept fresh (informers.md 3.6 row 18)."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from clockwork import Clock
from informers.errors import Unauthorized

Headers = Mapping[str, str]
CHECK_INTERVAL_SECONDS = 60.0


class Certificate(Protocol):
    """A client certificate with its key, both PEM; equal certificates compare equal."""

    @property
    def certificate(self) -> str:
        """The chain."""
        ...

    @property
    def key(self) -> str:
        """The private key."""
        ...


class Credentials(Protocol):
    """An identity. Safe from any thread; what blocks is bounded."""

    def headers(self) -> Headers:
        """Return the headers that prove it now; raise Unauthorized when there is no proof to be had."""
        ...

    def certificate(self) -> Certificate | None:
        """Return the client certificate that goes with the headers, if it is not in a file."""
        ...

    def refresh(self, rejected: Headers) -> bool:
        """After a 401 to `rejected`: get a fresh proof, and return whether a repetition makes sense."""
        ...


class FixedCredentials:
    """Headers that never change; none at all for an anonymous client, or one with a certificate file."""

    def __init__(self, headers: Headers) -> None:
        self._headers = dict(headers)

    def headers(self) -> Headers:
        """Return the headers."""
        return self._headers

    def certificate(self) -> Certificate | None:
        """Return None."""
        return None

    def refresh(self, rejected: Headers) -> bool:  # noqa: ARG002 - there is nothing to compare
        """Return False: what was rejected once will be again."""
        return False


class TokenFile:
    """A bearer token in a file that someone rotates, as the kubelet does.

    The file is looked at when a request is made and 60 s have passed, and read when its mtime has changed; after a 401
    it is read at once. When it cannot be read, the last token is used further: it may still be good.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._token = ""
        self._modified = -1.0
        self._checked_at = float("-inf")

    def headers(self) -> Headers:
        """Return the Authorization header with the current token; raise Unauthorized when there never was one."""
        with self._lock:
            if self._clock.monotonic() - self._checked_at >= CHECK_INTERVAL_SECONDS:
                self._read(only_if_modified=True)
            return {"Authorization": f"Bearer {self._token}"}

    def certificate(self) -> Certificate | None:
        """Return None."""
        return None

    def refresh(self, rejected: Headers) -> bool:
        """Read the file anew, unless another thread did; return True."""
        with self._lock:
            if rejected == {"Authorization": f"Bearer {self._token}"}:
                self._read(only_if_modified=False)
        return True

    def _read(self, *, only_if_modified: bool) -> None:
        try:
            modified = self._path.stat().st_mtime
            if only_if_modified and modified == self._modified and self._token:
                self._checked_at = self._clock.monotonic()
                return
            token = self._path.read_text().strip()
        except OSError as error:
            if not self._token:
                raise Unauthorized(f"the token file {self._path} cannot be read: {error}") from error
            return
        if not token and not self._token:
            raise Unauthorized(f"the token file {self._path} is empty: found no token, expected one")
        self._token = token or self._token
        self._modified = modified
        self._checked_at = self._clock.monotonic()


class RefreshedCredentials:
    """A token that the `kubernetes` package renews: of an auth provider such as OIDC."""

    def __init__(self, configuration: Any) -> None:  # noqa: ANN401 - the kubernetes package is untyped
        self._configuration = configuration
        self._lock = threading.Lock()

    def headers(self) -> Headers:
        """Return the Authorization header; raise Unauthorized when the provider fails."""
        with self._lock:
            try:
                self._configuration.refresh_api_key_hook(self._configuration)
            except Exception as error:
                # A provider's plugin may raise anything.
                raise Unauthorized(f"the kubeconfig's auth provider failed: {error}") from error
            return {"Authorization": self._configuration.api_key["BearerToken"]}

    def certificate(self) -> Certificate | None:
        """Return None."""
        return None

    def refresh(self, rejected: Headers) -> bool:
        """Return whether the provider has another token by now."""
        return self.headers() != rejected
