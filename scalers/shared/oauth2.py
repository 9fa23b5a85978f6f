"""Tokens of a trigger's own client at its own token endpoint (OAuth 2, client credentials)."""

import base64
from dataclasses import dataclass, field
from urllib.parse import quote_plus

from pydantic import SecretStr

from keda_py.cloud.http_calls import HttpCall, Sent
from keda_py.cloud.tokens import IssuedToken, TokenSource, ask_token, shared_source
from keda_py.errors import ScalerError
from keda_py.sdk.advanced import CredentialKey, ScalerContext, credential_digest


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientGrant:
    """A client's request for tokens; `parameters` are further fields of the form."""

    url: str
    client_id: str
    client_secret: SecretStr
    scopes: tuple[str, ...] = ()
    parameters: tuple[tuple[str, str], ...] = field(default=(), repr=False)


async def client_token(context: ScalerContext, grant: ClientGrant) -> TokenSource:
    """The shared source of this client's tokens; asks nothing yet."""
    credential = credential_digest(grant.client_id, grant.client_secret, grant.scopes, grant.parameters)
    key = CredentialKey(tenant=context.namespace, credential=credential, what=("oauth2", grant.url))

    async def fetch() -> IssuedToken:
        return await _ask(context, grant)

    async def make() -> TokenSource:
        return TokenSource(fetch)

    return await shared_source(context, key, make)


async def _ask(context: ScalerContext, grant: ClientGrant) -> IssuedToken:
    """Request a token with a header, as the standard prefers, then with the form, which some servers need."""
    form: Sent = {**dict(grant.parameters), "grant_type": "client_credentials"}
    if grant.scopes:
        form = {**form, "scope": " ".join(grant.scopes)}
    secret = grant.client_secret.get_secret_value()
    pair = f"{quote_plus(grant.client_id)}:{quote_plus(secret)}".encode()
    header = {"Authorization": SecretStr(f"Basic {base64.b64encode(pair).decode()}")}
    try:
        return await ask_token(HttpCall(url=grant.url, headers=header, form=form), context.http)
    except ScalerError as refused:
        form = {**form, "client_id": grant.client_id, "client_secret": grant.client_secret}
        try:
            return await ask_token(HttpCall(url=grant.url, form=form), context.http)
        except ScalerError:
            raise refused from None
