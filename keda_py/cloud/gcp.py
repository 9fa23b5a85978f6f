"""Google tokens, for a service account's JSON key or for the operator's own identity.

    source = await gcp.token_source(context, identity, scope, to=...)
    secret = await source.token()

The operator's identity is found as Google's libraries do: the file that GOOGLE_APPLICATION_CREDENTIALS names (a key, or
an external account of workload identity federation, see `gcp_external.py`), then the metadata server.
"""

import asyncio
import base64
import os
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson
from pydantic import BaseModel, SecretStr, ValidationError

from keda_py.clock import Clock
from keda_py.cloud.context import CloudContext
from keda_py.cloud.gcp_external import ExternalAccount, external_account, is_external
from keda_py.cloud.http_calls import HttpCall, ask
from keda_py.cloud.tokens import IssuedToken, TokenSource, ask_token, shared_source
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.credential_keys import CredentialKey, credential_digest
from keda_py.net.keys.private_keys import rs256
from keda_py.net.operator_identity import Destination

CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
"""Scope that covers everything the account is allowed to do."""
FILE_VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"

_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ASSERTION_SECONDS = 3600
_LONGEST_KEY = 64 * 1024
"""Bytes."""
_FLAVOR = {"Metadata-Flavor": "Google"}
_PROJECT_VARIABLES = ("CLOUDSDK_CORE_PROJECT", "GOOGLE_CLOUD_PROJECT")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccountKey:
    """JSON key of a tenant, and the field that holds it."""

    json: SecretStr
    field: str = "GoogleApplicationCredentials"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFile:
    """Key in a file of the operator that a tenant names: it may go only where the operator's own identity may go.

    The path may name any file, so no error tells what it holds or whether it exists.
    """

    path: SecretStr
    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorIdentity:
    """The operator's own identity: the file in its environment, or the metadata server."""


GcpIdentity = ServiceAccountKey | KeyFile | OperatorIdentity


class _Account(BaseModel):
    client_email: str
    private_key: SecretStr
    private_key_id: str = ""
    token_uri: str
    project_id: str = ""


async def token_source(
    context: CloudContext, identity: GcpIdentity, scope: str, *, to: Destination | None = None
) -> TokenSource:
    """Return the source of tokens for one scope such as `CLOUD_PLATFORM`.

    `to` is where the tokens will be sent, None for an address of Google or of the operator's environment. Raises
    ConfigError for an invalid key, or if the operator's identity must not go there; ScalerError for an unreadable file.
    """
    if isinstance(identity, OperatorIdentity | KeyFile) and to is not None:
        context.check_identity("token of Google", to)
    text, where = await _text_of(identity)
    http, clock = context.http, context.clock

    async def make() -> TokenSource:
        if not text.get_secret_value():
            return TokenSource(lambda: _of_metadata_server(http))
        account = _parse(text, where, by_operator=isinstance(identity, OperatorIdentity))
        if isinstance(account, ExternalAccount):
            return TokenSource(lambda: account.token(http, scope))
        _signed({}, account, f"{where}: private_key")  # reports an unusable key now, not at the first token
        return TokenSource(lambda: _of_account(http, clock, account, scope))

    # The operator's own identity gets a key of its own, even if a tenant's key has the same text.
    issuer = credential_digest("the operator" if isinstance(identity, OperatorIdentity) else "a key", where, text)
    key = CredentialKey(tenant=context.namespace, credential=issuer, what=("gcp token", scope))
    return await shared_source(context, key, make)


async def project_of(context: CloudContext, identity: GcpIdentity) -> str:
    """Return the default project: the key's, the environment's, or the metadata server's; else ""."""
    text, where = await _text_of(identity)
    if text.get_secret_value():
        account = _parse(text, where, by_operator=isinstance(identity, OperatorIdentity))
        return account.project_id or _project_of_environment()
    if project := _project_of_environment():
        return project
    question = HttpCall(url=f"{_metadata_root()}/project/", query={"recursive": "true"}, headers=_FLAVOR)
    return (await ask(question, context.http)).text("projectId") or ""


async def _text_of(identity: GcpIdentity) -> tuple[SecretStr, str]:
    """Return the JSON and the name of its place; "" for the metadata server."""
    match identity:
        case ServiceAccountKey():
            return identity.json, identity.field
        case KeyFile():
            return await asyncio.to_thread(_read_key, identity), identity.field
    path = os.environ.get(FILE_VARIABLE, "")
    return SecretStr(await asyncio.to_thread(_read, path) if path else ""), f"{FILE_VARIABLE} {path}"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScalerError(f"{FILE_VARIABLE} {path} cannot be read: {type(error).__name__}") from None


def _read_key(file: KeyFile) -> SecretStr:
    path = Path(file.path.get_secret_value())
    try:
        if path.is_file():
            with path.open("rb") as opened:
                # Bounded, because a tenant names the path, and a device or a file of /proc never ends.
                text = SecretStr(opened.read(_LONGEST_KEY).decode())
            _Account.model_validate_json(text.get_secret_value())
            return text
    except (OSError, ValueError):
        pass
    message = f"{file.field}: the operator has no readable key of a service account there: use a TriggerAuthentication"
    raise ConfigError(message, field=file.field)


def _parse(text: SecretStr, where: str, *, by_operator: bool) -> _Account | ExternalAccount:
    """Parse a key or, from the operator's own file only, an external account, which names a file to read and send."""
    if is_external(text):
        if by_operator:
            return external_account(text, where)
        message = (
            f"{where}: an external account reads a file of the operator's: store the JSON key of a service account"
        )
        raise ConfigError(message, field=where)
    try:
        account = _Account.model_validate_json(text.get_secret_value())
    except ValidationError:
        message = f"{where}: not the JSON key of a service account: create one and store it whole"
        raise ConfigError(message, field=where) from None
    return account


def _metadata_root() -> str:
    return f"http://{os.environ.get('GCE_METADATA_HOST') or 'metadata.google.internal'}/computeMetadata/v1"


def _project_of_environment() -> str:
    return next((os.environ[name] for name in _PROJECT_VARIABLES if os.environ.get(name)), "")


async def _of_metadata_server(http: httpx.AsyncClient) -> IssuedToken:
    url = f"{_metadata_root()}/instance/service-accounts/default/token"
    return await ask_token(HttpCall(url=url, headers=_FLAVOR), http)


async def _of_account(http: httpx.AsyncClient, clock: Clock, account: _Account, scope: str) -> IssuedToken:
    now = int(clock.now().timestamp())
    claims = {
        "iss": account.client_email,
        "scope": scope,
        "aud": account.token_uri,
        "iat": now,
        "exp": now + _ASSERTION_SECONDS,
    }
    form = {"grant_type": _GRANT, "assertion": _signed(claims, account, "private_key")}
    return await ask_token(HttpCall(url=account.token_uri, form=form), http)


def _signed(claims: dict[str, object], account: _Account, field: str) -> str:
    """Make a JSON Web Token (RS256) that names its key if the account does. Raises ConfigError."""
    kid = {"kid": account.private_key_id} if account.private_key_id else {}
    head = b".".join(_base64(orjson.dumps(part)) for part in ({"alg": "RS256", "typ": "JWT", **kid}, claims))
    signature = rs256(account.private_key.get_secret_value(), head, field)
    return b".".join((head, _base64(signature))).decode()


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
