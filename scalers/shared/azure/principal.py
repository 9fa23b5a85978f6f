"""Identities for services of Azure that take tokens alone: a tenant's service principal, or the operator itself."""

from collections.abc import Mapping
from typing import ClassVar, Generic, TypeVar

from pydantic import SecretStr
from pydantic.alias_generators import to_camel

from keda_py.cloud.azure import ClientSecret
from keda_py.cloud.azure_clouds import scope_of
from keda_py.sdk.advanced import Destination, ScalerContext
from keda_py.sdk.scaler import ConfigError, Scaler
from scalers.shared.azure.azure_workload import azure_token
from scalers.shared.azure.cloud_keys import AzureCloudMetadata, is_workload, of_cloud
from scalers.shared.bearer_token import BearerToken, Signer


class PrincipalMetadata(AzureCloudMetadata):
    """Keys of the block; those of the principal itself differ by type, in their names and sources."""

    principal_fields: ClassVar[tuple[str, str, str]] = ("tenant_id", "client_id", "client_secret")

    active_directory_endpoint: str = ""

    def principal(self) -> Mapping[str, str | SecretStr]:
        """Tenant, client and secret, in this order, by their names on the wire."""
        return {to_camel(name): getattr(self, name) for name in self.principal_fields}

    def login(self, private: str = "") -> str:
        """Return the login of the cloud; for Private, the one in the metadata, or `private`.

        Raises ConfigError if neither.
        """
        written = self.active_directory_endpoint or private
        return of_cloud(self, lambda cloud: cloud.authority, "activeDirectoryEndpoint", written)


P = TypeVar("P", bound=PrincipalMetadata)


class PrincipalScaler(Scaler[P], Generic[P]):
    """A scaler whose `open` gets tokens; `service` is its name in errors."""

    service: ClassVar[str]
    _signer: Signer

    def __init__(self, metadata: P, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._own = _principal(context, self.service, metadata.principal())

    async def _prove(self, to: Destination, resource: str, login: str) -> None:
        """Get tokens for `resource`, which go `to` the service. Raises ConfigError where the operator's must not go."""
        self._signer = BearerToken(await azure_token(self.context, scope_of(resource), to, login, self._own))


def _principal(context: ScalerContext, service: str, keys: Mapping[str, str | SecretStr]) -> ClientSecret | None:
    """Return the service principal; None under podIdentity azure-workload. Raises ConfigError for a missing key."""
    if is_workload(context, service):
        return None
    found = {key: value.get_secret_value() if isinstance(value, SecretStr) else value for key, value in keys.items()}
    if missing := [key for key, text in found.items() if not text]:
        what = f"no {' and no '.join(missing)} given"
        raise ConfigError(f"{what}: set it, or use podIdentity azure-workload", field=missing[0])
    tenant, client, secret = found.values()
    return ClientSecret(tenant_id=tenant, client_id=client, secret=SecretStr(secret))
