"""Credentials for the management interface: a user, a client of an OAuth 2 server, or the operator's Azure identity."""

from keda_py.cloud.azure_clouds import scope_of
from keda_py.sdk.advanced import Destination, ScalerContext
from scalers.shared.azure.azure_workload import azure_token
from scalers.shared.bearer_token import BearerToken, Signer
from scalers.shared.credentials.basic import basic
from scalers.shared.oauth2 import ClientGrant, client_token
from scalers.shared.rabbitmq.metadata import RabbitmqMetadata


def basic_header(metadata: RabbitmqMetadata) -> dict[str, str]:
    """User and password; nothing where there are none."""
    user, password = (part.get_secret_value() for part in metadata.credentials)
    if not user:
        return {}
    return basic(user, password)


async def signer_of(metadata: RabbitmqMetadata, context: ScalerContext) -> Signer | None:
    """Return the signer of an OAuth client or Azure identity; None for a user.

    Raises ConfigError where it must not go.
    """
    if metadata.oauth_token_uri:
        grant = ClientGrant(
            url=metadata.oauth_token_uri,
            client_id=metadata.client_id,
            client_secret=metadata.client_secret,
            scopes=tuple(metadata.scopes),
            parameters=tuple((name, values[0]) for name, values in metadata.endpoint_params.items()),
        )
        return BearerToken(await client_token(context, grant))
    resource = metadata.workload_identity_resource
    if resource and context.pod_identity.provider == "azure-workload":
        to = Destination(url=metadata.address.api, field="host")
        return BearerToken(await azure_token(context, scope_of(resource.removesuffix("/.default")), to))
    return None
