"""Scale on what a scaler of your own says, by KEDA's gRPC protocol; it may report work between two polls."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from keda_py.sdk import external_protocol as protocol
from keda_py.sdk.advanced import ExternalMetric
from keda_py.sdk.messages import parse
from keda_py.sdk.scaler import ScalerError
from scalers.shared.grpc.connection import GrpcError
from scalers.shared.grpc.external_scaler import ExternalMetadata, ExternalMetricsScaler

_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0
"""Seconds before a stream that broke off is opened again; twice as long each time."""

_OPTIONAL = (protocol.STREAM_METRIC_SPEC,)

log = logging.getLogger(__name__)


class _UnknownMethod(Exception):
    """A server without an optional method."""


class ExternalPushMetadata(ExternalMetadata):
    """Keys of `external-push`, as of `external`."""


class ExternalPushScaler(ExternalMetricsScaler[ExternalPushMetadata]):
    """Asks at every poll, and follows the server's streams in between."""

    _tells_specs = True
    """False once the server has said that it does not know StreamMetricSpec, which is optional."""

    async def watch(self) -> AsyncIterator[bool]:
        """Activity as StreamIsActive tells it; the stream is opened again whenever it ends."""
        async with aclosing(self._answers(protocol.STREAM_IS_ACTIVE, "IsActiveResponse")) as answers:
            async for answer in answers:
                yield answer.result

    def watch_specs(self) -> AsyncIterator[tuple[ExternalMetric, ...]] | None:
        """Metrics as StreamMetricSpec tells them, until the server says that it does not know that method."""
        return self._follow_specs() if self._tells_specs else None

    async def _follow_specs(self) -> AsyncIterator[tuple[ExternalMetric, ...]]:
        """Raises ScalerError for metrics that no HPA can have."""
        method = protocol.STREAM_METRIC_SPEC
        try:
            async with aclosing(self._answers(method, "GetMetricSpecResponse")) as answers:
                async for answer in answers:
                    yield self._specs_of(answer, method)
        except _UnknownMethod:
            self._tells_specs = False

    async def _answers(self, method: str, response: str) -> AsyncGenerator[Any, None]:
        """Follow a stream, again and again. Raises _UnknownMethod for one that the server does not know and may not."""
        pause = _FIRST_PAUSE
        while True:
            try:
                async for data in self._connection.follow(protocol.path(method), self._reference().SerializeToString()):
                    pause = _FIRST_PAUSE
                    yield parse(protocol.messages()[response], data)
                pause = _FIRST_PAUSE
            except ScalerError as error:
                if isinstance(error, GrpcError) and error.code == "UNIMPLEMENTED" and method in _OPTIONAL:
                    raise _UnknownMethod from None
                log.debug("stream broke off", extra={"method": method, "seconds": pause, "error": str(error)})
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
