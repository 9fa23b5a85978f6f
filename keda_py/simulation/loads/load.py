"""Loads: from when to when they last, and a source for each trigger that needs one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from keda_py.errors import ConfigError
from keda_py.replay.engine.source import Source

RESOURCE_UNITS: Mapping[str, str] = {"cpu": "cores", "memory": "bytes"}
"""Units of what all pods use together, for the resources that the HPA reads by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A trigger that does not know by the clock alone what it reads.

    `names`: how a column may call it, the best first. `peak`: the value that asks for as many pods as an invented load
    may ask for, None where that cannot be told. `query`: a PromQL expression of its own, "". `unit`: what a value
    counts, where the trigger's target is another quantity. `zone`: that of the object's first schedule, "" without any.
    """

    index: int
    names: tuple[str, ...]
    peak: float | None = None
    query: str = ""
    unit: str = ""
    zone: str = ""


class Load(Protocol):
    """A load, which can be bound again and again, and sent to another process."""

    @property
    def origin(self) -> datetime:
        """Second 0, aware."""
        ...

    @property
    def end(self) -> float:
        """The second at which it ends."""
        ...

    def bind(self, needs: Sequence[Need]) -> Mapping[int, Source]:
        """Make a source for each need, by trigger index. Raises ConfigError for a need without one."""
        ...


def match_columns(columns: Sequence[str], needs: Sequence[Need], where: str) -> dict[int, int]:
    """Map trigger indexes to columns; a lone column and a lone need belong together. Raises ConfigError."""
    if len(columns) == len(needs) == 1:
        return {needs[0].index: 0}
    found = {need.index: at for need in needs for at, name in enumerate(columns) if name in need.names}
    for need in needs:
        if need.index not in found:
            wanted = " or ".join(f'"{name}"' for name in need.names)
            has = ", ".join(f'"{name}"' for name in columns) or "none"
            raise ConfigError(f"{where}: trigger {need.index} has no column; call one {wanted}; the columns are {has}")
    for at, name in enumerate(columns):
        if at not in found.values():
            raise ConfigError(f'{where}: column "{name}" belongs to no trigger; rename it, or leave it out')
    return found
