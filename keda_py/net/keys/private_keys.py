"""Private keys of tenants: the only place where they are parsed, for TLS and for signatures.

OpenSSL trusts a key's own parameters and computes with them on the event loop: checking primes of 15 000 bits takes two
minutes, one signature with them two seconds. So the kinds of keys are listed, their size is bounded, and the cost of a
password is checked before it is spent (`sealed_keys.py`). Primality is not tested, as in Go: for 4 096 bits it takes
0.3 s, and a bad key harms only its author. That the numbers of a key fit together is tested, because OpenSSL may not
terminate otherwise. Next: `keda_py/net/tls.py`, `keda_py/cloud/gcp.py`.
"""

from typing import TYPE_CHECKING

from keda_py.errors import ConfigError
from keda_py.net.keys.der import read_der
from keda_py.net.keys.pem import LONGEST, Block, blocks
from keda_py.net.keys.sealed_keys import KeyRefused, unsealed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

MOST_BITS = 4096
"""Bits of an RSA key. A signature takes 3 ms with 4 096 bits and 80 ms with 8 192, in each handshake."""

_MOST_BYTES = 8 * 1024
_MOST_PUBLIC_BITS = 32
_KINDS = {
    "2a864886f70d010101": "RSA",
    "2a8648ce3d0201": "EC",
    "2b6570": "Ed25519",
    "2b6571": "Ed448",
}
_SUFFIX, _OPEN, _SEALED = "PRIVATE KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY"
_BY_LABEL = ("RSA PRIVATE KEY", "EC PRIVATE KEY")
_KNOWN = f"give an RSA key of at most {MOST_BITS} bits, or one for the curves P-224 to P-521 or Ed25519"


def plain_private_key(text: str, password: str = "", field: str = "key") -> str:
    """Return the first private key of a PEM text as PKCS#8 without a password. Raises ConfigError without a key."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = _read(text, password, field)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def rs256(text: str, message: bytes, field: str) -> bytes:
    """Sign a message with the RSA key of a PEM text, with SHA-256. Raises ConfigError."""
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.hashes import SHA256

    key = _read(text, "", field)
    if not isinstance(key, RSAPrivateKey):
        raise ConfigError(f"{field}: is not an RSA key", field=field)
    return key.sign(message, PKCS1v15(), SHA256())


def _read(text: str, password: str, field: str) -> "PrivateKeyTypes":
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return _checked(_load(_block(text), password))
    except KeyRefused as error:
        raise ConfigError(f"{field}: {error}", field=field) from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ConfigError(f"{field}: not a private key in PEM, or a wrong password for it", field=field) from None


def _block(text: str) -> Block:
    if len(text) > LONGEST:
        raise KeyRefused(f"is over {LONGEST} characters: {_KNOWN}")
    block = next((block for block in blocks(text) if block.label.endswith(_SUFFIX)), None)
    if block is None:
        raise ValueError("no private key")
    if block.label not in (_OPEN, _SEALED, *_BY_LABEL):
        raise KeyRefused(f"keys of this kind are not read: {_KNOWN}")
    if len(block.body) > _MOST_BYTES:
        raise KeyRefused(f"is too large: {_KNOWN}")
    return block


def _load(block: Block, password: str) -> "PrivateKeyTypes":
    from cryptography.hazmat.primitives.serialization import load_der_private_key, load_pem_private_key

    if block.label in _BY_LABEL:  # a "DEK-Info" password is hashed only once, so its cost needs no bound
        secret = password.encode("utf-8", "replace") if "ENCRYPTED" in block.body else None
        return load_pem_private_key(block.text.encode(), secret, unsafe_skip_rsa_key_validation=True)
    data = unsealed(block.der(), password) if block.label == _SEALED else block.der()
    _, algorithm, *_ = read_der(data).inside()
    if algorithm.inside()[0].object_id() not in _KINDS:  # loading a DSA key already computes with it
        raise KeyRefused(f"keys of this kind are not read: {_KNOWN}")
    return load_der_private_key(data, None, unsafe_skip_rsa_key_validation=True)


def _checked(key: "PrivateKeyTypes") -> "PrivateKeyTypes":
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    if not isinstance(key, RSAPrivateKey):
        return key
    if key.key_size > MOST_BITS:
        raise KeyRefused(f"has {key.key_size} bits: {_KNOWN}")
    numbers = key.private_numbers()
    p, q, d, n, e = numbers.p, numbers.q, numbers.d, numbers.public_numbers.n, numbers.public_numbers.e
    fits = (
        # RFC 8017's relations between the numbers of a key. They are cheap; a test of primality is not.
        n == p * q
        and min(p, q) > 2
        and n % 2 == 1
        and 0 < d < n
        and 2 < e < 2**_MOST_PUBLIC_BITS
        and e * d % (p - 1) == e * d % (q - 1) == 1
        and (numbers.dmp1, numbers.dmq1) == (d % (p - 1), d % (q - 1))
        and numbers.iqmp * q % p == 1
    )
    if not fits:
        raise KeyRefused(f"its numbers do not belong together: {_KNOWN}")
    return key
