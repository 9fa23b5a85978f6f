"""What a load is: from when to when it lasts, and a source for each trigger that needs one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from keda_py.errors import ConfigError
from keda_py.replay.engine.source import Source

RESOURCE_UNITS: Mapping[str, str] = {"cpu": "cores", "memory": "bytes"}
"""What all pods use together of each resource that the HPA reads by itself."""


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
    """Can be bound again and again, and sent to another process."""

    @property
    def origin(self) -> datetime:
        """Second 0, aware."""
        ...

    @property
    def end(self) -> float:
        """The end, in seconds."""
        ...

    def bind(self, needs: Sequence[Need]) -> Mapping[int, Source]:
        """A source for each need, by trigger index. Raises ConfigError where one has none."""
        ...


def match_columns(columns: Sequence[str], needs: Sequence[Need], where: str) -> dict[int, int]:
    """Trigger index -> column. One column and one need belong together, whatever the names. Raises ConfigError."""
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
