"""Clients of AWS services, shared between triggers with one service, region, endpoint and identity.

Importing aiobotocore costs 0.7 s and 25 MiB, and every client 3-70 ms of CPU: this file is imported by scalers that
always need AWS, and late by those that rarely do.
"""

import functools
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from aiobotocore.awsrequest import AioAWSResponse
from aiobotocore.config import AioConfig
from aiobotocore.credentials import AioDeferredRefreshableCredentials
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.session import AioSession, get_session
from aiohttp import ClientError as HttpError
from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest
from botocore.credentials import ReadOnlyCredentials
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoCredentialsError
from botocore.parsers import ResponseParserError

from keda_py.sdk.scaler import CredentialKey, Destination, ScalerContext, ScalerError
from scalers.shared.aws.aws import AccessKey, AmbientIdentity, AssumedRole, AwsIdentity, check_identity, digest_of

AWS_ERRORS = (BotoCoreError, ClientError, ResponseParserError, RecursionError, OSError, TimeoutError)
"""What a call may raise; their texts name operation and endpoint, never a credential."""

_LONGEST_ANSWER = 64 * 1024
"""Bytes; what we ask for is a few counts or a credential, and it is parsed on the loop."""

_SESSION_NAME = "keda-py"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsService:
    """Which client: `endpoint` "" is the service's own, which its region decides; a region has no dots."""

    service: str
    region: str
    endpoint: str
    identity: AwsIdentity

    def key(self, tenant: str) -> CredentialKey:
        """Under which its client is shared."""
        what = ("aws", self.service, self.region, self.endpoint)
        return CredentialKey(tenant=tenant, credential=digest_of(self.identity), what=what)


class AwsClient(Protocol):
    """What aiobotocore generates; every operation is a coroutine that takes keywords."""

    def __getattr__(self, operation: str) -> "AwsOperation":
        """`client.get_queue_attributes`."""
        ...


class AwsOperation(Protocol):
    """One operation."""

    async def __call__(self, **parameters: object) -> Mapping[str, object]:
        """Raises one of AWS_ERRORS."""
        ...


async def aws_client(service: AwsService, context: ScalerContext) -> AwsClient:
    """The shared client; asks AWS nothing yet.

    Raises ScalerError when it cannot be made, ConfigError for an endpoint where the operator's identity must not go.
    """
    if service.endpoint:
        check_identity(service.identity, Destination(url=service.endpoint, field="awsEndpoint"), context)

    async def open_client() -> tuple[AwsClient, AsyncExitStack]:
        stack = AsyncExitStack()
        try:
            client = await stack.enter_async_context(_create(service, context))
        except AWS_ERRORS as error:
            raise ScalerError(f"no client for AWS {service.service} in {service.region}: {error}") from error
        return client, stack

    client, _ = await context.shared(service.key(context.namespace), open_client, _close)
    return client


async def _close(opened: tuple[AwsClient, AsyncExitStack]) -> None:
    await opened[1].aclose()


def session_of(identity: AwsIdentity, region: str, timeout: float) -> AioSession:
    """A session with the identity's credentials, renewed by themselves where they expire."""
    session = _new_session()
    match identity:
        case AmbientIdentity():
            pass
        case AccessKey():
            token = identity.token.get_secret_value() or None
            session.set_credentials(identity.key_id.get_secret_value(), identity.secret.get_secret_value(), token)
        case AssumedRole():
            role = _RoleCredentials(identity, region, timeout)
            session._credentials = AioDeferredRefreshableCredentials(role.refresh, "sts-assume-role")
    return session


def _new_session() -> AioSession:
    """Without anything of another one but what botocore's files say of the services: that is read once."""
    session = get_session()
    session.register_component("data_loader", _service_files())
    return session


@functools.cache
def _service_files() -> object:
    """botocore's reader, which remembers what it parsed: megabytes of JSON, 30 ms and more on the loop."""
    return get_session().get_component("data_loader")


