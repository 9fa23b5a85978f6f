"""Azure tokens of Microsoft Entra ID, for a client secret or the operator's federated token.

source = await azure.token_source(context, identity, scope, to=..., login=...) secret = await source.token()
"""

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from keda_py.cloud.context import CloudContext
from keda_py.cloud.http_calls import HttpCall
from keda_py.cloud.tokens import IssuedToken, TokenSource, ask_token, shared_source
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.credential_keys import CredentialKey, credential_digest
from keda_py.net.operator_identity import Destination

_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSecret:
    """Service principal of a tenant."""

    tenant_id: str
    client_id: str
    secret: SecretStr


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadIdentity:
    """The operator's own identity, by its federated token. Fields that are not "" override its environment.

    `field` is the podIdentity's place in its object, for errors. `by_installation`: that object is a
    ClusterTriggerAuthentication, so that its authority host is the installation's choice.
    """

    client_id: str = ""
    tenant_id: str = ""
    authority_host: str = ""
    by_installation: bool = False
    field: str = "podIdentity"


AzureIdentity = ClientSecret | WorkloadIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class _EntraLogin:
    """Identity with everything that the token request needs; `token_file` is "" if it has a secret."""

    url: str
    client_id: str
    secret: SecretStr = field(default_factory=lambda: SecretStr(""))
    token_file: str = ""

    async def form(self) -> dict[str, str]:
        """Return the fields that prove the identity. Raises ScalerError."""
        if not self.token_file:
            return {"client_id": self.client_id, "client_secret": self.secret.get_secret_value()}
        assertion = await asyncio.to_thread(_read, self.token_file)
        return {"client_id": self.client_id, "client_assertion_type": _ASSERTION, "client_assertion": assertion}


async def token_source(
    context: CloudContext, identity: AzureIdentity, scope: str, *, to: Destination, login: Destination | None = None
) -> TokenSource:
    """Return the source of tokens for one scope such as "https://vault.azure.net/.default".

    `to` is where the tokens will be sent, `login` the cloud's login and the field that names it. A ClientSecret needs
    it; for a WorkloadIdentity the podIdentity and the operator's environment take precedence. Raises ConfigError if
    something is missing, or if the operator's identity must not go there; an unreadable file is a ScalerError of the
    source.
    """
    if isinstance(identity, WorkloadIdentity):
        _check(context, identity, to, login)
    client = _log_in(identity, login)
    http = context.http

    async def fetch() -> IssuedToken:
        form = {"grant_type": "client_credentials", "scope": scope, **await client.form()}
        return await ask_token(HttpCall(url=client.url, form=form), http)

    async def make() -> TokenSource:
        return TokenSource(fetch)

    # By path and not by content: the federated token in the file changes every hour, the identity does not.
    credential = credential_digest(client.url, client.client_id, client.secret, client.token_file)
    key = CredentialKey(tenant=context.namespace, credential=credential, what=("azure token", scope))
    return await shared_source(context, key, make)


def _check(context: CloudContext, identity: WorkloadIdentity, to: Destination, login: Destination | None) -> None:
    """Check login and service. Raises ConfigError if the operator's identity must not go to one of them."""
    chosen = login if not os.environ.get("AZURE_AUTHORITY_HOST") else None
    if identity.authority_host:
        chosen = Destination(
            url=identity.authority_host,
            field=f"{identity.field}.identityAuthorityHost",
            service="azure login",
            by_installation=identity.by_installation,
        )
    if chosen is not None:
        context.check_identity("federated token of Azure", chosen)
    context.check_identity("token of Azure", to)


def _log_in(identity: AzureIdentity, login: Destination | None) -> _EntraLogin:
    """Collect the login's parts. Raises ConfigError that names the missing ones."""
    fallback = login.url if login is not None else ""
    if isinstance(identity, ClientSecret):
        url = _endpoint(fallback, identity.tenant_id)
        return _EntraLogin(url=url, client_id=identity.client_id, secret=identity.secret)
    environment = os.environ
    found = {
        "AZURE_CLIENT_ID": identity.client_id or environment.get("AZURE_CLIENT_ID", ""),
        "AZURE_TENANT_ID": identity.tenant_id or environment.get("AZURE_TENANT_ID", ""),
        "AZURE_AUTHORITY_HOST": identity.authority_host or environment.get("AZURE_AUTHORITY_HOST", "") or fallback,
        "AZURE_FEDERATED_TOKEN_FILE": environment.get("AZURE_FEDERATED_TOKEN_FILE", ""),
    }
    if missing := [name for name, value in found.items() if not value]:
        where = "the operator's environment or the podIdentity of the TriggerAuthentication"
        message = f"podIdentity azure-workload: {', '.join(missing)} is missing: set it in {where}"
        raise ConfigError(message, field=identity.field)
    client_id, tenant_id, authority, file = found.values()
    return _EntraLogin(url=_endpoint(authority, tenant_id), client_id=client_id, token_file=file)


def _endpoint(authority: str, tenant_id: str) -> str:
    return f"{authority.rstrip('/')}/{tenant_id}/oauth2/v2.0/token"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ScalerError(f"AZURE_FEDERATED_TOKEN_FILE {path} cannot be read: {type(error).__name__}") from None
