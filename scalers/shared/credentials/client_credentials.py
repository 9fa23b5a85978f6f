"""OAuth 2 client credentials: tokens of a tenant's own identity provider, shared within the tenant."""

import base64
from dataclasses import dataclass, field
from urllib.parse import quote_plus

from pydantic import SecretStr

from keda_py.cloud.questions import Question, Sent
from keda_py.cloud.tokens import Token, TokenSource, ask_token, shared_source
from keda_py.sdk.scaler import CredentialKey, ScalerContext, ScalerError, credential_digest


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredentials:
    """Who asks, where, and for what; `parameters` are sent along."""

    endpoint: str
    client_id: SecretStr
    client_secret: SecretStr
    scopes: tuple[str, ...] = ()
    parameters: tuple[tuple[str, str], ...] = field(default=(), repr=False)


async def client_credentials(context: ScalerContext, grant: ClientCredentials) -> TokenSource:
    """The source of tokens for this grant. Its `token` raises ScalerError when the provider gives none."""
    scopes = (*grant.scopes, *(part for pair in grant.parameters for part in pair))
    digest = credential_digest(grant.endpoint, grant.client_id, grant.client_secret, scopes, len(grant.scopes))
    key = CredentialKey(tenant=context.namespace, credential=digest, what=("oauth client credentials",))

    async def make() -> TokenSource:
        return TokenSource(lambda: _fetch(context, grant))

    return await shared_source(context, key, make)


async def _fetch(context: ScalerContext, grant: ClientCredentials) -> Token:
    """By Basic, else in the form: providers take one or the other, and do not say which."""
    form: dict[str, str | SecretStr] = {"grant_type": "client_credentials", **dict(grant.parameters)}
    if grant.scopes:
        form["scope"] = " ".join(grant.scopes)
    by_form: Sent = {**form, "client_id": grant.client_id, "client_secret": grant.client_secret}
    try:
        return await ask_token(Question(url=grant.endpoint, headers=_basic(grant), form=form), context.http)
    except ScalerError as refused:
        try:
            return await ask_token(Question(url=grant.endpoint, form=by_form), context.http)
        except ScalerError:
            raise refused from None


def _basic(grant: ClientCredentials) -> Sent:
    parts = (quote_plus(part.get_secret_value()) for part in (grant.client_id, grant.client_secret))
    return {"Authorization": SecretStr(f"Basic {base64.b64encode(':'.join(parts).encode()).decode()}")}
