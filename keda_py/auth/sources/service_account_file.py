"""The operator's own ServiceAccount token, or another one from a file that a TriggerAuthentication names.

As in KEDA, only a regular file that holds a token of a ServiceAccount is read, and none that is longer than a token
ever is: a file of /proc has no end. Where the token may be sent is asked before this is called.
"""

import asyncio
import base64
import binascii
from pathlib import Path

import orjson
from pydantic import SecretStr

from keda_py.errors import ConfigError

OWN_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
_FIELD = "spec.hashiCorpVault.credential.serviceAccount"
_SUBJECT = "system:serviceaccount:"
_LARGEST_TOKEN = 64 * 1024
"""Bytes. Some files below /proc never end, and reading one would hold a thread and fill the memory."""


async def read_service_account_file(path: str) -> SecretStr:
    """The token; "" stands for the operator's own. Raises ConfigError, which repeats nothing of the file."""
    return await asyncio.to_thread(_read, Path(path or OWN_TOKEN))


def _read(path: Path) -> SecretStr:
    try:
        if not path.is_file():
            raise ConfigError(f"serviceAccount {path}: is not a regular file; name the file of a token", field=_FIELD)
        with path.open("rb") as file:
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
    """Whom a JSON Web Token is about; its signature is for the receiver to check."""
    _, _, rest = token.partition(".")
    payload, _, _ = rest.partition(".")
    try:
        claims = orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (binascii.Error, ValueError):
        return ""
    return str(claims.get("sub", "")) if isinstance(claims, dict) else ""
