"""Scale on what a scaler of your own says, by KEDA's gRPC protocol; it may report work between two polls."""

import asyncio
import logging
from collections.abc import AsyncIterator

from keda_py.sdk import external_protocol as protocol
from keda_py.sdk.messages import parse
from keda_py.sdk.scaler import ScalerError
from scalers.shared.grpc.external_scaler import ExternalMetadata, ExternalMetricsScaler

_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0
"""Seconds before a stream that broke off is opened again; twice as long each time."""

log = logging.getLogger(__name__)


class ExternalPushMetadata(ExternalMetadata):
    """Keys of `external-push`, as of `external`."""


class ExternalPushScaler(ExternalMetricsScaler[ExternalPushMetadata]):
    """Asks at every poll, and follows the server's stream in between."""

    async def watch(self) -> AsyncIterator[bool]:
        """Activity as StreamIsActive tells it; the stream is opened again whenever it ends."""
        pause = _FIRST_PAUSE
        while True:
            try:
                async for data in self._connection.follow(
                    protocol.path(protocol.STREAM_IS_ACTIVE), self._reference().SerializeToString()
                ):
                    pause = _FIRST_PAUSE
                    yield parse(protocol.messages()["IsActiveResponse"], data).result
                pause = _FIRST_PAUSE
            except ScalerError as error:
                log.debug("stream broke off", extra={"seconds": pause, "error": str(error)})
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
