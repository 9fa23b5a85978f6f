"""Secret as KEDA's own rotation writes it: RSA keys in PKCS 1 text."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID


def keda_secret(hosts: Sequence[str], now: datetime) -> dict[str, bytes]:
    """Return the data of kedaorg-certs."""
    ca_key, key = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    ca_name = _name("KEDA", "KEDAORG")
    usage = dict.fromkeys(
        ("content_commitment", "data_encipherment", "key_agreement", "crl_sign", "encipher_only", "decipher_only"),
        False,
    )
    ca = (
        _builder(ca_name, ca_name, ca_key, now, 3650)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(digital_signature=True, key_encipherment=True, key_cert_sign=True, **usage), critical=True
        )
        .sign(ca_key, hashes.SHA256())
    )
    leaf = (
        _builder(_name(hosts[0]), ca_name, key, now, 365)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    pkcs1 = (pem, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    return {
        "ca.crt": ca.public_bytes(pem),
        "ca.key": ca_key.private_bytes(*pkcs1),
        "tls.crt": leaf.public_bytes(pem),
        "tls.key": key.private_bytes(*pkcs1),
    }


def _name(common: str, organisation: str = "") -> x509.Name:
    names = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    return x509.Name([*names, *([x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation)] if organisation else [])])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: rsa.RSAPrivateKey, now: datetime, days: int
) -> x509.CertificateBuilder:
    until = now + timedelta(days=days)
    return x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number(), now, until)
