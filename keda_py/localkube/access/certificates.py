"""The cluster's certificate authorities and the certificates they sign: server, clients, front proxy.

Each process has new EC keys. Certificates are valid for ten years of real time around the machine's clock. Extensions
are complete, because strict verification (Python 3.13 on) requires them.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from keda_py.net.key_usage import key_usage

LIFETIME = timedelta(days=3650)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """A certificate authority with its key; clients trust `certificate`."""

    def __init__(self, name: str, now: datetime) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._now = now
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(key_usage(signs_certificates=True), critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())

    @property
    def certificate(self) -> bytes:
        """The certificate that clients and servers trust, PEM."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def server(self, names: Sequence[str], addresses: Sequence[str]) -> KeyPair:
        """Issue a serving certificate for these DNS names and IP addresses."""
        alternatives = [x509.DNSName(name) for name in names]
        ips = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        extension = x509.SubjectAlternativeName([*alternatives, *ips])
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        return self._leaf(subject, ExtendedKeyUsageOID.SERVER_AUTH, extension)

    def client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """Issue a client certificate: the common name is the user, each organisation is a group."""
        organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*organisations, x509.NameAttribute(NameOID.COMMON_NAME, user)])
        return self._leaf(subject, ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def _leaf(
        self, subject: x509.Name, purpose: x509.ObjectIdentifier, names: x509.SubjectAlternativeName | None
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(key_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return KeyPair(certificate=certificate.public_bytes(serialization.Encoding.PEM), key=_pem(key))

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - timedelta(days=1))
            .not_valid_after(self._now + LIFETIME)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(issuer_key, critical=False)
        )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
