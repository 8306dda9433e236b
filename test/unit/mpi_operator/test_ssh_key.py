from __future__ import annotations

from base64 import b64encode
from functools import cache

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from mpi_operator.children.ssh_secret.build import SSHKeyPair, build_ssh_secret_data
from mpi_operator.ssh_key import generate_pair, is_usable


@cache
def pair() -> SSHKeyPair:
    return generate_pair()


def data(private: bytes | None = None, public: bytes | None = None) -> dict[str, str]:
    return build_ssh_secret_data(SSHKeyPair(private or pair().private_key, public or pair().public_key))


def test_b111_the_key_is_ecdsa_p521_in_sec1_pem() -> None:
    assert pair().private_key.startswith(b"-----BEGIN EC PRIVATE KEY-----\n")
    key = load_pem_private_key(pair().private_key, password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.curve.name == "secp521r1"


def test_b111_the_public_key_is_one_line_without_comment() -> None:
    line = pair().public_key
    assert line.startswith(b"ecdsa-sha2-nistp521 ")
    assert line.endswith(b"\n")
    assert len(line.split()) == 2


def test_every_pair_is_another() -> None:
    assert generate_pair() != pair()


def test_b115_a1_19_a_pair_that_matches_is_usable_whatever_else_is_there() -> None:
    assert is_usable(data())
    assert is_usable({**data(), "x": "eA=="})


def test_b115_a_comment_does_not_matter() -> None:
    assert is_usable(data(public=pair().public_key.rstrip() + b" user@host\n"))


def test_b115_a_pair_of_another_type_is_usable_too() -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    assert is_usable(data(private, public))


def encrypted() -> bytes:
    key = load_pem_private_key(pair().private_key, password=None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({}, id="B115 no keys"),
        pytest.param({"ssh-publickey": data()["ssh-publickey"]}, id="B115 no private key"),
        pytest.param({"ssh-privatekey": data()["ssh-privatekey"]}, id="B115 no public key"),
        pytest.param({**data(), "ssh-privatekey": "?"}, id="B115 not base64"),
        pytest.param({**data(), "ssh-privatekey": "é"}, id="B115 not even ASCII"),
        pytest.param(data(private=b"garbage"), id="B115 no key"),
        pytest.param(data(private=b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"), id="B115 a broken OpenSSH key"),
        pytest.param(data(public=generate_pair().public_key), id="B115 A1_19 a public key of another pair"),
        pytest.param(data(public=b"\n"), id="B115 an empty public key"),
        pytest.param({**data(), "ssh-privatekey": b64encode(encrypted()).decode()}, id="a key with a passphrase"),
    ],
)
def test_an_unusable_pair(broken: dict[str, str]) -> None:
    assert not is_usable(broken)
