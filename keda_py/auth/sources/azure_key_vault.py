"""Source `azureKeyVault`: secrets of Azure Key Vault, as a service principal or by workload identity.

Failures are raised. The token is from `keda_py/cloud/azure.py`, which checks whether the operator's own identity may go
to login and vault.
"""

from pydantic import SecretStr

from keda_py.apis.trigger_authentication import (
    AuthPodIdentity,
    AzureKeyVault,
    AzureKeyVaultCloud,
    AzureKeyVaultCredentials,
    AzureKeyVaultSecret,
)
from keda_py.auth.lookup.cloud_context import ResolvingContext
from keda_py.auth.lookup.lookup import Lookup
from keda_py.auth.sources.target_refs import read_secret_value
from keda_py.cloud import azure
from keda_py.cloud.azure_clouds import CLOUDS, scope_of
from keda_py.cloud.http_calls import HttpCall, ask, bearer
from keda_py.core.values.urls import path_segment
from keda_py.errors import ConfigError
from keda_py.net.operator_identity import Destination

_API_VERSION = "7.4"
_FIELD = "spec.azureKeyVault"


async def read_azure(vault: AzureKeyVault, lookup: Lookup) -> dict[str, SecretStr]:
    """Read the secrets. Raises ConfigError for errors of the user, ScalerError if Azure refuses or does not answer."""
    authority, resource = _cloud_of(vault.cloud)
    source = await azure.token_source(
        ResolvingContext(lookup),
        await _identity_of(vault, lookup),
        scope_of(resource),
        to=Destination(url=vault.vault_uri, field=f"{_FIELD}.vaultUri", service="azure key vault"),
        login=Destination(url=authority, field=f"{_FIELD}.cloud.activeDirectoryEndpoint", service="azure login"),
    )
    token = await source.token()
    return {secret.parameter: await _read(vault, secret, token, lookup) for secret in vault.secrets}


async def _read(vault: AzureKeyVault, secret: AzureKeyVaultSecret, token: SecretStr, lookup: Lookup) -> SecretStr:
    version = path_segment("version", secret.version) if secret.version else ""
    path = f"secrets/{path_segment('name', secret.name)}/{version}".rstrip("/")
    question = HttpCall(
        url=f"{vault.vault_uri.rstrip('/')}/{path}",
        query={"api-version": _API_VERSION},
        headers=bearer(token),
    )
    answer = await ask(question, lookup.around.http)
    value = answer.secret("value")
    if answer.status >= 400 or value is None:
        raise answer.refusal()
    return value


def _cloud_of(cloud: AzureKeyVaultCloud | None) -> tuple[str, str]:
    """Return the address of the login and the resource to log in for."""
    kind = cloud.type if cloud else "AzurePublicCloud"
    if cloud and kind.lower() == "private":
        for name, value in (
            ("keyVaultResourceURL", cloud.key_vault_resource_url),
            ("activeDirectoryEndpoint", cloud.active_directory_endpoint),
        ):
            if not value:
                raise ConfigError(f"azureKeyVault.cloud.{name}: is required for cloud type Private", field=_FIELD)
        return cloud.active_directory_endpoint, cloud.key_vault_resource_url
    for name, known in CLOUDS.items():
        if name.lower() == kind.lower():
            return known.authority, known.key_vault
    raise ConfigError(
        f'azureKeyVault.cloud.type: "{kind}" is unknown; use {", ".join(CLOUDS)} or Private', field=_FIELD
    )


async def _identity_of(vault: AzureKeyVault, lookup: Lookup) -> azure.AzureIdentity:
    if vault.pod_identity is not None and vault.pod_identity.provider == "azure-workload":
        return _workload_identity(vault.pod_identity)
    if vault.credentials is None:
        raise ConfigError(
            "azureKeyVault: clientID, tenantID and clientSecret are expected when not using a pod identity provider",
            field=f"{_FIELD}.credentials",
        )
    return await _principal(vault.credentials, lookup)


def _workload_identity(identity: AuthPodIdentity) -> azure.WorkloadIdentity:
    return azure.WorkloadIdentity(
        client_id=identity.identity_id,
        tenant_id=identity.identity_tenant_id,
        authority_host=identity.identity_authority_host,
        field=f"{_FIELD}.podIdentity",
    )


async def _principal(credentials: AzureKeyVaultCredentials, lookup: Lookup) -> azure.ClientSecret:
    secret = await read_secret_value(credentials.client_secret, lookup)
    if not secret:
        raise ConfigError("azureKeyVault.credentials.clientSecret: its Secret or key is missing", field=_FIELD)
    return azure.ClientSecret(tenant_id=credentials.tenant_id, client_id=credentials.client_id, secret=secret)
