"""Source `podIdentity`: the identity that a trigger uses. No credential is fetched here; the scaler does that.

An AWS role may be that of the scale target's ServiceAccount (annotation `eks.amazonaws.com/role-arn`): required for
provider aws with identityOwner workload, optional for aws-eks. Behaviour reference, section 11.3.
"""

from pydantic import SecretStr

from keda_py.apis.trigger_authentication import AuthPodIdentity
from keda_py.auth.lookup.lookup import Lookup
from keda_py.auth.lookup.pod_template import PodEnvironment
from keda_py.errors import ConfigError
from keda_py.net.secret_texts import as_secrets
from keda_py.sdk.scaler_context import PodIdentity

ROLE_ANNOTATION = "eks.amazonaws.com/role-arn"
DEFAULT_SERVICE_ACCOUNT = "default"


def pod_identity_of(identity: AuthPodIdentity | None, lookup: Lookup) -> PodIdentity:
    """Convert the identity for the scaler."""
    if identity is None:
        return PodIdentity()
    return PodIdentity(
        provider=identity.provider,
        identity_id=identity.identity_id,
        identity_tenant_id=identity.identity_tenant_id,
        identity_authority_host=identity.identity_authority_host,
        role_arn=identity.role_arn,
        external_id=identity.external_id,
        cluster_wide=lookup.cluster_wide,
    )


def needs_service_account(identity: AuthPodIdentity | None) -> bool:
    """Return whether the identity depends on the scale target's ServiceAccount."""
    if identity is None:
        return False
    return identity.provider == "aws-eks" or (identity.provider == "aws" and identity.identity_owner == "workload")


async def read_pod_identity(
    identity: AuthPodIdentity | None, pod: PodEnvironment | None, lookup: Lookup
) -> dict[str, SecretStr]:
    """Return the parameter awsRoleArn if there is a role. Raises ConfigError and KubeError."""
    if identity is None:
        return {}
    by_workload = identity.identity_owner == "workload"
    if identity.provider == "aws" and identity.role_arn:
        if by_workload:
            raise ConfigError(
                f"podIdentity.roleArn can't be set if KEDA isn't identity owner, current value: '{identity.role_arn}': "
                "leave it out, or set identityOwner to keda",
                field="spec.podIdentity.roleArn",
            )
        return as_secrets({"awsRoleArn": identity.role_arn})
    if not needs_service_account(identity):
        return {}
    role = await _role_of_service_account(pod, lookup)
    if not role and identity.provider == "aws":
        raise ConfigError(
            f"podIdentity.identityOwner workload: the scale target's ServiceAccount has no annotation "
            f"{ROLE_ANNOTATION}; add it, or set identityOwner to keda",
            field="spec.podIdentity.identityOwner",
        )
    return as_secrets({"awsRoleArn": role})


async def _role_of_service_account(pod: PodEnvironment | None, lookup: Lookup) -> str:
    if pod is None:
        raise ConfigError(
            "podIdentity: the scale target has no pod template, so it has no ServiceAccount; use identityOwner keda",
            field="spec.podIdentity.identityOwner",
        )
    name = pod.service_account_name or DEFAULT_SERVICE_ACCOUNT
    live = await lookup.service_account(name)
    if live is None:
        raise ConfigError(f'podIdentity: ServiceAccount "{name}" of the scale target does not exist: create it')
    annotations = live["metadata"].get("annotations") or {}
    return str(annotations.get(ROLE_ANNOTATION, ""))
