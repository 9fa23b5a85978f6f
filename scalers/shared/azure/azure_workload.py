"""The Azure block: who asks by podIdentity `azure-workload`. `keda_py/cloud/azure.py` gets its tokens."""

from keda_py.cloud import azure
from keda_py.cloud.tokens import TokenSource
from keda_py.sdk.advanced import Destination, PodIdentity, ScalerContext


def workload_identity(pod_identity: PodIdentity) -> azure.WorkloadIdentity:
    """The operator's identity, as far as the TriggerAuthentication overrides it."""
    return azure.WorkloadIdentity(
        client_id=pod_identity.identity_id,
        tenant_id=pod_identity.identity_tenant_id,
        authority_host=pod_identity.identity_authority_host,
        by_installation=pod_identity.cluster_wide,
    )


async def azure_token(
    context: ScalerContext, scope: str, to: Destination, authority: str = "", own: azure.ClientSecret | None = None
) -> TokenSource:
    """The shared source for this scope; `authority` is the login of the trigger's cloud, "" where it has no name.

    `own` is a service principal of the tenant's, which goes before the operator's identity. Raises ConfigError, also
    where the operator's identity must not go.
    """
    identity = own or workload_identity(context.pod_identity)
    login = Destination(url=authority, field="cloud", service="azure login") if authority else None
    return await azure.token_source(context, identity, scope, to=to, login=login)
