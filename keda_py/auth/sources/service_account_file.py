"""ServiceAccount tokens in files: the operator's own, or one that a TriggerAuthentication names.

As in KEDA, only a regular file with a ServiceAccount's token is read. Its length is bounded. Callers check beforehand
where the token may be sent.
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
# Bytes. Some files below /proc are endless: reading one would occupy a thread and fill the memory.
_LARGEST_TOKEN = 64 * 1024


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
