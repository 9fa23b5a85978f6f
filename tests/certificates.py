"""Certificates for tests: an authority, and leaves that it signs for 127.0.0.1."""

import ssl
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_FROM, _UNTIL = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=36500)
LOOPBACK = ("127.0.0.1",)


@dataclass(frozen=True, slots=True)
class Pair:
    """PEM texts."""

    cert: str
    key: str


class Authority:
    """Signs leaves; `cert` is what clients trust. `more` are extensions of it; `parent` signs it, else it does itself."""

    def __init__(
        self,
        *more: x509.ExtensionType,
        ca: bool = True,
        path_length: int | None = None,
        until: datetime = _UNTIL,
        parent: "Authority | None" = None,
    ) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        builder = (
            _builder(self._name, self._name, self._key, until)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=path_length), critical=True)
            .add_extension(usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
        )
        cert = _extended(builder, more).sign(parent._key if parent else self._key, hashes.SHA256())
        self.cert = cert.public_bytes(serialization.Encoding.PEM).decode()

    def namesake(self, *more: x509.ExtensionType, hosts: Sequence[str] = LOOPBACK, until: datetime = _UNTIL) -> Pair:
        """A leaf as Go makes it under the authority's own name: nothing but the signature tells who signed."""
        key = ec.generate_private_key(ec.SECP256R1())
        addresses = x509.SubjectAlternativeName([x509.IPAddress(ip_address(host)) for host in hosts])
        builder = _builder(self._name, self._name, key, until).add_extension(addresses, critical=False)
        return _pair(_extended(builder, more).sign(self._key, hashes.SHA256()), key)

    def leaf(self, name: str, password: str = "", hosts: Sequence[str] = LOOPBACK) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        addresses = x509.SubjectAlternativeName([_subject_of(host) for host in hosts])
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        cert = (
            _builder(subject, self._name, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(usage(signs_certificates=False), critical=True)
            .add_extension(addresses, critical=False)
            .add_extension(issuer_key, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return _pair(cert, key, password)

    def server_context(self, folder: Path, *, wants_client: bool = False, pair: Pair | None = None) -> ssl.SSLContext:
        pair = pair or self.leaf("server")
        (folder / "server.pem").write_text(pair.cert + pair.key)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=self.cert)
        context.load_cert_chain(folder / "server.pem")
        context.verify_mode = ssl.CERT_REQUIRED if wants_client else ssl.CERT_NONE
        return context


def _subject_of(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pair(cert: x509.Certificate, key: ec.EllipticCurvePrivateKey, password: str = "") -> Pair:
    hidden: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password:
        hidden = serialization.BestAvailableEncryption(password.encode())
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return Pair(cert.public_bytes(pem).decode(), key.private_bytes(pem, pkcs8, hidden).decode())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, until: datetime = _UNTIL
) -> x509.CertificateBuilder:
    return x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number(), _FROM, until)


def _extended(builder: x509.CertificateBuilder, more: Iterable[x509.ExtensionType]) -> x509.CertificateBuilder:
    for extension in more:
        builder = builder.add_extension(extension, critical=isinstance(extension, x509.NameConstraints))
    return builder


def usage(*, signs_certificates: bool) -> x509.KeyUsage:
    names = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only")
    off = dict.fromkeys((*names, "decipher_only"), False)
    return x509.KeyUsage(digital_signature=True, key_cert_sign=signs_certificates, crl_sign=signs_certificates, **off)
