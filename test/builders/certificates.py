"""Certificates for tests of TLS, made on the spot."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class CertificatePair(msgspec.Struct, frozen=True):
    """A certificate with its key, as PEM."""

    certificate: str
    key: str

    def write(self, directory: Path, name: str) -> tuple[Path, Path]:
        """Write both into `directory` and return their paths."""
        certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
        certificate.write_text(self.certificate)
        key.write_text(self.key)
        return certificate, key


class Authority:
    """A certificate authority."""

    def __init__(self, name: str = "authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = _sign(self._name, self._name, self._key.public_key(), self._key, is_authority=True)

    def issue(self, name: str, *, host: str = "") -> CertificatePair:
        """Return a certificate for `name`, for a server on loopback, also called `host`."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = _sign(subject, self._name, key.public_key(), self._key, host=host)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return CertificatePair(certificate, pem.decode())

    def server_context(self, directory: Path, *, host: str = "", wants_client: bool = False) -> ssl.SSLContext:
        """Return the TLS context of a server that this authority vouches for."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate, key = self.issue("server", host=host).write(directory, f"server-{id(self)}")
        context.load_cert_chain(certificate, key)
        if wants_client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=self.certificate)
        return context


def _sign(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    signing_key: ec.EllipticCurvePrivateKey,
    *,
    host: str = "",
    is_authority: bool = False,
) -> str:
    now = datetime.now(UTC)
    names: list[x509.GeneralName] = [x509.DNSName(host)] if host else [x509.IPAddress(ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(signing_key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
