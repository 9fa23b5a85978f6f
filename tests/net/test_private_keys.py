"""Private keys and certificates of tenants: read or refused at once, whatever their parameters."""

import hashlib
import math
import ssl
from contextlib import suppress
from functools import cache

import orjson
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from hypothesis import given
from hypothesis import strategies as st

from keda_py.errors import ConfigError
from keda_py.net.keys.pem import MOST_BLOCKS, blocks
from keda_py.net.keys.private_keys import plain_private_key, rs256
from keda_py.net.tls import TlsContexts, TlsSettings
from tests.certificates import Authority
from tests.costs import thorough, within
from tests.hostile.attacks.keys import (
    AES_256_CBC,
    PBES2,
    PBKDF2,
    der,
    oid,
    pem,
    self_signed,
    slow_account,
    slow_password,
)

RSA_KEY, DSA, DH, SCRYPT = "2a864886f70d010101", "2a8648ce380401", "2a864886f70d010301", "2b06010401da47040b"
SEALED, OPEN = "ENCRYPTED PRIVATE KEY", "PRIVATE KEY"
SALT, VECTOR = b"saltsalt", bytes(16)
PKCS8, TRADITIONAL = PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL


@cache
def small_rsa() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def written(
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, form: PrivateFormat = PKCS8, password: str = ""
) -> str:
    hidden = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    return key.private_bytes(Encoding.PEM, form, hidden).decode()


