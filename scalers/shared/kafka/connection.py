"""One connection to a broker: aiokafka's, which asks our resolver, reads short frames, and leaves answers undecoded."""

import asyncio
import logging
import ssl
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from aiokafka.conn import AIOKafkaConnection, AIOKafkaProtocol, ScramAuthenticator
from aiokafka.errors import KafkaConnectionError, KafkaError
from aiokafka.protocol.api import Request

from keda_py.sdk.advanced import addresses
from scalers.shared.protocols.tcp import reason_of

ERRORS = (KafkaError, OSError, ValueError, LookupError, AssertionError, NotImplementedError)
"""Exceptions of connecting and asking: a server may send anything during authentication."""
# Bytes: 5 000 partitions with three replicas each, which take 10 ms to put together.
LONGEST_FRAME = 256 * 1024
# Iterations of SCRAM: 0.1 s in a thread; brokers ask for 4 096 to 16 384.
MOST_ITERATIONS = 200_000

# The library logs user names and what it sends during authentication; errors that matter are raised.
logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)


class _ShortFrames(asyncio.StreamReader):
    async def readexactly(self, n: int) -> bytes:
        if not 0 <= n <= LONGEST_FRAME:
            raise OSError(f"an answer of more than {LONGEST_FRAME} bytes, or none of Kafka")
        return await super().readexactly(n)


class _Scram(ScramAuthenticator):  # type: ignore[misc]  # it has no types
    def create_salted_password(self, salt: bytes, iterations: int) -> None:
        if not 0 < iterations <= MOST_ITERATIONS:
            raise ValueError(f"the broker asks for {iterations} rounds of SCRAM")
        super().create_salted_password(salt, iterations)


class _Bytes:
    @staticmethod
    def decode(answer: BytesIO) -> bytes:
        return answer.read()


class UndecodedRequest:
    """A request whose answer is not decoded; `version` is the one that it was sent in."""

    def __init__(self, request: Request[Any]) -> None:
        self._request, self.version = request, -1

    @property
    def api_key(self) -> int:
        key: int = self._request.API_KEY
        return key

    def prepare(self, versions: Mapping[int, tuple[int, int]]) -> Any:
        """Return the request that aiokafka sends."""
        form = self._request.prepare(dict(versions))
        form.RESPONSE_TYPE = _Bytes  # of this one request
        self.version = form.API_VERSION
        return form


class BrokerConnection(AIOKafkaConnection):  # type: ignore[misc]  # it has no types
    """Connects within the time of a request; closed by `shut`."""

    async def connect(self) -> None:
        """Connect to a resolved address: asyncio's own look-up of a name would wait for a thread.

        Raises one of ERRORS.
        """
        try:
            async with asyncio.timeout(self._request_timeout):
                await self._connect_to_any()
                await self._do_version_lookup()
                if self._sasl_mechanism is not None:
                    await self._do_sasl_handshake()
        except BaseException:
            await self.shut()
            raise

    async def _connect_to_any(self) -> None:
        *others, last = await addresses(self._host, self._port)
        for number in others:
            try:
                await self._connect_to(number)
            except OSError:
                continue
            return
        await self._connect_to(last)

    async def _connect_to(self, number: str) -> None:
        tls: ssl.SSLContext | None = self._ssl_context
        closed: asyncio.Future[None] = self._loop.create_future()
        reader = _ShortFrames(limit=LONGEST_FRAME, loop=self._loop)
        protocol = AIOKafkaProtocol(closed, reader, loop=self._loop)
        transport, _ = await self._loop.create_connection(
            lambda: protocol, number, self._port, ssl=tls, server_hostname=self._host if tls else None
        )
        self._closed_fut, self._reader, self._protocol = closed, reader, protocol
        self._writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
        self._read_task = self._create_reader_task()

    def authenticator_scram(self) -> _Scram:
        """Use our SCRAM, which bounds the work that a server may demand."""
        return _Scram(
            loop=self._loop,
            sasl_plain_username=self._sasl_plain_username,
            sasl_plain_password=self._sasl_plain_password,
            sasl_mechanism=self._sasl_mechanism,
        )

    async def ask(self, request: UndecodedRequest) -> bytes:
        """Ask, and return the answer without its header. Raises one of ERRORS, after which the connection is closed."""
        try:
            answer: bytes = await self.send(request)
        except TimeoutError:
            await self.shut()  # its answer may still come, and would be taken for the next one's
            raise TimeoutError(f"no answer in {self._request_timeout:g} s") from None
        return answer

    async def shut(self) -> None:
        """Close it now, with what is still to be sent."""
        writer, closed = self._writer, self.close()
        if writer is not None:
            writer.transport.abort()
            await closed


def reason(error: BaseException) -> str:
    """Word one of ERRORS: a broker's own words may repeat what it was sent."""
    cause = error.__cause__ if isinstance(error, KafkaConnectionError) else error
    if isinstance(cause, OSError):
        return reason_of(cause)
    if isinstance(cause, EOFError | KafkaConnectionError) or cause is None:
        return "the broker closed the connection"
    return type(cause).__name__
