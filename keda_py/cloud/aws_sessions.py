"""Sessions of AWS' library, and the configuration of its clients. Next: `scalers/shared/aws/aws_clients.py`.

Importing aiobotocore costs 0.7 s and 25 MiB, so this file is imported late, by code that is about to call AWS.
"""

import asyncio
import functools
import logging
import math
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

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

from keda_py.cloud.aws import AccessKey, AmbientIdentity, AssumedRole, AwsIdentity

AWS_ERRORS = (BotoCoreError, ClientError, ResponseParserError, RecursionError, OSError, TimeoutError)
"""Errors that a call may raise; their texts name operation and endpoint, never a credential."""

# Bytes. Answers are mostly a few counts or a credential, and they are parsed on the loop.
LONGEST_ANSWER = 64 * 1024

# A refusal is shared this long: callers that waited for it would otherwise repeat the request one by one.
FAILURE_SHARED_SECONDS = 1.0

_SESSION_NAME = "keda-py"

log = logging.getLogger(__name__)


def open_session(identity: AwsIdentity, region: str, timeout: float) -> AioSession:
    """Make a session with the identity's credentials, which renew themselves if they expire."""
    session = _new_session()
    match identity:
        case AmbientIdentity():
            pass
        case AccessKey():
            token = identity.token.get_secret_value() or None
            session.set_credentials(identity.key_id.get_secret_value(), identity.secret.get_secret_value(), token)
        case AssumedRole():
            role = _RoleCredentials(identity, region, timeout)
            # botocore has no public way to set credentials that refresh themselves.
            session._credentials = AioDeferredRefreshableCredentials(role.refresh, "sts-assume-role")
    return session


def _new_session() -> AioSession:
    """Make a session that shares nothing with others but botocore's service files, which are read once."""
    session = get_session()
    session.register_component("data_loader", _service_files())
    return session


@functools.cache
def _service_files() -> object:
    """Return botocore's loader with its cache: megabytes of JSON that take 30 ms and more to parse, on the loop."""
    return get_session().get_component("data_loader")


async def credentials_of(session: AioSession) -> ReadOnlyCredentials:
    """Return credentials that are valid now. Raises one of AWS_ERRORS."""
    credentials = await session.get_credentials()
    if credentials is None:
        raise NoCredentialsError
    return await credentials.get_frozen_credentials()


class _ShortAnswers(AIOHTTPSession):  # type: ignore[misc]  # it has no types
    """HTTP session that bounds answers: a trigger may name any endpoint."""

    def __init__(self, *arguments: Any, longest: int, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._longest = longest

    async def send(self, request: AWSPreparedRequest) -> AioAWSResponse:
        request.stream_output = True  # otherwise the superclass reads the whole body, however long
        answer = await super().send(request)
        answer._content = await self._read(answer)
        return answer

    async def _read(self, answer: AioAWSResponse) -> bytes:
        body = bytearray()
        try:
            async for chunk in answer.raw.content.iter_any():
                body += chunk
                if len(body) > self._longest:
                    raise HTTPClientError(error=f"the answer is over {self._longest} bytes")
        except HttpError as error:
            raise HTTPClientError(error=type(error).__name__) from None
        finally:
            answer.raw.release() if answer.raw.content.at_eof() else answer.raw.close()
        return bytes(body)


def client_config(timeout: float, longest_answer: int = LONGEST_ANSWER, **options: object) -> AioConfig:
    """Return the configuration of every client: time-outs in seconds, one retry, bounded answers."""
    return AioConfig(
        http_session_cls=partial(_ShortAnswers, longest=longest_answer),
        connect_timeout=timeout,
        read_timeout=timeout,
        retries={"total_max_attempts": 2},
        max_pool_connections=50,
        **options,
    )


class _RoleCredentials:
    """Provider of a role's credentials: asks STS whenever the old ones are about to expire."""

    def __init__(self, role: AssumedRole, region: str, timeout: float) -> None:
        self._role, self._region, self._timeout = role, region, timeout
        self._failure: Exception | None = None
        self._failed_at = -math.inf

    async def refresh(self) -> dict[str, str]:
        """Return credentials in the shape of botocore's refreshable credentials. Raises one of AWS_ERRORS."""
        now = asyncio.get_running_loop().time
        # Requests that queue for one lock in botocore would repeat a refused call one after the other.
        if self._failure is not None and now() < self._failed_at + FAILURE_SHARED_SECONDS:
            raise self._failure.with_traceback(None)
        self._failure = None
        try:
            return await self._ask()
        except AWS_ERRORS as error:
            self._failure, self._failed_at = error, now()
            raise

    async def _ask(self) -> dict[str, str]:
        token_file = os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE", "")
        if self._role.by_web_identity and token_file:
            try:
                return await self._by_web_identity(await asyncio.to_thread(_read_token, token_file))
            except (ClientError, OSError):
                # As in KEDA: a role that does not trust the token may still trust the operator's own role.
                log.debug(
                    "role does not trust the web identity; trying the operator's own", extra={"role": self._role.arn}
                )
        return await self._by_own_identity()

    async def _by_own_identity(self) -> dict[str, str]:
        external = {"ExternalId": self._role.external_id} if self._role.external_id else {}
        async with _new_session().create_client(
            "sts", region_name=self._region or None, config=client_config(self._timeout)
        ) as sts:
            return _shape(await sts.assume_role(RoleArn=self._role.arn, RoleSessionName=_SESSION_NAME, **external))

    async def _by_web_identity(self, token: str) -> dict[str, str]:
        async with self._sts(client_config(self._timeout, signature_version=UNSIGNED)) as sts:
            answer = await sts.assume_role_with_web_identity(
                RoleArn=self._role.arn, RoleSessionName=_SESSION_NAME, WebIdentityToken=token
            )
            return _shape(answer)

    def _sts(self, config: AioConfig) -> Any:
        return _new_session().create_client("sts", region_name=self._region or None, config=config)


def _read_token(path: str) -> str:
    return Path(path).read_text(encoding="utf-8").strip()


def _shape(answer: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    credentials = answer["Credentials"]
    expiry = credentials["Expiration"]
    return {
        "access_key": str(credentials["AccessKeyId"]),
        "secret_key": str(credentials["SecretAccessKey"]),
        "token": str(credentials["SessionToken"]),
        "expiry_time": expiry.isoformat() if hasattr(expiry, "isoformat") else str(expiry),
    }
