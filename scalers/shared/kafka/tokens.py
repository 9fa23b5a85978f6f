"""Tokens for OAUTHBEARER: of an OAuth server, or AWS' signature that opens a cluster of MSK."""

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING

from aiokafka.abc import AbstractTokenProvider

from keda_py.cloud import aws
from keda_py.cloud.tokens import TokenSource
from keda_py.sdk.advanced import Destination, ScalerContext
from keda_py.sdk.scaler import ScalerError
from scalers.shared.kafka.metadata import BearerGrant, KafkaServers, MskIdentity
from scalers.shared.oauth2 import ClientGrant, client_token

if TYPE_CHECKING:
    from aiobotocore.session import AioSession

_SECONDS = 900


async def token_provider(servers: KafkaServers, context: ScalerContext) -> AbstractTokenProvider | None:
    """Make the token provider of a connection; None if it needs none. Raises ConfigError."""
    match servers.tokens:
        case BearerGrant() as grant:
            credentials = ClientGrant(
                url=grant.endpoint,
                client_id=servers.username.get_secret_value(),
                client_secret=servers.password,
                scopes=grant.scopes,
            )
            return _Granted(await client_token(context, credentials), dict(grant.extensions))
        case MskIdentity() as msk:
            if not isinstance(msk.identity, aws.AccessKey):  # that is the tenant's own
                for server in servers.bootstrap:
                    to = Destination(url=f"https://{server}", field="bootstrapServers")
                    context.check_identity("identity for AWS", to)
            return _SignedAddress(await aws.session(context, msk.identity, msk.region), msk.region)
    return None


class _Granted(AbstractTokenProvider):  # type: ignore[misc]  # it has no types
    def __init__(self, source: TokenSource, extensions: Mapping[str, str]) -> None:
        self._source, self._extensions = source, extensions

    async def token(self) -> str:
        return (await self._source.token()).get_secret_value()

    def extensions(self) -> dict[str, str]:
        return dict(self._extensions)


class _SignedAddress(AbstractTokenProvider):  # type: ignore[misc]  # it has no types
    """An address of the service, signed for a quarter of an hour, as AWS' own libraries have it."""

    def __init__(self, session: "AioSession", region: str) -> None:
        self._session, self._region = session, region

    async def token(self) -> str:
        from botocore.auth import SigV4QueryAuth
        from botocore.awsrequest import AWSRequest

        from keda_py.cloud.aws_sessions import AWS_ERRORS, credentials_of

        try:
            credentials = await credentials_of(self._session)
        except AWS_ERRORS as error:
            raise ScalerError(f"no AWS credentials to sign for kafka: {error}") from error
        url = f"https://kafka.{self._region}.amazonaws.com/?Action=kafka-cluster%3AConnect"
        request = AWSRequest(method="GET", url=url)
        SigV4QueryAuth(credentials, "kafka-cluster", self._region, expires=_SECONDS).add_auth(request)
        signed = f"{request.url}&User-Agent=keda-py"
        return base64.urlsafe_b64encode(signed.encode()).rstrip(b"=").decode()
