"""Certificate authority of one test, and a server certificate for 127.0.0.1 by it."""

import datetime
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_FROM = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_UNTIL = datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC)


def _build(name: str, issuer: str, key: ec.EllipticCurvePrivateKey, *, ca: bool) -> x509.CertificateBuilder:
    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    addresses = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    return (
        x509.CertificateBuilder(
            named(issuer), named(name), key.public_key(), x509.random_serial_number(), _FROM, _UNTIL
        )
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(addresses, critical=False)
    )


class Authority:
    """CA without key identifiers, as many clusters have."""

    def __init__(self, name: str) -> None:
        self._name, self._key = name, ec.generate_private_key(ec.SECP256R1())
        certificate = _build(name, name, self._key, ca=True).sign(self._key, hashes.SHA256())
        self.pem = certificate.public_bytes(serialization.Encoding.PEM).decode()

    def issue(self, folder: Path, name: str) -> Path:
        """Write a file with certificate and key."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _build(name, self._name, key, ca=False).sign(self._key, hashes.SHA256())
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path = folder / f"{self._name}-{name}.pem"
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
        return path

    def server_context(self, folder: Path) -> ssl.SSLContext:
        """Make the TLS context of a server that requests a client certificate without requiring it."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=self.pem)
        context.load_cert_chain(self.issue(folder, "server"))
        # Python 3.13 asks clients for key identifiers by default; API servers do not.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.verify_mode = ssl.CERT_OPTIONAL
        return context
