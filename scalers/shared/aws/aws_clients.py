"""Clients of AWS services, shared between triggers with one service, region, endpoint and identity.

Every client costs 3-70 ms of CPU, and importing the library 0.7 s and 20 MB: it is imported with the first client, and
not by a process that only looks at triggers, as the webhook's. The credentials are those of `keda_py/cloud/aws.py`.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from keda_py.cloud import aws
from keda_py.sdk.advanced import CredentialKey, Destination, ScalerContext
from keda_py.sdk.scaler import ScalerError
from scalers.shared.aws.aws import AwsServiceMetadata, aws_identity
from scalers.shared.protocols.tcp import reason_of

if TYPE_CHECKING:
    from aiobotocore.session import AioSession

# Exceptions of botocore for an answer of another shape: a number where a list belongs, bytes that are no text.
_OF_THE_PARSER = (ValueError, TypeError, LookupError, AttributeError)
_LONGEST_TEXT = 500
"""Characters of an error; some repeat what was answered."""
_A_FAILURE = 400
"""A status, and what is more."""
_failed: ContextVar[list[str] | None] = ContextVar("failed", default=None)
"""Failures of earlier tries of the current question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsService:
    """Service of a client: `endpoint` "" is the service's own in its region; a region has no dots."""

    service: str
    region: str
    endpoint: str
    identity: aws.AwsIdentity

    def key(self, tenant: str) -> CredentialKey:
        """Key under which the client is shared."""
        what = ("aws", self.service, self.region, self.endpoint)
        return CredentialKey(tenant=tenant, credential=aws.digest_of(self.identity), what=what)


def aws_service(name: str, metadata: AwsServiceMetadata, context: ScalerContext) -> AwsService:
    """The service that a trigger names, as its identity. Raises ConfigError without one."""
    return AwsService(
        service=name,
        region=metadata.aws_region,
        endpoint=metadata.aws_endpoint,
        identity=aws_identity(metadata, context.pod_identity),
    )


class AwsClient(Protocol):
    """A client as aiobotocore generates it; every operation is a coroutine that takes keywords."""

    def __getattr__(self, operation: str) -> "AwsOperation": ...


class AwsOperation(Protocol):
    """An operation of a client: a coroutine function that takes keywords."""

    async def __call__(self, **parameters: object) -> Mapping[str, object]:
        """Raises one of AWS_ERRORS."""
        ...


async def aws_client(service: AwsService, context: ScalerContext) -> AwsClient:
    """The shared client; asks AWS nothing yet.

    Raises ScalerError when it cannot be made, ConfigError for an endpoint where the operator's identity must not go.
    """
    from keda_py.cloud.aws_sessions import AWS_ERRORS

    to = Destination(url=service.endpoint, field="awsEndpoint") if service.endpoint else None
    session = await aws.session(context, service.identity, service.region, to=to)

    async def open_client() -> tuple[AwsClient, AsyncExitStack]:
        stack = AsyncExitStack()
        try:
            client = await stack.enter_async_context(_create(session, service, context.http_timeout))
        except AWS_ERRORS as error:
            raise ScalerError(f"no client for AWS {service.service} in {service.region}: {error}") from error
        events: Any = client.meta
        events.events.register("needs-retry", _note_failure)
        return client, stack

    client, _ = await context.shared(service.key(context.namespace), open_client, _close)
    return client


async def ask(context: ScalerContext, what: str, operation: AwsOperation, **parameters: object) -> Mapping[str, object]:
    """Await one operation. Raises ScalerError, which begins with `what` is asked for."""
    from keda_py.cloud.aws_sessions import AWS_ERRORS

    seconds = context.http_timeout
    _failed.set([])
    try:
        with context.clock.busy():
            async with context.connection(_endpoint(operation)), asyncio.timeout(seconds):
                return await operation(**parameters)
    except TimeoutError:
        if failed := _failed.get():
            said = _with_address(f"{failed[-1]}, and no time for a second try in {seconds:g} s", operation)
            raise ScalerError(f"{what}: {said}") from None
        raise ScalerError(f"{what}: timeout: no answer of {_endpoint(operation)} in {seconds:g} s") from None
    except AWS_ERRORS as error:
        raise ScalerError(f"{what}: {_with_address(_with_reason(error)[:_LONGEST_TEXT], operation)}") from error
    except _OF_THE_PARSER as error:
        raise ScalerError(f"{what}: the answer is not one of AWS ({type(error).__name__})") from error


def _note_failure(caught_exception: Exception | None = None, response: object = None, **_: object) -> None:
    """Report the failure to the journal before the library waits and tries again."""
    failed = _failed.get()
    if failed is None:
        return
    if caught_exception is not None:
        failed.append(_with_reason(caught_exception)[:_LONGEST_TEXT])
    elif isinstance(response, tuple) and (status := getattr(response[0], "status_code", 0)) >= _A_FAILURE:
        failed.append(f"status {status}")


def _with_reason(error: Exception) -> str:
    """Add the system's reason where the library only says that it could not connect."""
    failure = getattr(error, "kwargs", {}).get("error")
    failure = getattr(failure, "os_error", failure)
    because = f": {reason_of(failure)}" if isinstance(failure, OSError) else ""
    return f"{error or type(error).__name__}{because}"


def _with_address(text: str, operation: object) -> str:
    """Add the address if the text lacks it."""
    endpoint = _endpoint(operation)
    return text if endpoint in text else f"{endpoint}: {text}"


def _endpoint(operation: object) -> str:
    bound: Any = operation
    return str(bound.__self__.meta.endpoint_url)


async def _close(opened: tuple[AwsClient, AsyncExitStack]) -> None:
    await opened[1].aclose()


def _create(session: "AioSession", service: AwsService, timeout: float) -> "AsyncContext":
    from keda_py.cloud.aws_sessions import client_config

    client: AsyncContext = session.create_client(
        service.service,
        region_name=service.region,
        endpoint_url=service.endpoint or None,
        config=client_config(timeout, parameter_validation=False),  # AWS says what it does not take
    )
    return client


class AsyncContext(Protocol):
    """The context manager that `create_client` returns."""

    async def __aenter__(self) -> AwsClient: ...

    async def __aexit__(self, *error: object) -> None: ...
