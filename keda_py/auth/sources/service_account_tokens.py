"""Tokens of ServiceAccounts: source `boundServiceAccountToken`, and those that a vault's login needs.

A token by TokenRequest is short-lived, and renewed after four fifths of its life, so that no reading fails because it
has expired. A token in a file is the operator's own, or one that a TriggerAuthentication names; as in KEDA, only a
regular file with a ServiceAccount's token is read. Callers check beforehand where a token may be sent.
"""

import asyncio
import base64
import binascii
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import orjson
from pydantic import SecretStr

from keda_py.apis.trigger_authentication import BoundServiceAccountToken
from keda_py.auth.lookup.lookup import Lookup
from keda_py.errors import ConfigError, NotFound, Unavailable
from keda_py.kube.resources import SERVICE_ACCOUNTS
from keda_py.kube.transport import Request
from keda_py.net.secret_texts import EMPTY

LIFE_USED = 0.8
OWN_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
_FIELD = "spec.hashiCorpVault.credential.serviceAccount"
_SUBJECT = "system:serviceaccount:"
# Bytes. Some files below /proc are endless: reading one would occupy a thread and fill the memory.
_LARGEST_TOKEN = 64 * 1024


async def read_bound_tokens(entries: Sequence[BoundServiceAccountToken], lookup: Lookup) -> dict[str, SecretStr]:
    """Request the tokens; a missing ServiceAccount gives an empty text. Raises KubeError if no token is issued."""
    found = {}
    for entry in entries:
        try:
            token = await request_token(lookup.namespace, entry.service_account_name, lookup)
        except NotFound:
            lookup.note_missing("serviceaccount", entry.service_account_name)
            lookup.resolve_again_in(LIFE_USED * lookup.around.settings.token_expiry.total_seconds())
            token = EMPTY
        found[entry.parameter] = token
    return found


async def request_token(namespace: str, name: str, lookup: Lookup) -> SecretStr:
    """Return a token of a ServiceAccount; the trigger is resolved again before it expires. Raises KubeError."""
    clock = lookup.around.clock

    async def issue() -> tuple[SecretStr, datetime]:
        seconds = int(lookup.around.settings.token_expiry.total_seconds())
        request = Request(
            method="POST",
            path=SERVICE_ACCOUNTS.named(namespace, name, "token").path,
            body={
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": seconds},
            },
            resource="serviceaccounts/token",
        )
        status = (await lookup.around.client.send(request)).get("status") or {}
        try:
            return SecretStr(str(status["token"])), datetime.fromisoformat(status["expirationTimestamp"])
        except (KeyError, ValueError):
            raise Unavailable(f"TokenRequest for ServiceAccount {name}: the answer has no token") from None

    token, ends = await lookup.around.tokens.get(lookup.key(("token request",), namespace, name), issue)
    lookup.resolve_again_in(max(LIFE_USED * (ends - clock.now()).total_seconds(), 0.0))
    return token


async def read_service_account_file(path: str) -> SecretStr:
    """Read a token; "" is the operator's own. Raises ConfigError without any of the file's content."""
    return await asyncio.to_thread(_read, Path(path or OWN_TOKEN))


def _read(path: Path) -> SecretStr:
    try:
        if not path.is_file():
            raise ConfigError(f"serviceAccount {path}: is not a regular file; name the file of a token", field=_FIELD)
        with path.open("rb") as file:
            # One byte more than allowed tells a file that is too long from one that just fits.
            found = file.read(_LARGEST_TOKEN + 1)
        if len(found) > _LARGEST_TOKEN:
            raise ConfigError(f"serviceAccount {path}: is over {_LARGEST_TOKEN} bytes, so no token", field=_FIELD)
        token = found.decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"serviceAccount {path} cannot be read: {type(error).__name__}", field=_FIELD) from None
    if not _subject(token).startswith(_SUBJECT):
        raise ConfigError(f"serviceAccount {path}: does not hold the token of a ServiceAccount", field=_FIELD)
    return SecretStr(token)


def _subject(token: str) -> str:
    """Return the subject of a JSON Web Token; its signature is for the receiver to verify."""
    _, _, rest = token.partition(".")
    payload, _, _ = rest.partition(".")
    try:
        claims = orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (binascii.Error, ValueError):
        return ""
    return str(claims.get("sub", "")) if isinstance(claims, dict) else ""
