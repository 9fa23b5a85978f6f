"""Source `awsSecretManager`: secrets of AWS Secrets Manager, by an access key or as a pod identity.

A secret that cannot be read is logged and gives no parameter, as in KEDA; the trigger is resolved again soon.
`keda_py/cloud/aws.py` makes the session; AWS' library is imported late.
"""

from collections.abc import Mapping
from typing import Protocol

import orjson
from pydantic import SecretStr

from keda_py.apis.trigger_authentication import AwsSecretManager, AwsSecretManagerSecret
from keda_py.auth.lookup.cloud_context import ResolvingContext
from keda_py.auth.lookup.lookup import Lookup
from keda_py.auth.lookup.pod_template import PodEnvironment
from keda_py.auth.sources.pod_identity import read_pod_identity
from keda_py.auth.sources.target_refs import read_secret_value
from keda_py.cloud import aws
from keda_py.errors import ConfigError
from keda_py.net.secret_texts import EMPTY

RETRY_SECONDS = 60.0
# Bytes. A secret has at most 64 KiB, and JSON may write a character as six.
LONGEST_ANSWER = 512 * 1024


class SecretsClient(Protocol):
    """Method of the library's client that is used here."""

    async def get_secret_value(self, *, SecretId: str, **version: str) -> Mapping[str, object]:  # noqa: N803 - AWS' name
        ...


async def read_aws(manager: AwsSecretManager, pod: PodEnvironment | None, lookup: Lookup) -> dict[str, SecretStr]:
    """Read the secrets. Raises ConfigError for an invalid identity, KubeError if its Secret cannot be read."""
    from keda_py.cloud.aws_sessions import AWS_ERRORS, client_config

    identity = await _identity_of(manager, pod, lookup)
    context, region = ResolvingContext(lookup), manager.region or None
    found: dict[str, SecretStr] = {}
    try:
        session = await aws.session(context, identity, manager.region)
        config = client_config(context.http_timeout, LONGEST_ANSWER)
        async with session.create_client("secretsmanager", region_name=region, config=config) as client:
            for secret in manager.secrets:
                try:
                    found[secret.parameter] = await _read(client, secret, lookup)
                except AWS_ERRORS as error:
                    _record_failure(error, secret.name, lookup)
    except AWS_ERRORS as error:
        _record_failure(error, "", lookup)
    return found


async def _read(client: SecretsClient, secret: AwsSecretManagerSecret, lookup: Lookup) -> SecretStr:
    which = {"VersionId": secret.version_id, "VersionStage": secret.version_stage}
    chosen = {name: value for name, value in which.items() if value}
    answer = await client.get_secret_value(SecretId=secret.name, **chosen)
    text = SecretStr(str(answer.get("SecretString", "")))
    return _select(text, secret, lookup) if secret.secret_key else text


def _select(text: SecretStr, secret: AwsSecretManagerSecret, lookup: Lookup) -> SecretStr:
    """Return one key of a secret that is a JSON object; an empty text if it is missing."""
    try:
        value = orjson.loads(text.get_secret_value())[secret.secret_key]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        lookup.note_missing("key of an aws secret", secret.name, secret.secret_key)
        return EMPTY
    return SecretStr(value if isinstance(value, str) else orjson.dumps(value).decode())


async def _identity_of(manager: AwsSecretManager, pod: PodEnvironment | None, lookup: Lookup) -> aws.AwsIdentity:
    if manager.credentials is not None:
        key = await read_secret_value(manager.credentials.access_key, lookup)
        secret = await read_secret_value(manager.credentials.access_secret_key, lookup)
        return aws.AccessKey(key_id=key, secret=secret)
    identity = manager.pod_identity
    if identity is None or identity.provider not in ("aws", "aws-eks"):
        raise ConfigError(
            "awsSecretManager: set credentials, or podIdentity with provider aws", field="spec.awsSecretManager"
        )
    role = (await read_pod_identity(identity, pod, lookup)).get("awsRoleArn", EMPTY).get_secret_value()
    if not role:
        return aws.AmbientIdentity()
    return aws.AssumedRole(arn=role, external_id=identity.external_id, by_web_identity=True)


def _record_failure(error: Exception, name: str, lookup: Lookup) -> None:
    """Record the failure. The text of an AWS error names operation and endpoint, never a credential."""
    lookup.note_trouble("secret of aws cannot be read", source=name, error=str(error))
    lookup.resolve_again_in(RETRY_SECONDS)
