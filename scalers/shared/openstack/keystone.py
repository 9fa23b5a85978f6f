"""Keystone: tokens for a user or an application credential, and the catalog of services that comes with them."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

import orjson
from pydantic import SecretStr

from keda_py.sdk.advanced import CredentialKey, ScalerContext, credential_digest, named
from keda_py.sdk.scaler import AUTH, ConfigError, ScalerError, TriggerMetadata, sources
from scalers.shared.answers.json_fields import INLINE_BYTES, child, children, json_object, string
from scalers.shared.http_answer import HttpQuestion, ask

_NONE = SecretStr("")
_LONGEST_TOKEN = 16 * 1024


class KeystoneMetadata(TriggerMetadata):
    """Keys of the block."""

    auth_url: Annotated[str, named("authURL"), sources(AUTH)]
    user_id: Annotated[str, named("userID"), sources(AUTH)] = ""
    password: Annotated[SecretStr, sources(AUTH)] = _NONE
    project_id: Annotated[str, named("projectID"), sources(AUTH)] = ""
    app_credential_id: Annotated[str, named("appCredentialID"), sources(AUTH)] = ""
    app_credential_secret: Annotated[SecretStr, sources(AUTH)] = _NONE


def check_keystone(metadata: KeystoneMetadata) -> None:
    """Raises ConfigError where neither a user nor an application credential is given whole."""
    if metadata.user_id:
        if not metadata.password.get_secret_value():
            raise ConfigError("password must be specified when using userID", field="password")
    elif not metadata.app_credential_id:
        message = "either userID or appCredentialID must be specified, in a TriggerAuthentication"
        raise ConfigError(message, field="userID")
    elif not metadata.app_credential_secret.get_secret_value():
        message = "appCredentialSecret must be specified when using appCredentialID, or userID and password"
        raise ConfigError(message, field="appCredentialSecret")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeystoneGrant:
    """A token, and the addresses of the object store by region."""

    token: SecretStr
    object_stores: tuple[tuple[str, str], ...] = ()


class Keystone:
    """One token for all who ask with the same credential, asked for again when a service does not take it."""

    def __init__(self, context: ScalerContext, metadata: KeystoneMetadata, timeout: float) -> None:
        self._context, self._metadata, self._timeout = context, metadata, timeout
        root = metadata.auth_url.rstrip("/")
        self.url = f"{root if root.endswith('/v3') else root + '/v3'}/auth/tokens"
        self._granted: KeystoneGrant | None = None
        self._asking = asyncio.Lock()

    async def granted(self, most: float | None = None) -> KeystoneGrant:
        """Return the token, requested within the time-out or `most` seconds. Raises ScalerError."""
        async with self._asking:
            if self._granted is None:
                self._granted = await self._ask(min(self._timeout, most or self._timeout))
            return self._granted

    def refused(self, granted: KeystoneGrant) -> None:
        """Forget a token that a service refused."""
        if self._granted is granted:
            self._granted = None

    async def _ask(self, seconds: float) -> KeystoneGrant:
        question = HttpQuestion(
            method="POST",
            url=self.url,
            content=orjson.dumps({"auth": _identity(self._metadata)}),
            headers={"Content-Type": "application/json"},
            timeout=timedelta(seconds=seconds),
        )
        answer = await ask(self._context, question)
        token = answer.headers.get("X-Subject-Token", "")
        if answer.status_code not in (200, 201) or not token or len(token) > _LONGEST_TOKEN:
            raise ScalerError(f"Keystone gave no token: status {answer.status_code}")
        stores = await self._context.parse(object_stores, answer.content, inline_bytes=INLINE_BYTES)
        return KeystoneGrant(token=SecretStr(token), object_stores=tuple((region, url) for region, url in stores))


async def keystone(context: ScalerContext, metadata: KeystoneMetadata, timeout: float) -> Keystone:
    """The shared one of this credential; asks nothing yet."""
    credential = credential_digest(
        metadata.user_id,
        metadata.password,
        metadata.project_id,
        metadata.app_credential_id,
        metadata.app_credential_secret,
    )
    key = CredentialKey(tenant=context.namespace, credential=credential, what=("keystone", metadata.auth_url, timeout))

    async def make() -> Keystone:
        return Keystone(context, metadata, timeout)

    async def nothing(_: Keystone) -> None:
        """Close nothing: a token expires."""

    return await context.shared(key, make, nothing)


def _identity(metadata: KeystoneMetadata) -> dict[str, object]:
    if metadata.user_id:
        user = {"id": metadata.user_id, "password": metadata.password.get_secret_value()}
        identity = {"methods": ["password"], "password": {"user": user}}
        return {"identity": identity, "scope": {"project": {"id": metadata.project_id}}}
    secret = metadata.app_credential_secret.get_secret_value()
    credential = {"id": metadata.app_credential_id, "secret": secret}
    return {"identity": {"methods": ["application_credential"], "application_credential": credential}}


def object_stores(text: bytes) -> list[list[str]]:
    """Region and address of each public object store in the catalog. Raises ScalerError."""
    return [
        [string(endpoint, "region"), string(endpoint, "url")]
        for service in children(child(json_object(text), "token"), "catalog")
        if string(service, "type") == "object-store"
        for endpoint in children(service, "endpoints")
        if string(endpoint, "interface") == "public"
    ]
