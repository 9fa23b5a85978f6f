"""Serving certificates, made and read: an authority of our own, and one leaf for all services.

Pure except for the randomness of keys. `renewal/rotation.py` decides when to make which. Extensions are complete
(subject alternative names, key usages, key identifiers), because strict verification (Python 3.13's default, and Go's
for names) refuses certificates without them. Behaviour reference, section 13.4.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from keda_py.net.key_usage import key_usage
from keda_py.serving.serving_certificate import ServingCertificate

AUTHORITY_VALID_FOR = timedelta(days=3650)
LEAF_VALID_FOR = timedelta(days=365)
# Certificates begin this much earlier, because clients' clocks may be behind ours.
SKEW = timedelta(minutes=5)

SigningKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_LONGEST_COMMON_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """Certificate that signs others, and its key."""

    certificate: x509.Certificate
    key: SigningKey = field(repr=False)


def make_certificate(names: Sequence[str], now: datetime) -> ServingCertificate:
    """Make a new authority, and by it a leaf for DNS names and IP addresses."""
    return issue(make_authority(now), names, now)


def make_authority(now: datetime) -> Authority:
    """Make an authority named CN KEDA, O KEDAORG, valid for ten years."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = ((NameOID.ORGANIZATION_NAME, "KEDAORG"), (NameOID.COMMON_NAME, "KEDA"))
    name = x509.Name([x509.NameAttribute(oid, value) for oid, value in names])
    certificate = (
        _builder(name, name, key.public_key(), now)
        .not_valid_after(now + AUTHORITY_VALID_FOR)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate=certificate, key=key)


def issue(authority: Authority, names: Sequence[str], now: datetime) -> ServingCertificate:
    """Issue a server certificate for a year, or until the authority expires if that is sooner."""
    return _issue(authority, names, now, ExtendedKeyUsageOID.SERVER_AUTH)


def issue_client(authority: Authority, names: Sequence[str], now: datetime) -> ServingCertificate:
    """Issue the client certificate by which replicas recognise each other; valid as long as a server's."""
    return _issue(authority, names, now, ExtendedKeyUsageOID.CLIENT_AUTH)


def _issue(
    authority: Authority, names: Sequence[str], now: datetime, usage: x509.ObjectIdentifier
) -> ServingCertificate:
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = authority.certificate
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:_LONGEST_COMMON_NAME])])
    leaf = (
        _builder(subject, issuer.subject, key.public_key(), now)
        # A leaf that outlives its issuer fails verification with errors that name neither.
        .not_valid_after(min(now + LEAF_VALID_FOR, issuer.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .add_extension(_issuer_identifier(issuer), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return ServingCertificate(ca=pem(issuer), ca_key=_key_pem(authority.key), certificate=pem(leaf), key=_key_pem(key))


def read_authority(kept: ServingCertificate) -> Authority | None:
    """Return the authority in use; None if it cannot be parsed or the key does not match."""
    try:
        certificate = x509.load_pem_x509_certificates(kept.ca)[0]
        key = serialization.load_pem_private_key(kept.ca_key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        return None
    return Authority(certificate=certificate, key=key) if key.public_key() == certificate.public_key() else None


def read_leaf(kept: ServingCertificate) -> x509.Certificate | None:
    """Return the server's certificate; None if it cannot be parsed or the key does not match."""
    try:
        leaf = x509.load_pem_x509_certificates(kept.certificate)[0]
        key = serialization.load_pem_private_key(kept.key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return leaf if key.public_key() == leaf.public_key() else None


def read_bundle(text: bytes) -> tuple[x509.Certificate, ...]:
    """Return the certificates of a PEM text; none if it cannot be parsed."""
    try:
        return tuple(x509.load_pem_x509_certificates(text))
    except ValueError:
        return ()


def alternative_names(leaf: x509.Certificate) -> tuple[str, ...]:
    """Return the DNS names and IP addresses that a certificate is valid for."""
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return ()
    addresses = names.get_values_for_type(x509.IPAddress)
    return (*names.get_values_for_type(x509.DNSName), *(str(address) for address in addresses))


def signed_by(leaf: x509.Certificate, authority: x509.Certificate) -> bool:
    """Return whether `authority` itself signed `leaf`; dates are ignored."""
    try:
        leaf.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def pem(certificate: x509.Certificate) -> bytes:
    """Write a certificate as PEM, for bundles that clients read."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def with_authority(
    kept: ServingCertificate, authority: Authority, others: Sequence[x509.Certificate]
) -> ServingCertificate:
    """Return the same leaf with a new signing authority; `others` stay trusted beside it."""
    bundle = b"".join(map(pem, (authority.certificate, *others)))
    return ServingCertificate(ca=bundle, ca_key=_key_pem(authority.key), certificate=kept.certificate, key=kept.key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _issuer_identifier(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    try:
        known = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier(
            x509.SubjectKeyIdentifier.from_public_key(issuer.public_key()).digest, None, None
        )
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known)


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_pem(key: SigningKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
