"""Cache keys for everything obtained with a credential: a key contains the credential and its tenant.

An issued token, a logged-in connection, a TLS context with a private key: a user with another credential, or from
another namespace, must not get it. So `auth/lookup/credential_cache.py`, the shared resources of `sdk/context.py`,
`tls.py` and the batches of `readings/` accept only these keys.

Rules of this file: a key holds no secret, only a digest that differs between processes; its repr does not even show
that. A tenant is a namespace, "" for the cluster's own. `what` holds everything else that distinguishes two values:
kind, address, time-out. The credential is everything that decides what may be seen: user and password, but also a role,
a file's path, a pod identity.
"""

import secrets
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

from pydantic import SecretStr

from keda_py.errors import ConfigError

Plain = str | int | float | bool | None
What = tuple[Plain, ...]
Secret = Plain | SecretStr | tuple["Secret", ...]

# Open keys that are known, each kept once: a trigger has four of one server, and each takes 280 bytes with its parts.
MOST_OPEN = 1024
_OF_THIS_PROCESS = secrets.token_bytes(32)


@dataclass(frozen=True, slots=True)
class CredentialDigest:
    """Digest of a credential, made by `credential_digest`; it cannot be reversed."""

    value: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialKey:
    """Key for what was obtained with a credential."""

    tenant: str
    credential: CredentialDigest = field(repr=False)
    what: What


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenKey:
    """Key for what needs no credential and may be shared by all tenants: connections, mostly."""

    what: What


SharingKey = CredentialKey | OpenKey


def credential_digest(*credential: Secret) -> CredentialDigest:
    """Digest a credential; ("ab", "c") differs from ("a", "bc"), and 1 from "1" and from True."""
    # Keyed with a secret of this process, so that a digest in a dump cannot be tested against guessed passwords.
    return CredentialDigest(blake2b(_encode(credential), key=_OF_THIS_PROCESS, digest_size=32).digest())


def sharing_key(tenant: str, what: What, *credential: Secret) -> SharingKey:
    """Return the key for a credential; an `OpenKey` if every part of it is empty."""
    if _is_empty(credential):
        return _open_key(what)
    return CredentialKey(tenant=tenant, credential=credential_digest(*credential), what=what)


@lru_cache(MOST_OPEN)
def _open_key(what: What) -> OpenKey:
    return OpenKey(what=what)


def check_sharing_key(key: object, where: str) -> None:
    """Check the type of a key from a plug-in that no type checker has seen. Raises ConfigError."""
    if not isinstance(key, CredentialKey | OpenKey):
        remedy = "make it with keda_py.sdk.advanced.sharing_key, which takes the namespace and the credential"
        raise ConfigError(f"{where} is a {type(key).__name__}: {remedy}", field=where)


def _is_empty(part: Secret) -> bool:
    match part:
        case SecretStr():
            return not part.get_secret_value()
        case tuple():
            return all(_is_empty(inner) for inner in part)
        case _:
            return not part


def _encode(part: Secret) -> bytes:
    match part:
        case SecretStr():
            kind, body = b"s", part.get_secret_value().encode("utf-8", "surrogatepass")
        case str():
            kind, body = b"s", part.encode("utf-8", "surrogatepass")
        case tuple():
            kind, body = b"t", b"".join(_encode(inner) for inner in part)
        case _:
            kind, body = b"p", repr(part).encode()
    # Type and length come first, so that no two different credentials are encoded to the same bytes.
    return b"%s%d:%s" % (kind, len(body), body)
