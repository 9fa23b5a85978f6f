"""An open connection of one dialect, as the pool of connections uses it."""

from collections.abc import Sequence
from typing import Final, Protocol

from keda_py.sdk.scaler import ScalerError

# Bytes that a server may send for one query, or for a log-in; a number takes a few.
LONGEST_ANSWER: Final = 1024 * 1024


class NoRow:
    """The answer to a query without any row."""


NO_ROW: Final = NoRow()


class QueryRefused(ScalerError):
    """The server understood and said no; the connection is as good as before."""


class Link(Protocol):
    """An open connection. Its methods are never called at the same time."""

    @property
    def closed(self) -> bool:
        """Whether the connection can no longer be used."""
        ...

    async def first(self, query: str) -> object:
        """The only cell of the first row, or NO_ROW. Raises QueryRefused, or ScalerError for a connection lost."""
        ...

    async def restore(self) -> bool:
        """Make the session what it was after the log-in; False where that takes a new connection."""
        ...

    async def aclose(self) -> None:
        """Close without a farewell, also in the middle of a query. Never raises."""
        ...


def only_cell(row: Sequence[object]) -> object:
    """The cell of a row that has one. Raises QueryRefused, as KEDA refuses any other row."""
    if len(row) != 1:
        raise QueryRefused(f"the query answers {len(row)} columns: select one, a count or a number")
    return row[0]
