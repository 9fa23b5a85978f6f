"""TriggerAuthentication and ClusterTriggerAuthentication: sources of a trigger's credentials.

`keda_py/auth` resolves them, one provider per file, in the order of behaviour reference section 11.1. Both kinds share
a spec; `filePath` is allowed in the cluster-wide kind only. Values here are names and addresses, except a Vault token,
which is a SecretStr.
"""

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from keda_py.apis.wire import ObjectMeta, Wire

Provider = Literal["azure-workload", "gcp", "aws", "aws-eks", "none"]


class SecretKeyRef(Wire):
    """Reference to one key of a Secret."""

    name: str
    key: str


class ValueFromSecret(Wire):
    """Source of a secret value, which is always a Secret."""

    secret_key_ref: SecretKeyRef


class SecretValue(Wire):
    """Value stored in a Secret."""

    value_from: ValueFromSecret


class AuthPodIdentity(Wire):
    """Identity that a pod has without a credential of its own."""

    provider: Provider
    identity_id: str = ""
    identity_tenant_id: str = ""
    identity_authority_host: str = ""
    role_arn: str = ""
    """AWS role to assume."""
    external_id: Annotated[str, Field(alias="externalID")] = ""
    """External id demanded by the role's trust policy."""
    identity_owner: Literal["", "keda", "workload"] = ""
    """Owner of the identity: the operator (keda) or the scale target (workload)."""


class AuthTargetRef(Wire):
    """Trigger parameter from a key of a Secret or ConfigMap."""

    parameter: str
    name: str
    key: str


class AuthEnvironment(Wire):
    """Trigger parameter from the environment of the scale target."""

    parameter: str
    name: str
    container_name: str = ""
    """The first container by default."""


class BoundServiceAccountToken(Wire):
    """Trigger parameter that is a short-lived token of a ServiceAccount."""

    parameter: str
    service_account_name: str


class VaultCredential(Wire):
    """Login to Vault: a token, or a ServiceAccount's."""

    token: SecretStr | None = None
    service_account: str = ""
    """File with a ServiceAccount token."""
    service_account_name: str = ""
    """ServiceAccount whose token is requested."""


class VaultPkiData(Wire):
    """Parameters of a certificate to be issued."""

    common_name: str = ""
    alt_names: str = ""
    ip_sans: str = ""
    uri_sans: str = ""
    other_sans: str = ""
    ttl: str = ""
    format: str = ""


class VaultSecret(Wire):
    """Trigger parameter from a Vault secret."""

    parameter: str
    path: str
    key: str
    type: Literal["", "secretV2", "secret", "pki"] | None = None
    pki_data: VaultPkiData | None = None


class HashiCorpVault(Wire):
    """Secrets of HashiCorp Vault."""

    address: str
    authentication: Literal["token", "kubernetes"]
    namespace: str = ""
    role: str = ""
    mount: str = ""
    credential: VaultCredential | None = None
    secrets: Annotated[list[VaultSecret], Field(min_length=1)]


class AzureKeyVaultSecret(Wire):
    """Trigger parameter from a Key Vault secret."""

    parameter: str
    name: str
    version: str = ""


class AzureKeyVaultCredentials(Wire):
    """Service principal with a client secret."""

    client_id: str
    tenant_id: str
    client_secret: SecretValue


class AzureKeyVaultCloud(Wire):
    """Azure cloud; addresses are for type Private."""

    type: str
    key_vault_resource_url: Annotated[str, Field(alias="keyVaultResourceURL")] = ""
    active_directory_endpoint: str = ""


class AzureKeyVault(Wire):
    """Secrets of Azure Key Vault."""

    vault_uri: str
    secrets: Annotated[list[AzureKeyVaultSecret], Field(min_length=1)]
    credentials: AzureKeyVaultCredentials | None = None
    pod_identity: AuthPodIdentity | None = None
    cloud: AzureKeyVaultCloud | None = None


class GcpSecretManagerSecret(Wire):
    """Trigger parameter from a Secret Manager secret."""

    parameter: str
    id: str
    version: str = ""


class GcpCredentials(Wire):
    """Key file of a service account."""

    client_secret: SecretValue


class GcpSecretManager(Wire):
    """Secrets of Google Secret Manager."""

    secrets: Annotated[list[GcpSecretManagerSecret], Field(min_length=1)]
    credentials: GcpCredentials | None = None
    pod_identity: AuthPodIdentity | None = None


class AwsSecretManagerSecret(Wire):
    """Trigger parameter from a Secrets Manager secret."""

    parameter: str
    name: str
    version_id: str = ""
    version_stage: str = ""
    secret_key: str = ""
    """Key inside a secret that is JSON."""


class AwsSecretManagerCredentials(Wire):
    """Access key pair, with a session token if it is temporary."""

    access_key: SecretValue
    access_secret_key: SecretValue
    access_token: SecretValue | None = None


class AwsSecretManager(Wire):
    """Secrets of AWS Secrets Manager."""

    secrets: Annotated[list[AwsSecretManagerSecret], Field(min_length=1)]
    credentials: AwsSecretManagerCredentials | None = None
    pod_identity: AuthPodIdentity | None = None
    region: str = ""


class OAuth2(Wire):
    """Parameters of the client credentials grant."""

    type: Literal["clientCredentials"] = "clientCredentials"
    client_id: str
    client_secret: SecretValue | None = None
    token_url: str
    scopes: list[str] = []
    token_url_params: dict[str, str] = {}


class TriggerAuthenticationSpec(Wire):
    """Sources of credentials; for one parameter the last source in KEDA's order counts."""

    pod_identity: AuthPodIdentity | None = None
    env: list[AuthEnvironment] = []
    file_path: str = ""
    """File below the operator's --filepath-auth-root-path; ClusterTriggerAuthentication only."""
    config_map_target_ref: list[AuthTargetRef] = []
    secret_target_ref: list[AuthTargetRef] = []
    hashi_corp_vault: HashiCorpVault | None = None
    azure_key_vault: AzureKeyVault | None = None
    gcp_secret_manager: GcpSecretManager | None = None
    aws_secret_manager: AwsSecretManager | None = None
    bound_service_account_token: list[BoundServiceAccountToken] = []
    oauth2: OAuth2 | None = None


class TriggerAuthenticationStatus(Wire):
    """Names of the objects that use it, comma separated."""

    scaledobjects: str = ""
    scaledjobs: str = ""


class TriggerAuthentication(Wire):
    """Credentials for triggers of its namespace."""

    metadata: ObjectMeta
    spec: TriggerAuthenticationSpec
    status: TriggerAuthenticationStatus = TriggerAuthenticationStatus()


class ClusterTriggerAuthentication(Wire):
    """Credentials for triggers of every namespace."""

    metadata: ObjectMeta
    spec: TriggerAuthenticationSpec
    status: TriggerAuthenticationStatus = TriggerAuthenticationStatus()
