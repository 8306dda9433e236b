import base64
import json
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store

from hack.cluster.certificates import Authority, signing_key
from hack.cluster.kubeconfig import write_kubeconfig


def test_a_serving_certificate_verifies_against_its_authority_for_each_of_its_names() -> None:
    authority = Authority()
    pair = authority.server("apiserver", ["127.0.0.1"], ["localhost"])
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert PolicyBuilder().store(Store([x509.load_pem_x509_certificate(authority.certificate)]))
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.certificate))


def test_a_client_certificate_names_the_user_and_the_groups() -> None:
    subject = x509.load_pem_x509_certificate(Authority().client("bob", ["a", "b"]).certificate).subject
    assert [name.value for name in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["bob"]
    assert [name.value for name in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["a", "b"]


def test_a_signing_key_is_a_private_key() -> None:
    assert serialization.load_pem_private_key(signing_key(), password=None).key_size == 256  # type: ignore[union-attr]


def test_a_kubeconfig_carries_all_it_needs_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    authority = Authority()
    pair = authority.client("bob")
    path = write_kubeconfig(tmp_path / "config", "https://host:1", authority.certificate, pair)
    assert path.stat().st_mode & 0o777 == 0o600
    config = json.loads(path.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    assert cluster["server"] == "https://host:1"
    assert base64.b64decode(cluster["certificate-authority-data"]) == authority.certificate
    assert base64.b64decode(user["client-certificate-data"]) == pair.certificate
    assert base64.b64decode(user["client-key-data"]) == pair.key
