"""The ssh key pairs of jobs: making one, and judging one that is there."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_ssh_private_key,
)

from mpi_operator.children.ssh_secret.build import SSHKeyPair
from mpi_operator.names import SSH_PRIVATE_KEY, SSH_PUBLIC_KEY

_OPENSSH_HEADER = b"-----BEGIN OPENSSH PRIVATE KEY-----"
_FIELDS_OF_A_KEY = 2


def generate_pair() -> SSHKeyPair:
    """Return a fresh ECDSA P-521 pair: SEC1 PEM, and an authorized_keys line without comment (B111). Thread-safe."""
    key = ec.generate_private_key(ec.SECP521R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return SSHKeyPair(private, public + b"\n")


def is_usable(data: Mapping[str, str]) -> bool:
    """Whether a Secret's data (base64) holds a private key without passphrase and the public key that belongs to it.

    Any key type will do, and other keys of the data are not looked at (B115, A1.19). Never raises, and says nothing
    of what it read.
    """
    try:
        private = b64decode(data[SSH_PRIVATE_KEY], validate=True)
        public = b64decode(data[SSH_PUBLIC_KEY], validate=True)
        load = load_ssh_private_key if private.lstrip().startswith(_OPENSSH_HEADER) else load_pem_private_key
        derived = load(private, password=None).public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error, UnsupportedAlgorithm):
        return False
    return derived.split()[:_FIELDS_OF_A_KEY] == public.split()[:_FIELDS_OF_A_KEY]
