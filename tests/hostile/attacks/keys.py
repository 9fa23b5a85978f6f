"""Private keys that take minutes to look at: every one is a few kilobytes that a tenant writes into a Secret."""

import base64
import math
from datetime import UTC, datetime, timedelta
from functools import cache

import orjson
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

PBES2, PBKDF2, AES_256_CBC = "2a864886f70d01050d", "2a864886f70d01050c", "60864801650304012a"
ROUNDS = 2**31 - 1


@cache
def slow_password() -> tuple[str, str]:
    """A certificate, and a key whose password has to be hashed two thousand million times before it is wrong."""
    kdf = der(0x30, oid(PBKDF2), der(0x30, der(0x04, b"saltsalt"), der(0x02, ROUNDS.to_bytes(4, "big"))))
    cipher = der(0x30, oid(AES_256_CBC), der(0x04, bytes(16)))
    algorithm = der(0x30, oid(PBES2), der(0x30, kdf, cipher))
    return self_signed()[0], pem("ENCRYPTED PRIVATE KEY", der(0x30, algorithm, der(0x04, bytes(160))))


@cache
def slow_account() -> str:
    """A service account of Google whose RSA key has 15 636 bits: two minutes until its primes are believed."""
    p, q, e = 2**11213 - 1, 2**4423 - 1, 65537
    d = pow(e, -1, math.lcm(p - 1, q - 1))
    public = rsa.RSAPublicNumbers(e, p * q)
    numbers = rsa.RSAPrivateNumbers(
        p=p, q=q, d=d, dmp1=d % (p - 1), dmq1=d % (q - 1), iqmp=pow(q, -1, p), public_numbers=public
    )
    key = numbers.private_key(unsafe_skip_rsa_key_validation=True)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    account = {"type": "service_account", "client_email": "a@b", "private_key": text, "token_uri": "http://127.0.0.1:1"}
    return orjson.dumps(account).decode()


@cache
def self_signed() -> tuple[str, str]:
    """A certificate that nobody trusts, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return _certificate(key), text


def _certificate(key: ec.EllipticCurvePrivateKey) -> str:
    name = x509.Name([])
    now = datetime.now(UTC)  # noqa: TID251 - certificates are dated in real time
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    length = (
        bytes([size]) if size < 128 else bytes([0x81, size]) if size < 256 else bytes([0x82, size >> 8, size & 255])
    )
    return bytes([tag]) + length + content


def oid(content: str) -> bytes:
    return der(0x06, bytes.fromhex(content))


def pem(label: str, der: bytes) -> str:
    return f"-----BEGIN {label}-----\n{base64.encodebytes(der).decode()}-----END {label}-----\n"
