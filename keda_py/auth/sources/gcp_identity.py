"""An access token of Google: by a service account's key, or from the metadata server of the operator's own identity."""

import asyncio
import base64
import os
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import BaseModel, SecretStr, ValidationError

from keda_py.auth.lookup.lookup import Lookup
from keda_py.auth.sources.questions import Question, ask
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.keys.private_keys import rs256

_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_ASSERTION_SECONDS = 3600
_METADATA = "/computeMetadata/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpLogin:
    """A token, and the project that names without one belong to."""

    token: SecretStr
    project: str


class _ServiceAccount(BaseModel):
    client_email: str
    private_key: SecretStr
    token_uri: str
    project_id: str = ""


async def log_in(key: SecretStr, lookup: Lookup) -> GcpLogin:
    """By this JSON key; "" is the operator's own identity. Raises ConfigError and ScalerError."""
    if not key and (path := os.environ.get("GOOGLE_APPLICATION_CREDENTIALS", "")):
        key = await asyncio.to_thread(_read_key, path)
    if not key:
        return await _by_metadata_server(lookup)
    account = _parse(key)
    form: dict[str, str | SecretStr] = {
        "grant_type": _GRANT,
        "assertion": _assertion(account, int(lookup.around.clock.now().timestamp())),
    }
    token = await _token(Question(url=account.token_uri, form=form), lookup)
    return GcpLogin(token=token, project=account.project_id or _project_of_environment())


async def _by_metadata_server(lookup: Lookup) -> GcpLogin:
    root = f"http://{os.environ.get('GCE_METADATA_HOST') or 'metadata.google.internal'}{_METADATA}"
    headers = {"Metadata-Flavor": "Google"}
    account = Question(url=f"{root}/instance/service-accounts/default/token", headers=headers)
    token = await _token(account, lookup)
    server = Question(url=f"{root}/project/", query={"recursive": "true"}, headers=headers)
    project = _project_of_environment() or await _project_of_server(server, lookup)
    return GcpLogin(token=token, project=project)


async def _token(question: Question, lookup: Lookup) -> SecretStr:
    answer = await ask(question, lookup)
    token = answer.secret("access_token")
    if answer.status >= 400 or not token:
        raise answer.refusal()
    return token


async def _project_of_server(question: Question, lookup: Lookup) -> str:
    answer = await ask(question, lookup)
    return answer.text("projectId") or ""


def _project_of_environment() -> str:
    names = ("CLOUDSDK_CORE_PROJECT", "GOOGLE_CLOUD_PROJECT")
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def _assertion(account: _ServiceAccount, now: int) -> SecretStr:
    """A JSON Web Token by RS256."""
    claims = {
        "iss": account.client_email,
        "scope": _SCOPE,
        "aud": account.token_uri,
        "iat": now,
        "exp": now + _ASSERTION_SECONDS,
    }
    head = b".".join(_base64(orjson.dumps(part)) for part in ({"alg": "RS256", "typ": "JWT"}, claims))
    signature = rs256(account.private_key.get_secret_value(), head, "gcp credentials: private_key")
    return SecretStr(b".".join((head, _base64(signature))).decode())


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _parse(key: SecretStr) -> _ServiceAccount:
    try:
        return _ServiceAccount.model_validate_json(key.get_secret_value())
    except ValidationError:
        raise ConfigError("gcp credentials: not the JSON key of a service account; store it whole") from None


def _read_key(path: str) -> SecretStr:
    try:
        return SecretStr(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ScalerError(f"GOOGLE_APPLICATION_CREDENTIALS {path} cannot be read: {type(error).__name__}") from None
