"""AWS Signature Version 4 on plain HTTP questions, for services of AWS that speak another protocol (Prometheus)."""

from dataclasses import replace
from typing import TYPE_CHECKING, Self

import httpx

from keda_py.cloud import aws
from keda_py.sdk.advanced import Destination, ScalerContext
from keda_py.sdk.scaler import ScalerError
from scalers.shared.aws.aws import AwsAuthMetadata, aws_identity
from scalers.shared.http_answer import HttpQuestion

if TYPE_CHECKING:
    from aiobotocore.session import AioSession


class AwsSigner:
    """Signs as one identity for one service and region."""

    def __init__(self, session: "AioSession", service: str, region: str) -> None:
        self._session, self._service, self._region = session, service, region

    @classmethod
    async def open(
        cls, context: ScalerContext, metadata: AwsAuthMetadata, scope: tuple[str, str], to: Destination
    ) -> Self:
        """`scope` is service and region. Raises ConfigError without an identity, and where that must not go."""
        service, region = scope
        identity = aws_identity(metadata, context.pod_identity)
        return cls(await aws.session(context, identity, region, to=to), service, region)

    async def sign(self, question: HttpQuestion) -> HttpQuestion:
        """The question with its parameters in the URL and the signature in the headers. Raises ScalerError."""
        # Late: see aws_sessions; most triggers that could sign never do.
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        from keda_py.cloud.aws_sessions import AWS_ERRORS, credentials_of

        try:
            credentials = await credentials_of(self._session)
        except AWS_ERRORS as error:
            raise ScalerError(f"no AWS credentials to sign for {self._service}: {error}") from error
        url = str(httpx.URL(question.url).copy_merge_params(dict(question.parameters)))
        request = AWSRequest(method="GET", url=url)
        SigV4Auth(credentials, self._service, self._region).add_auth(request)
        return replace(question, url=url, parameters={}, headers={**question.headers, **dict(request.headers.items())})
