"""aiomysql's connection, bounded: how much a server may send, and that TLS is there where it is asked for.

Imported only where a trigger of MySQL is opened: the library is of an extra.
"""

import asyncio
import struct
from collections.abc import Sequence
from typing import Any

import aiomysql
from aiomysql.connection import Connection
from pymysql.constants import CLIENT
from pymysql.err import MySQLError, OperationalError

from keda_py.sdk.advanced import addresses
from keda_py.sdk.scaler import ScalerError
from scalers.shared.databases.mysql_parameters import nearest
from scalers.shared.databases.queries.link import LONGEST_ANSWER, NO_ROW, QueryRefused, only_cell
from scalers.shared.protocols.tcp import reason_of

_FAILURES = (
    MySQLError,
    OSError,
    RuntimeError,
    asyncio.IncompleteReadError,
    AssertionError,
    LookupError,
    TypeError,
    ValueError,
    struct.error,
)
"""What the library raises, the last of them for bytes that are not MySQL's protocol."""
# Numbers of errors that the library itself raises: the connection is of no use any more.
_OF_CLIENT = range(2000, 3000)


class BoundedConnection(Connection):  # type: ignore[misc]  # the library has no types
    """Connects to a number, since asyncio's own look-up of a name would wait for a thread."""

    def __init__(self, *, must_encrypt: bool, **options: Any) -> None:
        super().__init__(**options)
        self.client_flag &= ~CLIENT.MULTI_STATEMENTS  # which the library asks for; CLIENT.CAPABILITIES has it, too
        self._host: str
        self._writer: asyncio.StreamWriter | None
        self._name, self._must_encrypt, self._left = self._host, must_encrypt, LONGEST_ANSWER

    def begin(self) -> None:
        """Begin a question: the server may send a full answer again."""
        self._left = LONGEST_ANSWER

    def close(self) -> None:
        """Close without the end of TLS, which would wait for the server."""
        if self._writer is not None:
            self._writer.transport.abort()
        super().close()

    async def _connect(self) -> None:
        *others, last = await addresses(self._name, self._port)
        for self._host in others:
            try:
                await super()._connect()
            except OperationalError as error:
                if not isinstance(error.__cause__, OSError):
                    raise
            else:
                return
        self._host = last
        await super()._connect()

    async def _request_authentication(self) -> None:
        self._host = self._name  # of the certificate
        if not self.server_capabilities & CLIENT.SSL:
            if self._must_encrypt:
                raise OperationalError(2026, "the server does not speak TLS, which is asked for")
            # The library leaves it in the answer to the greeting, and the server would wait for a handshake.
            self.client_flag &= ~CLIENT.SSL
        try:
            await super()._request_authentication()
        except BaseException:
            self.close()
            raise

    async def _read_bytes(self, num_bytes: int) -> bytes:
        self._left -= num_bytes
        if self._left < 0:
            self.close()
            raise OperationalError(2020, f"the server sends more than {LONGEST_ANSWER} bytes")
        read: bytes = await super()._read_bytes(num_bytes)
        return read


class MysqlLink:
    """A `Link` over one connection of aiomysql."""

    def __init__(self, connection: BoundedConnection) -> None:
        self._connection = connection

    @property
    def closed(self) -> bool:
        """Whether the connection is closed, or has an open transaction, which would show the next query old data."""
        return bool(self._connection.closed or self._connection.get_transaction_status())

    async def restore(self) -> bool:
        """Return False: a reset takes three more round trips, since it forgets database and character set as well."""
        return False

    async def first(self, query: str) -> object:
        """Return the only cell; close the connection instead of waiting for further rows."""
        self._connection.begin()
        try:
            cursor = await self._connection.cursor(aiomysql.SSCursor)
            await cursor.execute(query)
            row = await cursor.fetchone() if cursor.description else None
            if row is not None and await cursor.fetchone() is not None:
                self._connection.close()
            else:
                await cursor.close()
        except _FAILURES as error:
            raise self._explained(error) from None
        return NO_ROW if row is None else only_cell(row)

    def _explained(self, error: Exception) -> ScalerError:
        number = error.args[0] if error.args else 0
        if isinstance(error, MySQLError) and number not in _OF_CLIENT and not self._connection.closed:
            return QueryRefused(f"the query is refused: {explained(error)}")
        return ScalerError(f"connection lost: {explained(error)}")

    async def aclose(self) -> None:
        """Close the connection without a farewell."""
        self._connection.close()


async def connected(options: dict[str, Any], session: Sequence[Sequence[str]]) -> MysqlLink:
    """A connection for which one statement of each of `session` has been accepted. Raises ScalerError."""
    connection = BoundedConnection(autocommit=True, **options)
    try:
        await connection._connect()
        await _set(connection, session)
    except _FAILURES as error:
        connection.close()
        raise ScalerError(f"connection failed: {explained(error.__cause__ or error)}") from None
    except BaseException:
        connection.close()
        raise
    return MysqlLink(connection)


async def _set(connection: BoundedConnection, session: Sequence[Sequence[str]]) -> None:
    """Raises ScalerError that says which parameter may have been meant."""
    for alternatives in session:
        refused = ""
        for statement in alternatives:
            try:
                await connection.query(statement)
            except MySQLError as error:
                said = explained(error)
                refused = f"a parameter of connectionString: {said}{nearest(said, statement)}"
            else:
                break
        else:
            raise ScalerError(refused)


def explained(error: BaseException) -> str:
    """Word an error with its number, as MySQL does."""
    match error.args:
        case (int(number), str(text)) if isinstance(error, MySQLError):
            return f"error {number}: {text}"
        case _:
            return reason_of(error)
