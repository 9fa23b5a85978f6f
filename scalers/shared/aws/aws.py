"""The AWS block: which credentials a trigger uses. No I/O and no AWS library here; `aws_session.py` opens clients."""

from dataclasses import dataclass
from typing import Annotated, assert_never

from pydantic import SecretStr

from keda_py.sdk.scaler import (
    AUTH,
    ENV,
    META,
    ConfigError,
    CredentialDigest,
    Destination,
    PodIdentity,
    ScalerContext,
    TriggerMetadata,
    credential_digest,
    named,
    sources,
)

_NONE = SecretStr("")


class AwsAuthMetadata(TriggerMetadata):
    """Keys of the block."""

    identity_owner: str = "pod"
    aws_role_arn: Annotated[str, sources(AUTH)] = ""
    aws_access_key_id: Annotated[SecretStr, named("awsAccessKeyID", "awsAccessKeyId"), sources(AUTH, META, ENV)] = _NONE
    aws_secret_access_key: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    aws_session_token: Annotated[SecretStr, sources(AUTH)] = _NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class AmbientIdentity:
    """The operator's own credentials: environment, web identity, instance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessKey:
    """A key pair, with a token where it is temporary."""

    key_id: SecretStr
    secret: SecretStr
    token: SecretStr


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumedRole:
    """A role that the operator's own identity assumes; by web identity first, where the operator has one."""

    arn: str
    external_id: str = ""
    by_web_identity: bool = False


AwsIdentity = AmbientIdentity | AccessKey | AssumedRole


def check_identity(identity: AwsIdentity, to: Destination, context: ScalerContext) -> None:
    """An access key is the tenant's own; all else is the operator's identity, or made with it. Raises ConfigError."""
    if not isinstance(identity, AccessKey):
        context.check_identity("identity for AWS", to)


def digest_of(identity: AwsIdentity) -> CredentialDigest:
    """What clients of this identity are shared under."""
    match identity:
        case AmbientIdentity():
            return credential_digest("the operator's own")
        case AccessKey():
            return credential_digest("an access key", identity.key_id, identity.secret, identity.token)
        case AssumedRole():
            return credential_digest("a role", identity.arn, identity.external_id, identity.by_web_identity)
    assert_never(identity)


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
