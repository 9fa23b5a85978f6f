"""AWS sessions with fresh credentials: from an access key, the operator's own identity, or a role that it assumes.

    session = await aws.session(context, identity, region, to=...)

The operator's own credentials are found as AWS' libraries do: environment, web identity, EKS pod identity, instance. No
AWS library is imported before the first session, which `aws_sessions.py` makes.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from pydantic import SecretStr

from keda_py.cloud.context import CloudContext, nothing_to_close
from keda_py.net.credential_keys import CredentialDigest, CredentialKey, credential_digest
from keda_py.net.operator_identity import Destination

if TYPE_CHECKING:
    from aiobotocore.session import AioSession


@dataclass(frozen=True, slots=True, kw_only=True)
class AmbientIdentity:
    """The operator's own credentials: environment, web identity, EKS pod identity, instance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessKey:
    """Access key pair, with a session token if it is temporary."""

    key_id: SecretStr
    secret: SecretStr
    token: SecretStr = field(default_factory=lambda: SecretStr(""))


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumedRole:
    """Role that the operator's own identity assumes; by web identity first, if the operator has one."""

    arn: str
    external_id: str = ""
    by_web_identity: bool = False


AwsIdentity = AmbientIdentity | AccessKey | AssumedRole


async def session(
    context: CloudContext, identity: AwsIdentity, region: str = "", *, to: Destination | None = None
) -> "AioSession":
    """Return the session of this identity, shared within its tenant; its credentials are renewed before they expire.

    `region` is where STS is asked for a role, "" the operator's own. `to` is the destination of signed requests, None
    for an address that AWS' library derives from the region. Nothing is requested yet; using the session raises one of
    `aws_sessions.AWS_ERRORS`. Raises ConfigError if the operator's identity must not go there.
    """
    if to is not None and not isinstance(identity, AccessKey):  # an access key is the tenant's own
        context.check_identity("identity for AWS", to)
    timeout = context.http_timeout

    async def make() -> "AioSession":
        from keda_py.cloud.aws_sessions import open_session

        return open_session(identity, region, timeout)

    what = ("aws session", region, timeout)
    key = CredentialKey(tenant=context.namespace, credential=digest_of(identity), what=what)
    return await context.shared(key, make, nothing_to_close)


def digest_of(identity: AwsIdentity) -> CredentialDigest:
    """Return the digest under which sessions and clients of this identity are shared."""
    match identity:
        case AmbientIdentity():
            return credential_digest("the operator's own")
        case AccessKey():
            return credential_digest("an access key", identity.key_id, identity.secret, identity.token)
        case AssumedRole():
            return credential_digest("a role", identity.arn, identity.external_id, identity.by_web_identity)
    assert_never(identity)
