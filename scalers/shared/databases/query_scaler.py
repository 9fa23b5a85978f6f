"""What scalers that ask a database one query have in common: a session for each database and user, and batches."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from keda_py.sdk.scaler import Reading, Scaler, ScalerContext, ScalerError, SharingKey, TriggerMetadata
from scalers.shared.databases.session import NO_ROW, Link, QueryRefused, Session
from scalers.shared.numbers import cell_number, finite_reading


class QueryMetadata(TriggerMetadata):
    """The one key that all have."""

    query: str


class Server(Protocol):
    """One database as one user; triggers of a namespace with equal ones share a connection."""

    @property
    def address(self) -> str:
        """For error texts."""
        ...

    def key(self, tenant: str, use: str) -> SharingKey:
        """Under which its session, or another `use` of it, is shared."""
        ...

    async def connect(self, context: ScalerContext) -> Link:
        """Raises ScalerError, or ConfigError for what the user has to mend."""
        ...


Q = TypeVar("Q", bound=QueryMetadata)


class QueryScaler(Scaler[Q], Generic[Q]):
    """Each query is one round trip on the shared connection; one that fails does not hinder the others."""

    _server: Server
    _session: Session

    @abstractmethod
    async def _find_server(self) -> Server:
        """Where to ask, and as who. Raises ConfigError."""

    def _no_row(self) -> Reading:
        """What a query without any row counts as. Raises ScalerError."""
        raise ScalerError("the query answers no row: select a count or a number")

    async def open(self) -> None:
        """Join the session; its first user connects."""
        self._server = server = await self._find_server()
        context, timeout = self.context, self.timeout

        async def connected() -> Session:
            session = Session(lambda: server.connect(context), context, timeout)
            session.server = server.address
            try:
                with context.clock.busy():
                    await session.ping()
            except ScalerError as error:
                raise self._named(error) from None
            return session

        self._session = await context.shared(server.key(context.namespace, "session"), connected, Session.aclose)

    async def read(self, spec: object = None) -> Reading:
        """Ask now; an answer that is not a number is an error."""
        (reading,) = await self.read_batch([self])
        if isinstance(reading, ScalerError):
            raise reading
        return reading

    @property
    def batch_key(self) -> SharingKey | None:
        """Database and user; None before `open`."""
        return self._server.key(self.context.namespace, "queries") if hasattr(self, "_server") else None

    async def read_batch(self, scalers: "Sequence[Scaler[Q]]") -> "Sequence[Reading | ScalerError]":
        """All queries, one after another on one connection."""
        return [await self._one(scaler.metadata.query) for scaler in scalers]

    async def _one(self, query: str) -> Reading | ScalerError:
        try:
            with self.context.clock.busy():
                cell = await self._session.first(query)
        except QueryRefused as error:
            return self._named(error)
        except ScalerError as error:
            raise self._named(error) from None
        try:
            return self._no_row() if cell is NO_ROW else finite_reading(cell_number(cell))
        except ScalerError as error:
            return self._named(error)

    def _named(self, error: ScalerError) -> ScalerError:
        return ScalerError(f"{self._server.address}: {error}")
