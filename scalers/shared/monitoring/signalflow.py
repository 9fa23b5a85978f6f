"""SignalFlow of Splunk Observability: a program runs at their server, which streams its values over a websocket.

A connection lives for one reading: who asks authenticates, starts the program on a channel, and listens for a while.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import TYPE_CHECKING, Final

import orjson
from pydantic import SecretStr
from yarl import URL

from keda_py.core.documents.json_guard import check_json
from keda_py.net.proxies import Proxies
from keda_py.sdk.advanced import ScalerContext, TlsSettings
from keda_py.sdk.scaler import ConfigError, ScalerError
from scalers.shared.answers.json_values import at, short_text
from scalers.shared.answers.monitoring.signalflow_data import LONGEST, read_values
from scalers.shared.protocols.tcp import reason_of

if TYPE_CHECKING:
    import aiohttp  # takes 7 MB: not before the first reading

CHANNEL: Final = "keda-py"
MOST_BYTES: Final = 8 * 1024 * 1024
"""Bytes of all messages of one reading."""
# A server that no longer answers is not waited for.
_CLOSING_SECONDS: Final = 0.1


@dataclass(slots=True)
class Values:
    """The values of a program's messages, and of which series they are."""

    count: int = 0
    total: float = 0.0
    least: float = float("inf")
    most: float = float("-inf")

    def add(self, values: list[float]) -> None:
        """Add the values of one message."""
        if values:
            self.count += len(values)
            self.total += sum(values)
            self.least, self.most = min(self.least, *values), max(self.most, *values)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalFlow:
    """One realm as one user."""

    context: ScalerContext
    realm: str
    token: SecretStr = field(repr=False)

    def url(self) -> URL:
        """Address of the realm. Raises ConfigError for an invalid realm."""
        try:
            return URL.build(scheme="https", host=f"stream.{self.realm}.signalfx.com", path="/v2/signalflow/connect")
        except ValueError:
            raise ConfigError("realm: is not a realm of Splunk Observability, such as us1", field="realm") from None

    async def run(self, program: str, seconds: float) -> Values:
        """Listen to a program until it ends, or for so long. Raises ScalerError."""
        import aiohttp

        values = Values()
        try:
            with self.context.clock.busy():
                async with self.context.connection(self.url().host or ""), self._socket() as socket:
                    await self._listen(_Conversation(socket), program, seconds, values)
        except TimeoutError:
            seconds = self.context.http_timeout
            raise ScalerError(f"Splunk Observability {self.url().host}: no answer in {seconds:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            reason = reason_of(error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error)
            raise ScalerError(f"Splunk Observability {self.url().host}: {reason}") from None
        return values

    async def _listen(self, talk: "_Conversation", program: str, seconds: float, values: Values) -> None:
        async with asyncio.timeout(self.context.http_timeout):
            await talk.send(type="authenticate", token=self.token.get_secret_value())
            await talk.authenticated()
        await talk.send(type="execute", channel=CHANNEL, program=program, **_DEFAULTS)
        try:
            async with asyncio.timeout(seconds):
                await talk.gather(values)
        except TimeoutError:
            await talk.stop()

    @asynccontextmanager
    async def _socket(self) -> "AsyncIterator[aiohttp.ClientWebSocketResponse]":
        import aiohttp

        tls: SSLContext = self.context.tls_context(TlsSettings())
        url, proxies = self.url(), Proxies.from_environment(os.environ)
        limits, closing = aiohttp.ClientTimeout(total=None), aiohttp.ClientWSTimeout(ws_close=_CLOSING_SECONDS)
        async with aiohttp.ClientSession(timeout=limits) as session:
            async with asyncio.timeout(self.context.http_timeout):
                proxy = proxies.for_url(url)
                shaken = await session.ws_connect(url, ssl=tls, proxy=proxy, max_msg_size=LONGEST, timeout=closing)
            async with shaken as socket:
                yield socket


_DEFAULTS = {"start": 0, "stop": 0, "resolution": 0, "maxDelay": 0, "immediate": False, "timezone": ""}


class _Conversation:
    """The messages of one websocket."""

    def __init__(self, socket: "aiohttp.ClientWebSocketResponse") -> None:
        self._socket, self._left, self._handle = socket, MOST_BYTES, ""

    async def send(self, **message: object) -> None:
        await self._socket.send_str(orjson.dumps(message).decode())

    async def authenticated(self) -> None:
        """Wait for the answer to the token. Raises ScalerError."""
        answer = await self._receive()
        if at(answer, "type") != "authenticated":
            reason = short_text(at(answer, "message")) or "it does not say why"
            raise ScalerError(f"Splunk Observability refuses accessToken: {reason}")

    async def gather(self, values: Values) -> None:
        """Collect values until the program ends. Raises ScalerError for an error that it ends with."""
        while True:
            answer = await self._receive()
            if isinstance(answer, bytes):
                values.add(read_values(answer, CHANNEL))
            elif at(answer, "type") == "error":
                raise ScalerError(f"SignalFlow refuses the query: {short_text(at(answer, 'message'))}")
            elif at(answer, "event") == "CHANNEL_ABORT":
                reason = short_text(at(answer, "abortInfo", "sf_job_abortReason"))
                raise ScalerError(f"SignalFlow ended the query: {reason or 'it does not say why'}")
            elif at(answer, "event") == "END_OF_CHANNEL":
                return
            elif at(answer, "event") == "JOB_START":
                self._handle = short_text(at(answer, "handle"))

    async def stop(self) -> None:
        """Stop the program, if its handle is known."""
        if self._handle:
            await self.send(type="stop", handle=self._handle, reason="")

    async def _receive(self) -> object:
        """A binary message as it is, else what JSON says; None for anything that is not JSON. Raises ScalerError."""
        from aiohttp import WSMsgType

        message = await self._socket.receive()
        if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
            raise ScalerError("Splunk Observability closed the connection")
        self._left -= len(message.data)
        if self._left < 0:
            raise ScalerError(f"SignalFlow sends more than {MOST_BYTES} bytes: aggregate in the query")
        if isinstance(message.data, bytes):
            return message.data
        check_json(message.data.encode())
        document: object = orjson.loads(message.data)
        return document
