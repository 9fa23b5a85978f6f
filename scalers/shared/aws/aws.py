"""The AWS block: which identity a trigger names. `keda_py/cloud/aws.py` makes a session of it."""

from typing import Annotated

from pydantic import SecretStr

from keda_py.cloud.aws import AccessKey, AmbientIdentity, AssumedRole, AwsIdentity
from keda_py.sdk.advanced import META, PodIdentity, named
from keda_py.sdk.scaler import AUTH, ENV, ConfigError, TriggerMetadata, sources

_NONE = SecretStr("")


class AwsAuthMetadata(TriggerMetadata):
    """Keys of the block."""

    identity_owner: str = "pod"
    aws_role_arn: Annotated[str, sources(AUTH)] = ""
    aws_access_key_id: Annotated[SecretStr, named("awsAccessKeyID", "awsAccessKeyId"), sources(AUTH, META, ENV)] = _NONE
    aws_secret_access_key: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    aws_session_token: Annotated[SecretStr, sources(AUTH)] = _NONE


class AwsServiceMetadata(AwsAuthMetadata):
    """The block, and where the service is; `awsEndpoint` "" is the service's own address in the region."""

    aws_region: Annotated[str, sources(META, AUTH)]
    aws_endpoint: str = ""


def aws_identity(metadata: AwsAuthMetadata, pod_identity: PodIdentity) -> AwsIdentity:
    """The first identity that the trigger names, in KEDA's order. Raises ConfigError."""
    if pod_identity.provider == "aws":
        arn = pod_identity.role_arn or metadata.aws_role_arn
        if not arn:
            return AmbientIdentity()
        return AssumedRole(arn=arn, external_id=pod_identity.external_id, by_web_identity=True)
    if metadata.identity_owner != "pod":  # as in KEDA, any other word is the operator
        return AmbientIdentity()
    if metadata.aws_role_arn:
        return AssumedRole(arn=metadata.aws_role_arn)
    _require(metadata.aws_access_key_id, "awsAccessKeyID")
    _require(metadata.aws_secret_access_key, "awsSecretAccessKey")
    return AccessKey(
        key_id=metadata.aws_access_key_id,
        secret=metadata.aws_secret_access_key,
        token=metadata.aws_session_token,
    )


def _require(value: SecretStr, key: str) -> None:
    if not value.get_secret_value():
        remedy = f"add it to the TriggerAuthentication, set {key}FromEnv, or use identityOwner operator"
        raise ConfigError(f"'{key}' not found: {remedy}", field=key)
