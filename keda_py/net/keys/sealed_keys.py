"""Encrypted private keys (PKCS#8, PBES2), decrypted at a bounded cost.

The cost of the password is a parameter that a tenant wrote: 2^31 rounds of hashing take ten minutes. It is read first,
and refused above what a TLS context costs anyway (0.05 s). The decrypted content is returned unparsed, to be checked
like an unencrypted key. Schemes: PBKDF2 or scrypt, AES or triple DES in CBC mode, as in KEDA. Next: `private_keys.py`.
"""

import hashlib

from keda_py.net.keys.der import INTEGER, Der, read_der

MOST_ROUNDS = 100_000
_MOST_SCRYPT = 2**17
"""N * r * p: OpenSSL's default, which takes 16 MiB of memory."""
_SCRYPT_MEMORY = 32 * 2**20
_OTHERWISE = f"openssl pkcs8 -topk8 -v2 aes-256-cbc -iter {MOST_ROUNDS} writes one that is read"

_PBES2, _PBKDF2, _SCRYPT = "2a864886f70d01050d", "2a864886f70d01050c", "2b06010401da47040b"
_HASHES = {
    "2a864886f70d0207": "sha1",
    "2a864886f70d0208": "sha224",
    "2a864886f70d0209": "sha256",
    "2a864886f70d020a": "sha384",
    "2a864886f70d020b": "sha512",
}
_TRIPLE_DES = "2a864886f70d0307"
_KEY_BYTES = {"608648016503040102": 16, "608648016503040116": 24, "60864801650304012a": 32, _TRIPLE_DES: 24}


class KeyRefused(ValueError):
    """Refusal of a private key, with the reason and the remedy."""


def unsealed(envelope: bytes, password: str) -> bytes:
    """Decrypt an envelope. Raises ValueError for another format or a wrong password, and Refused."""
    algorithm, sealed = read_der(envelope).inside()
    scheme, parameters = algorithm.inside()
    if scheme.object_id() != _PBES2:
        raise KeyRefused(f"its password is not applied by PBES2: {_OTHERWISE}")
    derivation, encryption = parameters.inside()
    kind, vector = encryption.inside()
    cipher = kind.object_id()
    if cipher not in _KEY_BYTES:
        raise KeyRefused(f"its cipher is not AES in CBC mode: {_OTHERWISE}")
    key = _derived(derivation, password.encode("utf-8", "replace"), _KEY_BYTES[cipher])
    return _decrypted(cipher, key, vector.octets(), sealed.octets())


def _derived(derivation: Der, password: bytes, size: int) -> bytes:
    kind, parameters = derivation.inside()
    salt, *rest = parameters.inside()
    if kind.object_id() == _PBKDF2:
        return _by_pbkdf2(password, salt.octets(), size, rest)
    if kind.object_id() == _SCRYPT:
        return _by_scrypt(password, salt.octets(), size, [element.number() for element in rest[:3]])
    raise KeyRefused(f"its password is not hashed by PBKDF2 or scrypt: {_OTHERWISE}")


def _by_pbkdf2(password: bytes, salt: bytes, size: int, rest: list[Der]) -> bytes:
    rounds, *more = rest
    if not 0 < rounds.number() <= MOST_ROUNDS:
        raise KeyRefused(f"its password is hashed more than {MOST_ROUNDS} times: {_OTHERWISE}")
    # An INTEGER among the optional parameters is the key's size, which the cipher tells too.
    named = [element.inside()[0].object_id() for element in more if element.tag != INTEGER]
    name = _HASHES.get(named[0], "") if named else "sha1"
    if not name:
        raise KeyRefused(f"its password is not hashed by SHA-1 or SHA-2: {_OTHERWISE}")
    return hashlib.pbkdf2_hmac(name, password, salt, rounds.number(), size)


def _by_scrypt(password: bytes, salt: bytes, size: int, costs: list[int]) -> bytes:
    n, r, p = costs
    # Checked before hashing: N, r and p are the tenant's, and time and memory grow with their product.
    if min(costs) < 1 or n * r * p > _MOST_SCRYPT:
        raise KeyRefused(f"scrypt takes more than {_MOST_SCRYPT} (N * r * p) for its password: {_OTHERWISE}")
    return hashlib.scrypt(password, salt=salt, n=n, r=r, p=p, maxmem=_SCRYPT_MEMORY, dklen=size)


def _decrypted(cipher: str, key: bytes, vector: bytes, sealed: bytes) -> bytes:
    # Imported late: it takes 0.1 s, and few triggers have a key.
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CBC

    algorithm = TripleDES(key) if cipher == _TRIPLE_DES else AES(key)
    opener = Cipher(algorithm, CBC(vector)).decryptor()
    padded = opener.update(sealed) + opener.finalize()
    return padded[: -padded[-1]]  # after a wrong password this is noise, which the key's parser refuses