async def credentials_of(session: AioSession) -> ReadOnlyCredentials:
    """Credentials that are valid now. Raises one of AWS_ERRORS."""
    credentials = await session.get_credentials()
    if credentials is None:
        raise NoCredentialsError
    return await credentials.get_frozen_credentials()


def _create(service: AwsService, context: ScalerContext) -> "AsyncContext":
    session = session_of(service.identity, service.region, context.http_timeout)
    client: AsyncContext = session.create_client(
        service.service,
        region_name=service.region,
        endpoint_url=service.endpoint or None,
        config=_config(context.http_timeout),
    )
    return client


class AsyncContext(Protocol):
    """What `create_client` returns."""

    async def __aenter__(self) -> AwsClient: ...

    async def __aexit__(self, *error: object) -> None: ...


class _ShortAnswers(AIOHTTPSession):  # type: ignore[misc]  # it has no types
    """Reads no more of an answer than we have a use for: an endpoint may be whatever a trigger names."""

    async def send(self, request: AWSPreparedRequest) -> AioAWSResponse:
        request.stream_output = True  # else it is read here, however long it is
        answer = await super().send(request)
        answer._content = await self._read(answer)
        return answer

    async def _read(self, answer: AioAWSResponse) -> bytes:
        body = bytearray()
        try:
            async for chunk in answer.raw.content.iter_any():
                body += chunk
                if len(body) > _LONGEST_ANSWER:
                    raise HTTPClientError(error=f"the answer is over {_LONGEST_ANSWER} bytes")
        except HttpError as error:
            raise HTTPClientError(error=type(error).__name__) from None
        finally:
            answer.raw.release() if answer.raw.content.at_eof() else answer.raw.close()
        return bytes(body)


def _config(timeout: float, **options: object) -> AioConfig:
    return AioConfig(
        http_session_cls=_ShortAnswers,
        connect_timeout=timeout,
        read_timeout=timeout,
        retries={"total_max_attempts": 2},
        max_pool_connections=50,
        **options,
    )


class _RoleCredentials:
    """Asks STS for credentials of a role whenever the old ones are about to expire."""

    def __init__(self, role: AssumedRole, region: str, timeout: float) -> None:
        self._role, self._region, self._timeout = role, region, timeout

    async def refresh(self) -> dict[str, str]:
        """In the shape of botocore's refreshable credentials."""
        token_file = os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE", "")
        if self._role.by_web_identity and token_file:
            try:
                return await self._by_web_identity(_read_token(token_file))
            except (ClientError, OSError):
                # As KEDA: a role that does not trust the token may still trust the operator's own role.
                return await self._by_own_identity()
        return await self._by_own_identity()

    async def _by_own_identity(self) -> dict[str, str]:
        external = {"ExternalId": self._role.external_id} if self._role.external_id else {}
        async with _new_session().create_client("sts", region_name=self._region, config=_config(self._timeout)) as sts:
            return _shape(await sts.assume_role(RoleArn=self._role.arn, RoleSessionName=_SESSION_NAME, **external))

    async def _by_web_identity(self, token: str) -> dict[str, str]:
        unsigned = _config(self._timeout, signature_version=UNSIGNED)
        async with _new_session().create_client("sts", region_name=self._region, config=unsigned) as sts:
            answer = await sts.assume_role_with_web_identity(
                RoleArn=self._role.arn, RoleSessionName=_SESSION_NAME, WebIdentityToken=token
            )
            return _shape(answer)


def _read_token(path: str) -> str:
    return Path(path).read_text(encoding="utf-8").strip()


def _shape(answer: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    given = answer["Credentials"]
    expiry = given["Expiration"]
    return {
        "access_key": str(given["AccessKeyId"]),
        "secret_key": str(given["SecretAccessKey"]),
        "token": str(given["SessionToken"]),
        "expiry_time": expiry.isoformat() if hasattr(expiry, "isoformat") else str(expiry),
    }