def integer(number: int) -> bytes:
    return der(0x02, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def costly_by_kind(kind: str) -> bytes:
    """Make a PKCS#8 key whose parsing raises one number of 16 000 bits to the power of another: four seconds."""
    prime = 2**16000 - 1
    parameters = der(0x30, integer(prime), *([integer(2**160 - 47)] if kind == DSA else []), integer(3))
    return der(0x30, integer(0), der(0x30, oid(kind), parameters), der(0x04, integer(prime - 2)))


def sealed(content: bytes, derivation: bytes, key: bytes) -> str:
    size = 16 - len(content) % 16
    writer = Cipher(AES(key), CBC(VECTOR)).encryptor()
    cipher = der(0x30, oid(AES_256_CBC), der(0x04, VECTOR))
    algorithm = der(0x30, oid(PBES2), der(0x30, derivation, cipher))
    return pem(SEALED, der(0x30, algorithm, der(0x04, writer.update(content + bytes([size]) * size))))


def by_scrypt(content: bytes, n: int) -> str:
    costs = b"".join(map(integer, (n, 8, 1)))
    key = hashlib.scrypt(b"hidden", salt=SALT, n=min(n, 2**14), r=8, p=1, dklen=32)
    return sealed(content, der(0x30, oid(SCRYPT), der(0x30, der(0x04, SALT), costs)), key)


def by_pbkdf2(content: bytes, rounds: int) -> str:
    """Encrypt with PBKDF2 and the hash that applies if none is named."""
    key = hashlib.pbkdf2_hmac("sha1", b"hidden", SALT, rounds, 32)
    return sealed(content, der(0x30, oid(PBKDF2), der(0x30, der(0x04, SALT), integer(rounds))), key)


def plain(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(Encoding.DER, PKCS8, NoEncryption())


def rsa_of(p: int, q: int, e: int) -> str:
    """Make a PKCS#1 key from two factors, prime or not."""
    d = pow(e, -1, math.lcm(p - 1, q - 1)) if q > 1 and q % 2 and math.gcd(e, (p - 1) * (q - 1)) == 1 else 3
    numbers = (0, p * q, e, d, p, q, d % (p - 1), d % max(q - 1, 1), pow(q, -1, p))
    return pem("RSA PRIVATE KEY", der(0x30, *map(integer, numbers)))


def slow_key() -> str:
    text: str = orjson.loads(slow_account())["private_key"]
    return text


def test_a_client_key_whose_password_is_hashed_without_end_is_refused_at_once() -> None:
    certificate, key = slow_password()
    with within(), pytest.raises(ConfigError, match="key: its password is hashed more than 100000 times: openssl"):
        TlsContexts().get(TlsSettings(cert=certificate, key=key, key_password="guess"), "shop")


def test_a_client_key_of_15_636_bits_is_refused_at_once() -> None:
    with within(), pytest.raises(ConfigError, match="key: is too large: give an RSA key of at most 4096 bits"):
        TlsContexts().get(TlsSettings(cert=self_signed()[0], key=slow_key()), "shop")


def test_a_key_of_15_636_bits_signs_nothing() -> None:
    with within(), pytest.raises(ConfigError, match="private_key: is too large"):
        rs256(slow_key(), b"message", "private_key")


def test_a_key_of_more_bits_than_a_handshake_has_time_for_is_refused() -> None:
    text = rsa_of(2**4423 - 1, 2**1279 - 1, 65537)
    with within(0.1), pytest.raises(ConfigError, match="key: has 5702 bits: give an RSA key of at most 4096 bits"):
        plain_private_key(text)


def test_that_primes_are_prime_is_not_asked() -> None:
    """It would take 0.3 s of the event loop for 4 096 bits."""
    key = rsa.generate_private_key(65537, 4096)
    text = written(key)
    with within(0.1):
        signature = rs256(text, b"message", "key")
    key.public_key().verify(signature, b"message", PKCS1v15(), hashes.SHA256())


@pytest.mark.parametrize("kind", [DSA, DH])
def test_keys_that_are_computed_with_while_they_are_read_are_refused_before(kind: str) -> None:
    content = costly_by_kind(kind)
    for text, password in (
        (pem(OPEN, content), ""),
        (by_pbkdf2(content, 1), "hidden"),
        (by_scrypt(content, 2), "hidden"),
    ):
        with within(0.1), pytest.raises(ConfigError, match="keys of this kind are not read"):
            plain_private_key(text, password)


def test_a_key_that_is_too_large_for_any_that_is_read_is_refused_by_its_size() -> None:
    with within(0.1), pytest.raises(ConfigError, match="key: is too large"):
        plain_private_key(pem(OPEN, bytes(7000)))


@pytest.mark.parametrize("label", ["DSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "ANY PRIVATE KEY"])
def test_a_kind_that_is_not_in_the_list_is_refused_by_its_label(label: str) -> None:
    with pytest.raises(ConfigError, match="keys of this kind are not read"):
        plain_private_key(pem(label, bytes(100)))


@pytest.mark.parametrize(
    ("p", "q", "e"),
    [(2**521 - 1, 2**607, 65537), (2**521 - 1, 2**607 - 1, 2**64 + 13), (2**1128 - 1, 1, 65537)],
    ids=["even", "long public exponent", "one prime"],
)
def test_numbers_that_are_no_rsa_key_are_refused(p: int, q: int, e: int) -> None:
    with within(0.1), pytest.raises(ConfigError):
        plain_private_key(rsa_of(p, q, e))


def test_an_exponent_that_undoes_nothing_is_refused() -> None:
    own = small_rsa().private_numbers()
    n, e = own.public_numbers.n, own.public_numbers.e
    numbers = (0, n, e, own.d + 2, own.p, own.q, own.dmp1, own.dmq1, own.iqmp)
    with pytest.raises(ConfigError, match="its numbers do not belong together"):
        plain_private_key(pem("RSA PRIVATE KEY", der(0x30, *map(integer, numbers))))


def test_keys_are_read_as_the_usual_tools_write_them() -> None:
    curve, content = ec.generate_private_key(ec.SECP384R1()), plain(small_rsa())
    hidden = {"password": "hidden"}
    edwards = ed25519.Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PKCS8, NoEncryption()).decode()
    for text in (
        written(small_rsa()),
        written(small_rsa(), TRADITIONAL),
        written(small_rsa(), **hidden),
        written(small_rsa(), TRADITIONAL, **hidden),
        written(curve),
        written(curve, TRADITIONAL),
        written(curve, **hidden),
        written(curve, TRADITIONAL, **hidden),
        edwards,
        by_pbkdf2(content, 2048),
        by_scrypt(content, 2**14),
        "Bag Attributes\n" + pem("EC PARAMETERS", oid("2b81040022")) + written(curve, TRADITIONAL),
    ):
        key = load_pem_private_key(plain_private_key(text, "hidden").encode(), None)
        assert isinstance(key, (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey, ed25519.Ed25519PrivateKey))


def test_a_wrong_password_or_none_is_an_error_that_shows_neither() -> None:
    for text in (written(small_rsa(), password="hidden"), written(small_rsa(), TRADITIONAL, "hidden")):
        for password in ("guess", ""):
            with pytest.raises(ConfigError) as error:
                plain_private_key(text, password)
            assert str(error.value) == "key: not a private key in PEM, or a wrong password for it"


def test_scrypt_that_costs_more_than_openssls_is_refused() -> None:
    text = by_scrypt(b"", 2**20)
    with within(0.1), pytest.raises(ConfigError, match="scrypt takes more than 131072"):
        plain_private_key(text, "hidden")


def test_only_the_key_is_loaded_that_was_looked_at() -> None:
    """OpenSSL takes the first key of a file, which could be one in the certificate's text."""
    pair = Authority().leaf("shop")
    for hidden in (slow_password()[1], written(small_rsa())):
        TlsContexts().get(TlsSettings(cert=hidden + pair.cert, key=pair.key), "shop")
        nested = pair.cert.replace("-----END", f"{hidden}-----END")
        with pytest.raises(ConfigError, match="cert: is not a PEM certificate"):
            TlsContexts().get(TlsSettings(cert=nested, key=pair.key), "shop")


def test_a_chain_and_authorities_are_counted_before_they_are_loaded() -> None:
    pair, authority = Authority().leaf("shop"), Authority().cert
    with within(0.2), pytest.raises(ConfigError, match="cert: holds 11 certificates, at most 10"):
        TlsContexts().get(TlsSettings(cert=pair.cert * 11, key=pair.key), "shop")
    with within(0.3), pytest.raises(ConfigError, match="ca: holds 257 certificates, at most 256"):
        TlsContexts().get(TlsSettings(ca=authority * 257), "shop")
    with within(0.3), pytest.raises(ConfigError, match="ca: is over 524288 characters"):
        TlsContexts().get(TlsSettings(ca=authority * 1000), "shop")


def test_authorities_are_read_with_text_around_them() -> None:
    one, other = Authority().cert, Authority().cert
    context = TlsContexts().get(TlsSettings(ca=f"# Our own\n{one}\r\n# And another\n{other}"), "shop")
    assert {ssl.PEM_cert_to_DER_cert(one), ssl.PEM_cert_to_DER_cert(other)} <= set(
        context.get_ca_certs(binary_form=True)
    )


@pytest.mark.parametrize("text", ["-----BEGIN ", "-----BEGIN A-----", "-----BEGIN A-----x-----END B-----"])
def test_blocks_that_never_end_are_looked_for_once(text: str) -> None:
    with within():
        assert not list(blocks(text * (500_000 // len(text))))


@pytest.mark.parametrize("label", ["", "CERTIFICATE"])
def test_a_text_of_nothing_but_blocks_is_walked_through_once(label: str) -> None:
    text = f"-----BEGIN {label}-----\n-----END {label}-----\n" * 8_000
    with within(0.05):
        assert len(list(blocks(text))) == MOST_BLOCKS


@thorough
@given(
    st.binary(max_size=60), st.integers(0, 300), st.sampled_from([OPEN, SEALED, "RSA PRIVATE KEY", "EC PRIVATE KEY"])
)
def test_whatever_stands_in_a_key_it_is_read_or_refused(piece: bytes, where: int, label: str) -> None:
    own = {OPEN: plain(small_rsa()), SEALED: next(blocks(by_pbkdf2(b"0" * 200, 2))).der()}
    content = own.get(label, b"")
    with within(0.5), suppress(ConfigError):
        plain_private_key(pem(label, content[:where] + piece + content[where + len(piece) :]), "hidden")
