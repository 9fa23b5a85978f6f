"""`awsSecretManager`: secrets of AWS Secrets Manager, by an access key or as a pod identity.

A secret that cannot be read is told in the log and gives no parameter, as in KEDA; the trigger is resolved again soon.
Only this file of the package needs an AWS library, imported late: it costs 0.7 s and 25 MiB.
"""

import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import orjson
from pydantic import Secret, SecretStr

from keda_py.apis.trigger_authentication import AuthPodIdentity, AwsSecretManager, AwsSecretManagerSecret
from keda_py.auth.lookup.lookup import Lookup
from keda_py.auth.lookup.pod_template import PodTemplate
from keda_py.auth.sources.pod_identity import read_pod_identity
from keda_py.auth.sources.secret import read_secret_value
from keda_py.errors import ConfigError
from keda_py.net.secret_texts import EMPTY

if TYPE_CHECKING:
    from aiobotocore.session import AioSession

RETRY_SECONDS = 60.0
_SESSION_NAME = "keda-py"

log = logging.getLogger(__name__)


class SecretsClient(Protocol):
    """What is used of the library's client."""

    async def get_secret_value(self, *, SecretId: str, **version: str) -> Mapping[str, object]:  # noqa: N803 - AWS' name
        """Raises the library's errors."""
        ...


async def read_aws(manager: AwsSecretManager, pod: PodTemplate | None, lookup: Lookup) -> dict[str, SecretStr]:
    """Raises ConfigError for an identity that cannot be, KubeError when its Secret cannot be known."""
    from botocore.exceptions import BotoCoreError, ClientError

    refusals = (BotoCoreError, ClientError, OSError, TimeoutError)
    found: dict[str, SecretStr] = {}
    try:
        session = await _open_session(manager, pod, lookup)
        async with session.create_client("secretsmanager", region_name=manager.region or None) as client:
            for secret in manager.secrets:
                try:
                    found[secret.parameter] = await _read(client, secret, lookup)
                except refusals as error:
                    _tell(error, secret.name, lookup)
    except refusals as error:
        _tell(error, "", lookup)
    return found


async def _read(client: SecretsClient, secret: AwsSecretManagerSecret, lookup: Lookup) -> SecretStr:
    which = {"VersionId": secret.version_id, "VersionStage": secret.version_stage}
    chosen = {name: value for name, value in which.items() if value}
    answer = await client.get_secret_value(SecretId=secret.name, **chosen)
    text = SecretStr(str(answer.get("SecretString", "")))
    return _select(text, secret, lookup) if secret.secret_key else text


def _select(text: SecretStr, secret: AwsSecretManagerSecret, lookup: Lookup) -> SecretStr:
    """One key of a secret that is a JSON object."""
    try:
        value = orjson.loads(text.get_secret_value())[secret.secret_key]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        lookup.note_missing("key of an aws secret", secret.name, secret.secret_key)
        return EMPTY
    return SecretStr(value if isinstance(value, str) else orjson.dumps(value).decode())


async def _open_session(manager: AwsSecretManager, pod: PodTemplate | None, lookup: Lookup) -> "AioSession":
    from aiobotocore.session import get_session

    session = get_session()
    if manager.credentials is not None:
        key = await read_secret_value(manager.credentials.access_key, lookup)
        secret = await read_secret_value(manager.credentials.access_secret_key, lookup)
        session.set_credentials(key.get_secret_value(), secret.get_secret_value())
        return session
    identity = manager.pod_identity
    if identity is None or identity.provider not in ("aws", "aws-eks"):
        raise ConfigError(
            "awsSecretManager: set credentials, or podIdentity with provider aws", field="spec.awsSecretManager"
        )
    role = (await read_pod_identity(identity, pod, lookup)).get("awsRoleArn", EMPTY)
    if role:
        given = (await _assume(role.get_secret_value(), identity, manager.region)).get_secret_value()
        session.set_credentials(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
    return session


async def _assume(role: str, identity: AuthPodIdentity, region: str) -> Secret[Mapping[str, str]]:
    """Credentials of a role: by web identity where the operator has one, else by the operator's own identity."""
    from aiobotocore.config import AioConfig
    from aiobotocore.session import get_session
    from botocore import UNSIGNED
    from botocore.exceptions import ClientError

    who = {"RoleArn": role, "RoleSessionName": _SESSION_NAME}
    if token_file := os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE", ""):
        unsigned = AioConfig(signature_version=UNSIGNED)
        async with get_session().create_client("sts", region_name=region or None, config=unsigned) as sts:
            try:
                token = SecretStr(await asyncio.to_thread(_read_token, token_file))
                answer = await sts.assume_role_with_web_identity(**who, WebIdentityToken=token.get_secret_value())
                return _credentials(answer)
            except (ClientError, OSError):
                log.debug("role does not trust the web identity; trying the operator's own", extra={"role": role})
    external = {"ExternalId": identity.external_id} if identity.external_id else {}
    async with get_session().create_client("sts", region_name=region or None) as sts:
        return _credentials(await sts.assume_role(**who, **external))


def _read_token(path: str) -> str:
    return Path(path).read_text(encoding="utf-8").strip()


def _credentials(answer: Mapping[str, Mapping[str, str]]) -> Secret[Mapping[str, str]]:
    return Secret[Mapping[str, str]](answer["Credentials"])


def _tell(error: Exception, name: str, lookup: Lookup) -> None:
    """The text of an AWS error names operation and endpoint, never a credential."""
    lookup.note_trouble("secret of aws cannot be read", source=name, error=str(error))
    lookup.resolve_again_in(RETRY_SECONDS)
