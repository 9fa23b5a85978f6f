"""TriggerAuthentication and ClusterTriggerAuthentication: where a trigger's credentials come from.

`keda_py/auth` resolves them, one provider per file, in the order of behaviour reference section 11.1. Both kinds share
a spec; `filePath` counts in the cluster-wide kind only. Values here are names and addresses, except a Vault token,
which is a SecretStr.
"""

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from keda_py.apis.wire import ObjectMeta, Wire

Provider = Literal["azure-workload", "gcp", "aws", "aws-eks", "none"]


class SecretKeyRef(Wire):
    """A key of a Secret."""

    name: str
    key: str


class ValueFromSecret(Wire):
    """The only place such a value may come from."""

    secret_key_ref: SecretKeyRef


class SecretValue(Wire):
    """A value kept in a Secret."""

    value_from: ValueFromSecret


class AuthPodIdentity(Wire):
    """Identity that the pod has without any credential of its own."""

    provider: Provider
    identity_id: str = ""
    identity_tenant_id: str = ""
    identity_authority_host: str = ""
    role_arn: str = ""
    """AWS role to assume."""
    external_id: Annotated[str, Field(alias="externalID")] = ""
    """External id demanded by the role's trust policy."""
    identity_owner: Literal["", "keda", "workload"] = ""
    """Whose identity: the operator's (keda) or that of the scale target (workload)."""


class AuthTargetRef(Wire):
    """A trigger parameter from a key of a Secret or ConfigMap."""

    parameter: str
    name: str
    key: str


class AuthEnvironment(Wire):
    """A trigger parameter from the environment of the scale target."""

    parameter: str
    name: str
    container_name: str = ""
    """The first container where it is left out."""


class BoundServiceAccountToken(Wire):
    """A trigger parameter that is a short-lived token of a ServiceAccount."""

    parameter: str
    service_account_name: str


class VaultCredential(Wire):
    """How to log in to Vault."""

    token: SecretStr | None = None
    service_account: str = ""
    """File with a ServiceAccount token."""
    service_account_name: str = ""
    """ServiceAccount whose token is requested."""


class VaultPkiData(Wire):
    """The certificate to be issued."""

    common_name: str = ""
    alt_names: str = ""
    ip_sans: str = ""
    uri_sans: str = ""
    other_sans: str = ""
    ttl: str = ""
    format: str = ""


class VaultSecret(Wire):
    """A trigger parameter from a Vault secret."""

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
    """A trigger parameter from a Key Vault secret."""

    parameter: str
    name: str
    version: str = ""


class AzureKeyVaultCredentials(Wire):
    """A service principal."""

    client_id: str
    tenant_id: str
    client_secret: SecretValue


class AzureKeyVaultCloud(Wire):
    """Which Azure cloud; addresses are for type Private."""

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
    """A trigger parameter from a Secret Manager secret."""

    parameter: str
    id: str
    version: str = ""


class GcpCredentials(Wire):
    """A service account's key file."""

    client_secret: SecretValue


class GcpSecretManager(Wire):
    """Secrets of Google Secret Manager."""

    secrets: Annotated[list[GcpSecretManagerSecret], Field(min_length=1)]
    credentials: GcpCredentials | None = None
    pod_identity: AuthPodIdentity | None = None


class AwsSecretManagerSecret(Wire):
    """A trigger parameter from a Secrets Manager secret."""

    parameter: str
    name: str
    version_id: str = ""
    version_stage: str = ""
    secret_key: str = ""
    """Key inside a secret that is JSON."""


class AwsSecretManagerCredentials(Wire):
    """An access key."""

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
    """An access token by the client credentials grant."""

    type: Literal["clientCredentials"] = "clientCredentials"
    client_id: str
    client_secret: SecretValue | None = None
    token_url: str
    scopes: list[str] = []
    token_url_params: dict[str, str] = {}


class TriggerAuthenticationSpec(Wire):
    """Sources of credentials; of two that give the same parameter the later one in KEDA's order wins."""

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
    """Who uses it, comma separated."""

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
