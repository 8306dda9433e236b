"""One TLS context for all connections, made anew when the files that it came from change (informers.md 3.6 row 21)."""

from __future__ import annotations

import ssl
import tempfile
import threading
from pathlib import Path

from clockwork import Clock
from informers.errors import ConnectionLost
from informers.transport.configuration import ServerConfiguration
from informers.transport.credentials import CHECK_INTERVAL_SECONDS, Certificate


class TlsContexts:
    """Keeps the context that goes with the files and the certificate of now. Safe from any thread."""

    def __init__(self, configuration: ServerConfiguration, clock: Clock) -> None:
        self._configuration = configuration
        self._clock = clock
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._certificate: Certificate | None = None
        self._modified: tuple[float, ...] = ()
        self._checked_at = float("-inf")

    def current(self, certificate: Certificate | None) -> ssl.SSLContext:
        """Return the context: a new object if and only if a file, looked at once a minute, or the certificate changed.

        Raises ConnectionLost when the files cannot be used and there is no earlier context.
        """
        with self._lock:
            now = self._clock.monotonic()
            if self._context is not None and certificate == self._certificate:
                if now - self._checked_at < CHECK_INTERVAL_SECONDS:
                    return self._context
                self._checked_at = now
                if self._modification_times() == self._modified:
                    return self._context
            return self._rebuild(certificate, now)

    def _rebuild(self, certificate: Certificate | None, now: float) -> ssl.SSLContext:
        modified = self._modification_times()
        try:
            context = _build_context(self._configuration, certificate)
        except (OSError, ValueError) as error:
            if self._context is not None and certificate == self._certificate:
                # Half of a rotation: the pair does not match yet. The next look finds the rest.
                return self._context
            raise ConnectionLost(f"the TLS files of {self._configuration.url} cannot be used: {error}") from error
        self._context, self._certificate, self._modified, self._checked_at = context, certificate, modified, now
        return context

    def expire(self) -> None:
        """Look at the files at the next request, as is wise after a failed handshake."""
        with self._lock:
            self._checked_at = float("-inf")

    def _modification_times(self) -> tuple[float, ...]:
        files = (self._configuration.ca_file, self._configuration.certificate_file, self._configuration.key_file)
        return tuple(_modification_time(Path(file)) for file in files if file)


def _modification_time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _build_context(configuration: ServerConfiguration, certificate: Certificate | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ca_file or None)
    # Python 3.13 turned this on; Kubernetes' own CAs often lack what it asks for, and Go does not ask for it.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not configuration.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        _load_certificate(context, certificate)
    elif configuration.certificate_file:
        context.load_cert_chain(configuration.certificate_file, configuration.key_file or None)
    return context


def _load_certificate(context: ssl.SSLContext, certificate: Certificate) -> None:
    # The ssl module reads certificates from files only; this one is readable by its owner alone, and gone at once.
    with tempfile.NamedTemporaryFile(mode="w", suffix=".pem") as file:
        file.write(f"{certificate.certificate.strip()}\n{certificate.key.strip()}\n")
        file.flush()
        context.load_cert_chain(file.name)
