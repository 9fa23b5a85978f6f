"""Who asks a service of Azure that takes tokens alone: a service principal of the tenant's, or the operator itself."""

from pydantic import SecretStr

from keda_py.cloud.azure import ClientSecret
from keda_py.sdk.scaler import ConfigError, ScalerContext
from scalers.shared.azure.cloud_keys import is_workload


def principal_of(context: ScalerContext, service: str, **keys: str | SecretStr) -> ClientSecret | None:
    """From the keys for tenant, client and secret, in this order; None where podIdentity azure-workload asks.

    Raises ConfigError that names the key that is missing.
    """
    if is_workload(context, service):
        return None
    found = {key: value.get_secret_value() if isinstance(value, SecretStr) else value for key, value in keys.items()}
    if missing := [key for key, text in found.items() if not text]:
        what = f"no {' and no '.join(missing)} given"
        raise ConfigError(f"{what}: set it, or use podIdentity azure-workload", field=missing[0])
    tenant, client, secret = found.values()
    return ClientSecret(tenant_id=tenant, client_id=client, secret=SecretStr(secret))
