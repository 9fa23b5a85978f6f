"""ClickHouse's native protocol: a log-in, and queries whose first cell is read, whatever else they answer.

We say that we are a client of an old revision, which every server answers in that revision's form: uncompressed blocks,
without the types and packets that came later.
"""

import asyncio
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import re2

from keda_py.sdk.scaler import ScalerError
from scalers.shared.databases.clickhouse.address import ClickHouseAddress
from scalers.shared.databases.clickhouse.columns import UnknownType, first_value
from scalers.shared.databases.queries.link import LONGEST_ANSWER, NO_ROW, QueryRefused
from scalers.shared.protocols.tcp import reason_of

_REVISION: Final = 54058
"""Of 2016: the one since which a server tells its time zone. Later ones change columns and packets."""
_HELLO, _QUERY, _DATA = 0, 1, 2
_SERVER_DATA, _EXCEPTION, _PROGRESS, _PONG, _END, _PROFILE, _TOTALS, _EXTREMES = range(1, 9)
_COMPLETE: Final = 2
"""Stage to which the server processes a query."""
_NO_BLOCK: Final = b"\x00\x01\x00\x02\xff\xff\xff\xff\x00\x00\x00"
"""An empty table without a name: no temporary tables come with the query."""
_LONGEST_VARINT: Final = 10
_MOST_PARTS: Final = 50_000
"""A query of 300 s tells its progress 3 000 times, in four parts each; a part takes some 3 us."""
_TURN: Final = 200
"""Parts of an answer that are read before other work gets its turn: some 0.6 ms."""
_LONGEST_SAID: Final = 300
_READS = re2.compile(r"(?is)\s*(?:select|with|show|describe|desc|explain|exists)\b.*")
_NUMBER = re2.compile(r"-?[0-9]{1,19}(?:\.[0-9]{1,19})?")


