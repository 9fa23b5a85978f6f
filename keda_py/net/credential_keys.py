"""What is kept for who brings a credential is kept under that credential and its tenant: the one type of such keys.

A token that was issued, a connection that has logged in, a TLS context with a private key: who brings another
credential, or comes from another namespace, must not find it. So `auth/lookup/issued.py`, the shared resources of
`sdk/context.py`, `tls.py` and the batches of `readings/` take these keys and no others.

Rules of this file: a key holds no secret, only a digest that another process would make differently; its repr does not
even show that. A tenant is a namespace, "" for what belongs to the cluster. `what` tells apart whatever else differs:
kind, address, time-out. The credential is everything that decides what may be seen: user and password, but also a
role, a file's path, a pod identity.
"""

import secrets
from dataclasses import dataclass, field
from hashlib import blake2b

from pydantic import SecretStr

from keda_py.errors import ConfigError

Plain = str | int | float | bool | None
What = tuple[Plain, ...]
Secret = Plain | SecretStr | tuple["Secret", ...]

_OF_THIS_PROCESS = secrets.token_bytes(32)


@dataclass(frozen=True, slots=True)
class CredentialDigest:
    """A credential in a form that cannot be turned back. Made by `credential_digest`."""

    value: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialKey:
    """A key for what was obtained with a credential."""

    tenant: str
    credential: CredentialDigest = field(repr=False)
    what: What


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenKey:
    """A key for what needs no credential, so that all tenants may share it: connections, mostly."""

    what: What


SharingKey = CredentialKey | OpenKey


def credential_digest(*credential: Secret) -> CredentialDigest:
    """Equal for equal credentials only: ("ab", "c") differs from ("a", "bc"), 1 from "1" and from True."""
    return CredentialDigest(blake2b(_encode(credential), key=_OF_THIS_PROCESS, digest_size=32).digest())


def sharing_key(tenant: str, what: What, *credential: Secret) -> SharingKey:
    """The key for these; an `OpenKey` where every part of the credential is empty."""
    if _is_empty(credential):
        return OpenKey(what=what)
    return CredentialKey(tenant=tenant, credential=credential_digest(*credential), what=what)


def check_sharing_key(key: object, where: str) -> None:
    """For callers that no type checker has seen. Raises ConfigError."""
    if not isinstance(key, CredentialKey | OpenKey):
        made = "make it with keda_py.sdk.advanced.sharing_key, which takes the namespace and the credential"
        raise ConfigError(f"{where} is a {type(key).__name__}: {made}", field=where)


def _is_empty(part: Secret) -> bool:
    match part:
        case SecretStr():
            return not part.get_secret_value()
        case tuple():
            return all(_is_empty(one) for one in part)
        case _:
            return not part


def _encode(part: Secret) -> bytes:
    match part:
        case SecretStr():
            kind, body = b"s", part.get_secret_value().encode("utf-8", "surrogatepass")
        case str():
            kind, body = b"s", part.encode("utf-8", "surrogatepass")
        case tuple():
            kind, body = b"t", b"".join(_encode(one) for one in part)
        case _:
            kind, body = b"p", repr(part).encode()
    return b"%s%d:%s" % (kind, len(body), body)
