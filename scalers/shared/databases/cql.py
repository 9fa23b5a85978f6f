"""Cassandra and what speaks CQL: one connection to one node, which asks the others by itself."""

import asyncio
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import SecretStr

from keda_py.sdk.advanced import ScalerContext, SharingKey, TlsSettings, sharing_key
from keda_py.sdk.scaler import ScalerError
from scalers.shared.databases import cql_frames as cql
from scalers.shared.databases.queries.link import LONGEST_ANSWER, NO_ROW, QueryRefused
from scalers.shared.protocols.tcp import open_stream, reason_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CqlServer:
    """A `Server` of Cassandra: nodes in the order in which to try them."""

    hosts: Sequence[tuple[str, int]]
    keyspace: str
    username: str
    password: SecretStr
    consistency: int
    version: int
    tls: TlsSettings | None
    timeout: float

    @property
    def address(self) -> str:
        """`host:port` of the first node."""
        host, port = self.hosts[0]
        return f"cassandra {host}:{port}"

    def key(self, tenant: str, use: str) -> SharingKey:
        """Key that always holds the user."""
        tls = self.tls or TlsSettings()
        places = ",".join(f"{host}:{port}" for host, port in self.hosts)
        how = (self.keyspace, self.consistency, self.version, self.timeout, self.tls is not None, tls.ca)
        return sharing_key(tenant, ("cql", use, places, *how), self.username, self.password, *tls.credential, "user")

    async def connect(self, context: ScalerContext) -> "CqlLink":
        """Connect to the first node that answers. Raises ScalerError, or ConfigError for TLS."""
        tls = context.tls_context(self.tls) if self.tls else None
        failure = ScalerError("no node")
        for host, port in self.hosts:
            try:
                return await self._log_in(CqlLink(*await open_stream(host, port, LONGEST_ANSWER, tls), self))
            except QueryRefused as error:
                failure = ScalerError(f"{host}:{port}: the log-in is refused: {error}")
            except (OSError, ScalerError) as error:
                failure = ScalerError(f"{host}:{port}: connection failed: {reason_of(error)}")
        raise failure

    async def _log_in(self, link: "CqlLink") -> "CqlLink":
        try:
            operation, _ = await link.ask(cql.STARTUP, cql.startup())
            if operation == cql.AUTHENTICATE:
                proof = cql.plain_log_in(self.username, self.password.get_secret_value())
                operation, _ = await link.ask(cql.AUTH_RESPONSE, proof)
            if operation not in (cql.READY, cql.AUTH_SUCCESS):
                raise ScalerError("the server wants a log-in of another kind than user and password")
            # USE takes no parameter. In quotes, because CQL would lower the case of a name without them.
            keyspace = self.keyspace.replace('"', '""')
            await link.ask(cql.QUERY, cql.query(f'USE "{keyspace}"', self.consistency))
        except BaseException:
            await link.aclose()
            raise
        return link


class CqlLink:
    """A `Link` over one CQL connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: CqlServer) -> None:
        self._reader, self._writer, self._server = reader, writer, server

    @property
    def closed(self) -> bool:
        return self._writer.is_closing()

    async def restore(self) -> bool:
        """Return False: the protocol cannot reset a session."""
        return False

    async def first(self, query: str) -> object:
        """Return the only cell, a number of any width."""
        operation, body = await self.ask(cql.QUERY, cql.query(query, self._server.consistency))
        if operation != cql.RESULT:
            raise ScalerError("the server sent something else than an answer to a query")
        try:
            there, cell = cql.first_cell(body)
        except cql.SeveralColumns as error:
            raise QueryRefused(str(error)) from None
        except ValueError as error:
            raise ScalerError(f"the answer cannot be read: {error}") from None
        return cell if there else NO_ROW

    async def ask(self, operation: int, body: bytes) -> tuple[int, cql.Body]:
        """Operation and body of the answer. Raises QueryRefused for an ERROR, ScalerError for a lost connection."""
        try:
            self._writer.write(cql.frame(self._server.version, operation, body))
            await self._writer.drain()
            _, flags, _, answered, length = cql.HEADER.unpack(await self._reader.readexactly(cql.HEADER.size))
            answer = cql.Body.of(flags, await self._reader.readexactly(length))
            if answered == cql.ERROR:
                raise QueryRefused(f"error {answer.number():#06x}: {answer.string()}")
        except (OSError, asyncio.IncompleteReadError, struct.error, ValueError) as error:
            raise ScalerError(f"connection lost: {reason_of(error)}") from None
        return answered, answer

    async def aclose(self) -> None:
        """Close the connection without a farewell."""
        self._writer.transport.abort()
