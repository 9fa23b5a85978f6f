"""External accounts of Google: a token of another issuer, read from a file and exchanged for one of Google's.

This is workload identity federation outside of GKE. The file is read for each exchange, because its writer replaces the
token before it expires. Other sources of the foreign token (an address, AWS, a program) are refused by name.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx
import orjson
from pydantic import BaseModel, SecretStr, ValidationError

from keda_py.cloud.http_calls import HttpCall, ask
from keda_py.cloud.tokens import IssuedToken, ask_token, granted
from keda_py.errors import ConfigError, ScalerError

_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
_TO_IMPERSONATE = "https://www.googleapis.com/auth/iam"
_IMPERSONATED_SECONDS = 3600.0


class _Kind(BaseModel):
    type: str


class _Format(BaseModel):
    type: Literal["text", "json"] = "text"
    subject_token_field_name: str = ""


class _Source(BaseModel):
    file: str
    format: _Format = _Format()


class _Document(BaseModel):
    audience: str
    subject_token_type: str
    token_url: str
    credential_source: _Source
    service_account_impersonation_url: str = ""
    project_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalAccount:
    """External account as the installation's file describes it."""

    document: _Document

    @property
    def project_id(self) -> str:
        """Return the project that the file names; a federated identity has no other."""
        return self.document.project_id

    async def token(self, http: httpx.AsyncClient, scope: str) -> IssuedToken:
        """Get a token of Google, of the impersonated service account if one is named. Raises ScalerError."""
        document = self.document
        foreign = await asyncio.to_thread(_read, document.credential_source)
        impersonates = bool(document.service_account_impersonation_url)
        form = {
            "grant_type": _GRANT,
            "audience": document.audience,
            "scope": _TO_IMPERSONATE if impersonates else scope,
            "requested_token_type": _ACCESS_TOKEN,
            "subject_token_type": document.subject_token_type,
            "subject_token": foreign,
        }
        token = await ask_token(HttpCall(url=document.token_url, form=form), http)
        return await self._impersonate(http, token, scope) if impersonates else token

    async def _impersonate(self, http: httpx.AsyncClient, token: IssuedToken, scope: str) -> IssuedToken:
        question = HttpCall(
            url=self.document.service_account_impersonation_url,
            headers={"Authorization": f"Bearer {token.text.get_secret_value()}"},
            json={"scope": [scope], "lifetime": f"{_IMPERSONATED_SECONDS:g}s"},
        )
        answer = await ask(question, http)
        return IssuedToken(text=granted(answer, "accessToken"), seconds=_IMPERSONATED_SECONDS)


def is_external(text: SecretStr) -> bool:
    """Return whether a credential declares itself an external account."""
    try:
        return _Kind.model_validate_json(text.get_secret_value()).type == "external_account"
    except ValidationError:
        return False


def external_account(text: SecretStr, where: str) -> ExternalAccount:
    """Parse an external account. Raises ConfigError without any of its content."""
    try:
        return ExternalAccount(document=_Document.model_validate_json(text.get_secret_value()))
    except ValidationError as invalid:
        fields = ", ".join(sorted({".".join(map(str, error["loc"])) for error in invalid.errors(include_input=False)}))
        message = (
            f"{where}: {fields}: missing or not understood; of an external account, credential_source names a file"
        )
        raise ConfigError(message, field=where) from None


def _read(source: _Source) -> str:
    try:
        text = Path(source.file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ScalerError(f"credential_source.file {source.file} cannot be read: {type(error).__name__}") from None
    if source.format.type == "text":
        return text
    name = source.format.subject_token_field_name
    try:
        found = orjson.loads(text)[name]
    except (ValueError, KeyError, TypeError):
        found = None
    if not isinstance(found, str):
        raise ScalerError(f'credential_source.file {source.file} has no text in "{name}"')
    return found
