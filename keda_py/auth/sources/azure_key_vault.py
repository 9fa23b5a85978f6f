"""`azureKeyVault`: secrets of Azure Key Vault, as a service principal or by workload identity. Failures are raised.

Workload identity is the operator's own: where it may go is decided in `net/operator_identity.py`.
"""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from keda_py.apis.trigger_authentication import (
    AuthPodIdentity,
    AzureKeyVault,
    AzureKeyVaultCloud,
    AzureKeyVaultCredentials,
    AzureKeyVaultSecret,
)
from keda_py.auth.lookup.lookup import Lookup
from keda_py.auth.sources.questions import Question, Sent, ask, bearer
from keda_py.auth.sources.secret import read_secret_value
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.operator_identity import Destination

_API_VERSION = "7.4"
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_FIELD = "spec.azureKeyVault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """Where to log in, and for which resource."""

    authority: str
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Login:
    """What proves who asks; `authority` where the identity has one of its own."""

    form: Sent
    tenant: str
    authority: str = ""


CLOUDS: Mapping[str, Cloud] = {
    "AzurePublicCloud": Cloud(authority="https://login.microsoftonline.com", resource="https://vault.azure.net"),
    "AzureUSGovernmentCloud": Cloud(
        authority="https://login.microsoftonline.us", resource="https://vault.usgovcloudapi.net"
    ),
    "AzureChinaCloud": Cloud(authority="https://login.chinacloudapi.cn", resource="https://vault.azure.cn"),
}


async def read_azure(vault: AzureKeyVault, lookup: Lookup) -> dict[str, SecretStr]:
    """Raises ConfigError for what the user must fix, ScalerError when Azure refuses or does not answer."""
    cloud = _cloud_of(vault.cloud)
    login = await _login(vault, cloud, lookup)
    form = {**login.form, "scope": f"{cloud.resource.rstrip('/')}/.default"}
    url = f"{(login.authority or cloud.authority).rstrip('/')}/{login.tenant}/oauth2/v2.0/token"
    answer = await ask(Question(url=url, form=form), lookup)
    token = answer.secret("access_token")
    if answer.status >= 400 or not token:
        raise answer.refusal()
    return {secret.parameter: await _read(vault, secret, token, lookup) for secret in vault.secrets}


async def _read(vault: AzureKeyVault, secret: AzureKeyVaultSecret, token: SecretStr, lookup: Lookup) -> SecretStr:
    path = f"secrets/{secret.name}/{secret.version}".rstrip("/")
    question = Question(
        url=f"{vault.vault_uri.rstrip('/')}/{path}",
        query={"api-version": _API_VERSION},
        headers=bearer(token),
    )
    answer = await ask(question, lookup)
    value = answer.secret("value")
    if answer.status >= 400 or value is None:
        raise answer.refusal()
    return value


def _cloud_of(cloud: AzureKeyVaultCloud | None) -> Cloud:
    kind = cloud.type if cloud else "AzurePublicCloud"
    if cloud and kind.lower() == "private":
        for name, value in (
            ("keyVaultResourceURL", cloud.key_vault_resource_url),
            ("activeDirectoryEndpoint", cloud.active_directory_endpoint),
        ):
            if not value:
                raise ConfigError(f"azureKeyVault.cloud.{name}: is required for cloud type Private", field=_FIELD)
        return Cloud(authority=cloud.active_directory_endpoint, resource=cloud.key_vault_resource_url)
    for name, known in CLOUDS.items():
        if name.lower() == kind.lower():
            return known
    raise ConfigError(
        f'azureKeyVault.cloud.type: "{kind}" is unknown; use {", ".join(CLOUDS)} or Private', field=_FIELD
    )


async def _login(vault: AzureKeyVault, cloud: Cloud, lookup: Lookup) -> _Login:
    if vault.pod_identity is not None and vault.pod_identity.provider == "azure-workload":
        _check_identity(vault, vault.pod_identity, cloud, lookup)
        return await asyncio.to_thread(_workload_login, vault.pod_identity)
    if vault.credentials is None:
        raise ConfigError(
            "azureKeyVault: clientID, tenantID and clientSecret are expected when not using a pod identity provider",
            field=f"{_FIELD}.credentials",
        )
    return await _principal_login(vault.credentials, lookup)


def _check_identity(vault: AzureKeyVault, identity: AuthPodIdentity, cloud: Cloud, lookup: Lookup) -> None:
    """Raises ConfigError where login or vault is an address that the operator's identity must not go to."""
    chosen = identity.identity_authority_host
    field = f"{_FIELD}.podIdentity.identityAuthorityHost"
    if not chosen and not os.environ.get("AZURE_AUTHORITY_HOST"):
        chosen, field = cloud.authority, f"{_FIELD}.cloud.activeDirectoryEndpoint"
    if chosen:
        login = Destination(url=chosen, field=field, service="azure login")
        lookup.check_identity("federated token of Azure", login)
    secrets = Destination(url=vault.vault_uri, field=f"{_FIELD}.vaultUri", service="azure key vault")
    lookup.check_identity("token of Azure", secrets)


async def _principal_login(credentials: AzureKeyVaultCredentials, lookup: Lookup) -> _Login:
    secret = await read_secret_value(credentials.client_secret, lookup)
    if not secret:
        raise ConfigError("azureKeyVault.credentials.clientSecret: its Secret or key is missing", field=_FIELD)
    form: dict[str, str | SecretStr] = {
        "grant_type": "client_credentials",
        "client_id": credentials.client_id,
        "client_secret": secret,
    }
    return _Login(form=form, tenant=credentials.tenant_id)


def _workload_login(identity: AuthPodIdentity) -> _Login:
    """The operator's environment, overridden by the podIdentity."""
    wanted = {
        "AZURE_CLIENT_ID": identity.identity_id,
        "AZURE_TENANT_ID": identity.identity_tenant_id,
        "AZURE_AUTHORITY_HOST": identity.identity_authority_host,
        "AZURE_FEDERATED_TOKEN_FILE": "",
    }
    found = {name: given or os.environ.get(name, "") for name, given in wanted.items()}
    if missing := [name for name, value in found.items() if not value and name != "AZURE_AUTHORITY_HOST"]:
        raise ConfigError(
            f"podIdentity azure-workload: {', '.join(missing)} is missing: set it in the operator's environment "
            "or the podIdentity",
            field=f"{_FIELD}.podIdentity",
        )
    file = found["AZURE_FEDERATED_TOKEN_FILE"]
    try:
        token = SecretStr(Path(file).read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError) as error:
        raise ScalerError(f"AZURE_FEDERATED_TOKEN_FILE {file} cannot be read: {type(error).__name__}") from None
    form: dict[str, str | SecretStr] = {
        "grant_type": "client_credentials",
        "client_id": found["AZURE_CLIENT_ID"],
        "client_assertion_type": _ASSERTION,
        "client_assertion": token,
    }
    return _Login(form=form, tenant=found["AZURE_TENANT_ID"], authority=found["AZURE_AUTHORITY_HOST"])