class NativeLink:
    """A `Link` over one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._left, self._parts, self._is_as_before = LONGEST_ANSWER, 0, True

    @property
    def closed(self) -> bool:
        return self._writer.is_closing()

    async def log_in(self, address: ClickHouseAddress) -> None:
        """Raises QueryRefused, or ScalerError for a connection lost."""
        hello = _varint(_HELLO) + _text("keda-py") + _varint(1) + _varint(1) + _varint(_REVISION)
        names = (address.database, address.username, address.password.get_secret_value())
        with self._as_scaler_errors():
            await self._send(hello + b"".join(map(_text, names)))
            if (packet := await self._varint()) == _EXCEPTION:
                raise await self._exception()
            if packet != _HELLO:
                raise ScalerError("the server sent something else than a greeting: is this the native port?")
            await self.string()
            for _ in range(3):
                await self._varint()
            await self.string()
        if address.settings:
            await self.first(_set(address.settings))

    async def first(self, query: str) -> object:
        """The only cell of the first row, or NO_ROW. Raises QueryRefused, or ScalerError for a connection lost."""
        # A query is one statement, and one that reads leaves the session as it was.
        self._is_as_before = bool(_READS.fullmatch(query))
        with self._as_scaler_errors():
            await self._send(_varint(_QUERY) + _text("") + _CLIENT + _text("") + _AS_IS + _text(query) + _BLOCK)
            return await self._answer()

    async def restore(self) -> bool:
        """Tell whether the last query left the session as it was; another one takes a new connection."""
        return self._is_as_before

    async def aclose(self) -> None:
        """Close the connection without a farewell."""
        self._writer.transport.abort()

    async def take(self, size: int) -> bytes:
        """Read so many bytes of the answer. Raises OSError where it is longer than any number needs."""
        self._left -= size
        self._parts += 1
        if self._left < 0 or self._parts > _MOST_PARTS:
            most = f"{LONGEST_ANSWER} bytes, or {_MOST_PARTS} parts"
            raise OSError(f"the answer has more than {most}: select one row with one number")
        if self._parts % _TURN == 0:
            await asyncio.sleep(0)  # what has arrived is read without a pause, and may be tiny parts alone
        return await self._reader.readexactly(size)

    async def string(self) -> bytes:
        """Read a text with its length before it."""
        return await self.take(await self._varint())

    async def _varint(self) -> int:
        value = 0
        for at in range(_LONGEST_VARINT):
            (byte,) = await self.take(1)
            value |= (byte & 0x7F) << (7 * at)
            if not byte & 0x80:
                return value
        raise OSError("the server sent a number that does not end")

    async def _send(self, data: bytes) -> None:
        self._left, self._parts = LONGEST_ANSWER, 0
        self._writer.write(data)
        await self._writer.drain()

    async def _answer(self) -> object:
        cell: object = NO_ROW
        while (packet := await self._varint()) != _END:
            match packet:
                case _ if packet in (_SERVER_DATA, _TOTALS, _EXTREMES):
                    found = await self._block()
                    cell = found if packet == _SERVER_DATA and cell is NO_ROW else cell
                case _ if packet == _EXCEPTION:
                    raise await self._exception()
                case _ if packet == _PROGRESS:
                    for _ in range(3):
                        await self._varint()
                case _ if packet == _PROFILE:
                    await self._profile()
                case _ if packet != _PONG:
                    raise ScalerError(f"the server sent packet {packet}, which no answer to our queries has")
        return cell

    async def _profile(self) -> None:
        for _ in range(3):
            await self._varint()
        await self.take(1)
        await self._varint()
        await self.take(1)

    async def _block(self) -> object:
        """Read a block; its first cell, NO_ROW where it has none. Raises QueryRefused for several columns."""
        await self.string()
        while field := await self._varint():
            await self.take(1 if field == 1 else 4)
        columns, rows = await self._varint(), await self._varint()
        if columns != 1 and rows:
            # The rest is not read, so that this connection cannot be used again.
            await self.aclose()
            raise QueryRefused(f"the query answers {columns} columns: select one, a count or a number")
        cell: object = NO_ROW
        for _ in range(columns):
            await self.string()
            kind = (await self.string()).decode("utf-8", "replace")
            cell = await first_value(self, kind, rows) if rows else cell
        return cell

    async def _exception(self) -> QueryRefused:
        code = int.from_bytes(await self.take(4), "little", signed=True)
        await self.string()
        said = (await self.string()).decode("utf-8", "replace").strip()
        await self.string()
        while await self.take(1) != b"\x00":
            await self.take(4)
            for _ in range(3):
                await self.string()
        return QueryRefused(f"error {code}: {' '.join(said.split())[:_LONGEST_SAID]}")

    @contextmanager
    def _as_scaler_errors(self) -> Iterator[None]:
        try:
            yield
        except UnknownType as error:
            raise ScalerError(f"the answer is of type {str(error)[:100]}: select a count or a number") from None
        except (OSError, asyncio.IncompleteReadError, struct.error) as error:
            raise ScalerError(f"connection lost: {reason_of(error)}") from None


def _set(settings: Mapping[str, str]) -> str:
    """Make the statement that takes settings, which an old client would send in a form for each type."""
    return "SET " + ", ".join(f"{name} = {_literal(value)}" for name, value in settings.items())


def _literal(value: str) -> str:
    if _NUMBER.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def _text(text: str) -> bytes:
    encoded = text.encode()
    return _varint(len(encoded)) + encoded


_CLIENT: Final = (
    b"\x01" + _text("") + _text("") + _text("0.0.0.0:0") + b"\x01" + _text("") + _text("") + _text("keda-py")
) + b"".join(map(_varint, (1, 1, _REVISION)))
"""Who asks: a first query, over TCP, without names of user and host."""
_AS_IS: Final = _varint(_COMPLETE) + _varint(0)
"""Processed to the end, and not compressed."""
_BLOCK: Final = _varint(_DATA) + _NO_BLOCK
