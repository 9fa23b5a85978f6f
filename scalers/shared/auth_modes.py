"""The `authModes` block: how a scaler that reads HTTP proves who it is. Shared by prometheus and metrics-api.

Each scaler honours some of the modes; a mode that it does not honour is accepted and does nothing, as with KEDA.
"""

import ssl
from typing import Annotated, Literal, Self

from pydantic import SecretStr, model_validator

from keda_py.sdk.advanced import META, ScalerContext, TlsSettings, named
from keda_py.sdk.scaler import AUTH, TriggerMetadata, sources
from scalers.shared.credentials.basic import basic

AuthMode = Literal["apiKey", "basic", "tls", "bearer", "custom", "oauth"]

_ALLOWED: tuple[AuthMode, ...] = ("apiKey", "basic", "tls", "bearer", "custom", "oauth")
_EXCLUSIVE = {"basic", "bearer", "oauth"}
_NONE = SecretStr("")
# Required keys of each mode: (field, key).
_REQUIRED: dict[str, tuple[tuple[str, str], ...]] = {
    "apiKey": (("api_key", "apiKey"),),
    "basic": (("username", "username"),),
    "tls": (("cert", "cert"), ("key", "key")),
    "bearer": (("bearer_token", "bearerToken"),),
    "custom": (("custom_auth_header", "customAuthHeader"), ("custom_auth_value", "customAuthValue")),
    "oauth": (("oauth_token_uri", "oauthTokenURI"), ("client_id", "clientID")),
}


class AuthModesMetadata(TriggerMetadata):
    """Keys of the block; everything secret comes from a TriggerAuthentication."""

    auth_modes: Annotated[list[str], named("authModes", "authMode"), sources(META, AUTH)] = []
    bearer_token: Annotated[SecretStr, named("bearerToken", "token"), sources(AUTH)] = _NONE
    username: Annotated[SecretStr, sources(AUTH)] = _NONE
    password: Annotated[SecretStr, sources(AUTH)] = _NONE
    cert: Annotated[SecretStr, sources(AUTH)] = _NONE
    key: Annotated[SecretStr, sources(AUTH)] = _NONE
    ca: Annotated[str, sources(AUTH)] = ""
    custom_auth_header: Annotated[str, sources(AUTH)] = ""
    custom_auth_value: Annotated[SecretStr, sources(AUTH)] = _NONE
    api_key: Annotated[SecretStr, sources(META, AUTH)] = _NONE
    method: Annotated[Literal["header", "query"], sources(META, AUTH)] = "header"
    key_param_name: Annotated[str, sources(META, AUTH)] = ""
    oauth_token_uri: Annotated[str, named("oauthTokenURI"), sources(AUTH)] = ""
    scopes: Annotated[list[str], named("scopes", "scope"), sources(AUTH)] = []
    client_id: Annotated[str, named("clientID"), sources(AUTH)] = ""
    client_secret: Annotated[SecretStr, sources(AUTH)] = _NONE
    endpoint_params: Annotated[dict[str, list[str]], sources(AUTH)] = {}

    @model_validator(mode="after")
    def _check_modes(self) -> Self:
        modes = set(self.auth_modes)
        if unknown := sorted(modes - set(_ALLOWED)):
            raise ValueError(f"authModes: {', '.join(unknown)} is not allowed: use {', '.join(_ALLOWED)}")
        if len(modes & _EXCLUSIVE) > 1:
            raise ValueError(f"authModes: {', '.join(sorted(modes & _EXCLUSIVE))} exclude each other: keep one")
        for mode in self.auth_modes:
            lacking = [key for field, key in _REQUIRED[mode] if not self._text(field)]
            if lacking:
                missing = " and ".join(lacking)
                raise ValueError(f"authModes: {mode} needs {missing}: add it to the TriggerAuthentication")
        return self

    def _text(self, field: str) -> str:
        value = getattr(self, field)
        return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


def auth_headers(metadata: AuthModesMetadata, honoured: frozenset[AuthMode]) -> dict[str, str]:
    """The headers of the modes that are on; of an API key only where it travels in a header.

    A header of one's own (custom) goes before one that another mode makes.
    """
    headers: dict[str, str] = {}
    for mode in (one for one in _ALLOWED if one in honoured and one in metadata.auth_modes):
        match mode:
            case "basic":
                user, password = metadata.username.get_secret_value(), metadata.password.get_secret_value()
                headers |= basic(user, password)
            case "bearer":
                headers["Authorization"] = f"Bearer {metadata.bearer_token.get_secret_value()}"
            case "custom":
                headers[metadata.custom_auth_header] = metadata.custom_auth_value.get_secret_value()
            case "apiKey" if metadata.method == "header":
                headers[metadata.key_param_name or "X-API-KEY"] = metadata.api_key.get_secret_value()
    return headers


def auth_parameters(metadata: AuthModesMetadata) -> dict[str, str]:
    """The query parameter of an API key that travels there."""
    if "apiKey" not in metadata.auth_modes or metadata.method != "query":
        return {}
    return {metadata.key_param_name or "api_key": metadata.api_key.get_secret_value()}


def auth_tls(metadata: AuthModesMetadata, context: ScalerContext, *, unsafe: bool) -> ssl.SSLContext | None:
    """Make the TLS context; None if nothing differs from the shared client's. Raises ConfigError."""
    presents = "tls" in metadata.auth_modes
    settings = TlsSettings(
        ca=metadata.ca,
        cert=metadata.cert.get_secret_value() if presents else "",
        key=metadata.key.get_secret_value() if presents else "",
        unsafe=unsafe,
    )
    return None if settings == TlsSettings() else context.tls_context(settings)
