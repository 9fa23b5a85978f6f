"""The GCP block: a service account's key from a TriggerAuthentication, or the operator's own identity.

The token is `keda_py/cloud/gcp.py`'s.
"""

from dataclasses import replace
from typing import Annotated

from pydantic import SecretStr

from keda_py.cloud import gcp
from keda_py.cloud.tokens import TokenSource
from keda_py.sdk.advanced import Destination, PodIdentity, ScalerContext, named, variable
from keda_py.sdk.scaler import AUTH, ENV, ConfigError, TriggerMetadata, sources


class GcpAuthMetadata(TriggerMetadata):
    """Keys of the block; `credentialsFromEnv` names a variable that holds the key's JSON.

    `credentialsFromEnvFile` names one that holds the path of a file of the operator's, as in KEDA: such a key goes only
    where the operator's own identity may go.
    """

    google_application_credentials: Annotated[SecretStr, named("GoogleApplicationCredentials"), sources(AUTH)] = (
        SecretStr("")
    )
    credentials: Annotated[SecretStr, sources(ENV)] = SecretStr("")
    credentials_file: Annotated[SecretStr, sources(ENV), variable("credentialsFromEnvFile")] = SecretStr("")


def gcp_identity(metadata: GcpAuthMetadata, pod_identity: PodIdentity) -> gcp.GcpIdentity | None:
    """The first identity that the trigger names, in KEDA's order; None if missing."""
    if pod_identity.provider == "gcp":
        return gcp.OperatorIdentity()
    for json, field in (
        (metadata.google_application_credentials, "GoogleApplicationCredentials"),
        (metadata.credentials, "credentialsFromEnv"),
    ):
        if json.get_secret_value():
            return gcp.ServiceAccountKey(json=json, field=field)
    if metadata.credentials_file.get_secret_value():
        return gcp.KeyFile(path=metadata.credentials_file, field="credentialsFromEnvFile")
    return None


def required_gcp_identity(metadata: GcpAuthMetadata, pod_identity: PodIdentity) -> gcp.GcpIdentity:
    """As `gcp_identity`, where there must be one. Raises ConfigError."""
    identity = gcp_identity(metadata, pod_identity)
    if identity is None:
        remedy = "give GoogleApplicationCredentials in a TriggerAuthentication, credentialsFromEnv, or podIdentity gcp"
        raise ConfigError(f"google application credentials not found: {remedy}", field="GoogleApplicationCredentials")
    return identity


async def gcp_token(
    context: ScalerContext, metadata: GcpAuthMetadata, scope: str, to: Destination
) -> TokenSource | None:
    """The shared source for this scope, None where the trigger names no identity of GCP.

    Raises ConfigError, also where the operator's identity must not go.
    """
    identity = gcp_identity(metadata, context.pod_identity)
    if identity is None:
        return None
    return await gcp.token_source(context, identity, scope, to=replace(to, service="google"))
