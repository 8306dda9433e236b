"""A certificate authority for one cluster, and the certificates it signs."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = timedelta(days=30)
_CLOCK_SLACK = timedelta(hours=1)


class KeyPair:
    """A certificate and its private key, both as PEM."""

    def __init__(self, certificate: bytes, key: bytes) -> None:
        self.certificate = certificate
        self.key = key

    def write(self, directory: Path, name: str) -> tuple[Path, Path]:
        """Write `<name>.crt` and `<name>.key` (mode 0600) and return their paths."""
        certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
        certificate.write_bytes(self.certificate)
        key.touch(mode=0o600)
        key.write_bytes(self.key)
        return certificate, key


def private_key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the key as an unencrypted SEC1 PEM block."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


class Authority:
    """Signs client and server certificates for 30 days; P-256 throughout, so that each takes a millisecond."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "cluster-ca")])
        builder = self._builder(self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        certificate = builder.sign(self._key, hashes.SHA256())
        self.certificate = certificate.public_bytes(serialization.Encoding.PEM)

    def _builder(self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _CLOCK_SLACK)
            .not_valid_after(now + _LIFETIME)
        )

    def client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """Return a certificate that authenticates as `user` in `groups`."""
        subject = x509.Name(
            [
                x509.NameAttribute(NameOID.COMMON_NAME, user),
                *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
            ]
        )
        return self._sign(subject, ExtendedKeyUsageOID.CLIENT_AUTH, ())

    def server(self, name: str, addresses: Sequence[str], dns_names: Sequence[str] = ()) -> KeyPair:
        """Return a serving certificate for IP `addresses` and `dns_names`."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        alternatives = [
            *(x509.IPAddress(ipaddress.ip_address(address)) for address in addresses),
            *(x509.DNSName(dns_name) for dns_name in dns_names),
        ]
        return self._sign(subject, ExtendedKeyUsageOID.SERVER_AUTH, alternatives)

    def _sign(
        self, subject: x509.Name, usage: x509.ObjectIdentifier, alternatives: Sequence[x509.GeneralName]
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key.public_key()).add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), private_key_pem(key))


def signing_key() -> bytes:
    """Return a new private key, PEM, with which an API server signs service account tokens."""
    return private_key_pem(ec.generate_private_key(ec.SECP256R1()))
