"""The GCP block: a service account's key from a TriggerAuthentication, or the operator's own identity."""

import base64
import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import orjson
from pydantic import BaseModel, SecretStr, ValidationError

from keda_py.sdk.scaler import (
    AUTH,
    ENV,
    ConfigError,
    CredentialKey,
    Destination,
    ScalerContext,
    TriggerMetadata,
    credential_digest,
    named,
    rs256,
    sources,
)
from scalers.shared.bearer_token import BearerToken, Token, shared_token, token_for_form, token_from
from scalers.shared.http_answer import HttpQuestion

_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_METADATA_PATH = "/computeMetadata/v1/instance/service-accounts/default/token"
_ASSERTION_SECONDS = 3600


class GcpAuthMetadata(TriggerMetadata):
    """Keys of the block; `credentialsFromEnv` names a variable that holds the key's JSON."""

    google_application_credentials: Annotated[SecretStr, named("GoogleApplicationCredentials"), sources(AUTH)] = (
        SecretStr("")
    )
    credentials: Annotated[SecretStr, sources(ENV)] = SecretStr("")


class _ServiceAccount(BaseModel):
    client_email: str
    private_key: SecretStr
    token_uri: str


async def gcp_token(
    context: ScalerContext, metadata: GcpAuthMetadata, scope: str, to: Destination
) -> BearerToken | None:
    """The shared token for this scope, None where the trigger names no identity of GCP.

    Raises ConfigError, also where the operator's identity must not go.
    """
    by_operator, path = context.pod_identity.provider == "gcp", ""
    if by_operator:
        context.check_identity("token of Google", replace(to, service="google"))
        path = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS", "")
        text = SecretStr(_read_key(path) if path else "")
    else:
        text = metadata.google_application_credentials
        text = text if text.get_secret_value() else metadata.credentials
        if not text.get_secret_value():
            return None
    account = _parse(text) if text.get_secret_value() else None

    async def fetch() -> Token:
        return await (_of_metadata_server(context) if account is None else _of_account(context, account, scope))

    whose = credential_digest("the operator" if by_operator else "a key", path, text)
    key = CredentialKey(tenant=context.namespace, credential=whose, what=("gcp token", scope))
    return await shared_token(context, key, fetch)


async def _of_metadata_server(context: ScalerContext) -> Token:
    host = os.environ.get("GCE_METADATA_HOST") or "metadata.google.internal"
    return await token_from(
        context, HttpQuestion(url=f"http://{host}{_METADATA_PATH}", headers={"Metadata-Flavor": "Google"})
    )


async def _of_account(context: ScalerContext, account: _ServiceAccount, scope: str) -> Token:
    now = int(context.clock.now().timestamp())
    claims = {
        "iss": account.client_email,
        "scope": scope,
        "aud": account.token_uri,
        "iat": now,
        "exp": now + _ASSERTION_SECONDS,
    }
    form = {"grant_type": _GRANT, "assertion": _signed(claims, account.private_key)}
    return await token_for_form(context, account.token_uri, form)


def _signed(claims: dict[str, object], key: SecretStr) -> str:
    """A JSON Web Token by RS256. Raises ConfigError."""
    head = b".".join(_base64(orjson.dumps(part)) for part in ({"alg": "RS256", "typ": "JWT"}, claims))
    signature = rs256(key.get_secret_value(), head, "GoogleApplicationCredentials: private_key")
    return b".".join((head, _base64(signature))).decode()


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _parse(text: SecretStr) -> _ServiceAccount:
    try:
        account = _ServiceAccount.model_validate_json(text.get_secret_value())
        _signed({}, account.private_key)
    except ValidationError:
        message = "GoogleApplicationCredentials: not the JSON key of a service account: create one and store it whole"
        raise ConfigError(message, field="GoogleApplicationCredentials") from None
    return account


def _read_key(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        text = f"GOOGLE_APPLICATION_CREDENTIALS {path} cannot be read: {type(error).__name__}"
        raise ConfigError(text) from None
