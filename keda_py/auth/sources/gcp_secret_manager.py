"""Source `gcpSecretManager`: secrets of Google Secret Manager, by a service account's key or the operator's identity.

A secret that cannot be read is logged and gives no parameter, as in KEDA; the trigger is resolved again soon.
"""

import base64
import binascii
import os
from dataclasses import dataclass

from pydantic import SecretStr

from keda_py.apis.trigger_authentication import GcpSecretManager, GcpSecretManagerSecret
from keda_py.auth.lookup.cloud_context import ResolvingContext
from keda_py.auth.lookup.lookup import Lookup
from keda_py.auth.sources.target_refs import read_secret_value
from keda_py.cloud import gcp
from keda_py.cloud.http_calls import HttpCall, ask, bearer
from keda_py.core.values.urls import path_segment
from keda_py.errors import ConfigError, ScalerError

RETRY_SECONDS = 60.0
_ENDPOINT_VARIABLE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER"
"""gcloud's own variable, for private endpoints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProjectToken:
    """Token, and the project of names without one."""

    token: SecretStr
    project: str


async def read_gcp(manager: GcpSecretManager, lookup: Lookup) -> dict[str, SecretStr]:
    """Read the secrets. Raises ConfigError without an identity, KubeError if its Secret cannot be read."""
    found: dict[str, SecretStr] = {}
    try:
        login = await _log_in(await _identity_of(manager, lookup), lookup)
    except ScalerError as error:
        _record_failure(error, "", lookup)
        return found
    for secret in manager.secrets:
        try:
            found[secret.parameter] = await _read(secret, login, lookup)
        except ScalerError as error:
            _record_failure(error, secret.id, lookup)
    return found


async def _identity_of(manager: GcpSecretManager, lookup: Lookup) -> gcp.GcpIdentity:
    if manager.credentials is not None:
        key = await read_secret_value(manager.credentials.client_secret, lookup)
        if not key:
            raise ConfigError("gcpSecretManager.credentials.clientSecret: its Secret or key is missing")
        return gcp.ServiceAccountKey(json=key, field="gcpSecretManager.credentials.clientSecret")
    if manager.pod_identity is None or manager.pod_identity.provider != "gcp":
        raise ConfigError("gcpSecretManager: set credentials, or podIdentity with provider gcp")
    return gcp.OperatorIdentity()


async def _log_in(identity: gcp.GcpIdentity, lookup: Lookup) -> _ProjectToken:
    """Get a token. Raises ConfigError and ScalerError."""
    context = ResolvingContext(lookup)
    source = await gcp.token_source(context, identity, gcp.CLOUD_PLATFORM)
    token = await source.token()
    return _ProjectToken(token=token, project=await gcp.project_of(context, identity))


async def _read(secret: GcpSecretManagerSecret, login: _ProjectToken, lookup: Lookup) -> SecretStr:
    endpoint = os.environ.get(_ENDPOINT_VARIABLE) or "https://secretmanager.googleapis.com"
    project = path_segment("the project of the credential", login.project, safe=":")
    version = path_segment("version", secret.version or "latest")
    name = f"projects/{project}/secrets/{path_segment('id', secret.id)}/versions/{version}"
    question = HttpCall(url=f"{endpoint.rstrip('/')}/v1/{name}:access", headers=bearer(login.token))
    answer = await ask(question, lookup.around.http)
    data = answer.secret("payload", "data")
    if answer.status >= 400 or data is None:
        raise answer.refusal()
    try:
        return SecretStr(base64.b64decode(data.get_secret_value()).decode())
    except (binascii.Error, UnicodeDecodeError):
        raise ScalerError(f"{question.shown}: the secret is not text") from None


def _record_failure(error: ScalerError, name: str, lookup: Lookup) -> None:
    lookup.note_trouble("secret of gcp cannot be read", source=name, error=str(error))
    lookup.resolve_again_in(RETRY_SECONDS)
