"""The key `cloud`: which of Azure's clouds a trigger means, and what a service is called there.

`Private` is a cloud that has no name here: the trigger writes its addresses itself.
"""

from collections.abc import Callable, Iterable

from keda_py.cloud.azure_clouds import CLOUDS, PRIVATE, AzureCloud, cloud_named
from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import ConfigError, TriggerMetadata

PUBLIC = CLOUDS["AzurePublicCloud"]


class AzureCloudMetadata(TriggerMetadata):
    """Keys of the block; names are read in small and capital letters, as in KEDA."""

    cloud: str = "AzurePublicCloud"


def cloud_of(metadata: AzureCloudMetadata) -> AzureCloud | None:
    """Return the cloud by name; None for Private. Raises ConfigError for an unknown name."""
    if metadata.cloud.lower() == PRIVATE.lower():
        return None
    if cloud := cloud_named(metadata.cloud):
        return cloud
    known = f"{', '.join(CLOUDS)} or {PRIVATE}"
    raise ConfigError(f'cloud: invalid cloud environment "{metadata.cloud}": use {known}', field="cloud")


def of_cloud(metadata: AzureCloudMetadata, pick: Callable[[AzureCloud], str], key: str, written: str) -> str:
    """Return a service's name in the trigger's cloud; for Private, the value of the key."""
    cloud = cloud_of(metadata)
    if cloud is not None:
        return pick(cloud)
    return given(written, key, f"{key} must be provided for Private cloud type: write what the service is called there")


def authority_of(metadata: AzureCloudMetadata, private: str = "") -> str:
    """Return the login of the trigger's cloud; "" where only the operator's environment tells it."""
    cloud = cloud_of(metadata)
    return private if cloud is None else cloud.authority


def given(value: str, key: str, otherwise: str) -> str:
    """Return the value. Raises ConfigError with `otherwise` if it is empty."""
    if not value:
        raise ConfigError(otherwise, field=key)
    return value


def is_workload(context: ScalerContext, service: str, others: Iterable[str] = ()) -> bool:
    """Return whether podIdentity is azure-workload. Raises ConfigError for one that the service does not know."""
    provider = context.pod_identity.provider
    if provider in ("", "none", *others):
        return False
    if provider == "azure-workload":
        return True
    remedy = "use azure-workload, or a credential of the TriggerAuthentication without podIdentity"
    raise ConfigError(
        f"podIdentity: pod identity {provider} is not supported for {service}: {remedy}", field="podIdentity"
    )
