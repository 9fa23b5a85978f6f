"""Common part of scalers that ask a database one query: the connections of a database and user, and a time-out."""

from abc import abstractmethod
from datetime import timedelta
from typing import Generic, Protocol, TypeVar

from keda_py.sdk.advanced import ScalerContext, SharingKey
from keda_py.sdk.scaler import Reading, Scaler, ScalerError, TriggerMetadata
from scalers.shared.databases.queries.link import NO_ROW, Link
from scalers.shared.databases.queries.pool import LONGEST_WAIT, Pool, place_of
from scalers.shared.numbers import cell_number, finite_reading


class QueryMetadata(TriggerMetadata):
    """The keys that all have; `timeout` is ours alone, KEDA ignores it."""

    query: str
    timeout: timedelta | None = None


class Server(Protocol):
    """One database as one user, and how long a query may take; triggers of a namespace with equal ones share a pool."""

    @property
    def address(self) -> str:
        """Address for error texts."""
        ...

    def key(self, tenant: str, use: str) -> SharingKey:
        """Key under which its pool, or another `use`, is shared."""
        ...

    async def connect(self, context: ScalerContext) -> Link:
        """Raises ScalerError, or ConfigError for what the user has to mend."""
        ...


Q = TypeVar("Q", bound=QueryMetadata)


class QueryScaler(Scaler[Q], Generic[Q]):
    """Queries of one database and user go side by side, each by itself: one that is slow or fails hinders no other."""

    _server: Server
    _pool: Pool

    @abstractmethod
    async def _find_server(self) -> Server:
        """Return the server with user and database. Raises ConfigError."""

    def _no_row(self) -> Reading:
        """Make the reading of a query without any row. Raises ScalerError."""
        raise ScalerError("the query answers no row: select a count or a number")

    @property
    def longest_wait(self) -> float:
        """Seconds to wait for a free connection."""
        return LONGEST_WAIT

    async def open(self) -> None:
        """Join the pool; its first user connects."""
        self._server = server = await self._find_server()
        context, timeout, place = self.context, self.timeout, await place_of(self.context)

        async def make() -> Pool:
            return Pool(lambda: server.connect(context), place, timeout, server.address)

        self._pool = await context.shared(server.key(context.namespace, "queries"), make, Pool.aclose)
        try:
            with context.clock.busy():
                await self._pool.ping()
        except ScalerError as error:
            raise self._named(error) from None

    async def read(self) -> Reading:
        """Ask now; an answer that is not one number is an error."""
        try:
            with self.context.clock.busy():
                cell = await self._pool.first(self.metadata.query)
            return self._no_row() if cell is NO_ROW else finite_reading(cell_number(cell))
        except ScalerError as error:
            raise self._named(error) from None

    def _named(self, error: ScalerError) -> ScalerError:
        return ScalerError(f"{self._server.address}: {error}")
