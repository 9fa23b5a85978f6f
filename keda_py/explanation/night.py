"""Changes of all objects since a time, one table in the order of time, from the history in each status."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.text import Text

from keda_py.explanation.page import entry_cells
from keda_py.operator.decisions.history import in_full, read_history
from keda_py.terminal.table import Column, draw_table
from keda_py.terminal.times import Times
from keda_py.terminal.wrapping import wrap
from keda_py.terminal.zones import user_zone

NONE_KEPT = (
    "no object keeps any change: the operator has just been installed, runs with --decision-history=0, or the "
    "installed CRDs are older (apply `keda-py crds`)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Change of one object; `entry` has the form of the insight's."""

    at: datetime
    kind: str
    namespace: str
    name: str
    entry: Mapping[str, Any]

    def fields(self) -> Mapping[str, Any]:
        """Return the change for programs, with its object."""
        return {"kind": self.kind, "namespace": self.namespace, "name": self.name, **self.entry}


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """Changes since a time; `kept`: at least one object keeps a history."""

    since: datetime
    now: datetime
    happenings: Sequence[Happening]
    kept: bool


def night_of(objects: Iterable[Mapping[str, Any]], since: datetime, now: datetime) -> Night:
    """Collect the changes of `objects`, given as they are in the cluster."""
    found, kept = list[Happening](), False
    for live in objects:
        meta, kind = live["metadata"], live.get("kind", "ScaledObject")
        for entry in map(in_full, read_history(live.get("status") or {})):
            kept, at = True, datetime.fromisoformat(entry["time"])
            if at >= since:
                place, name = meta.get("namespace", ""), meta["name"]
                found.append(Happening(at=at, kind=kind, namespace=place, name=name, entry=entry))
    found.sort(key=lambda one: (one.at, one.namespace, one.name))
    return Night(since=since, now=now, happenings=found, kept=kept)


def night_page(night: Night, width: int, height: int | None = None) -> Text:
    """Draw the table; times are in this machine's zone."""
    if not night.happenings:
        nothing = f"nothing changed since {_stamp(night.since)} {_zone(night.since)}" if night.kept else NONE_KEPT
        return Text("\n").join(map(Text, wrap(nothing, width)))
    columns = (
        Column(heading=f"Time ({_zone(night.now)})"),
        Column(heading="Object", style="bold", cuts=True),
        Column(heading="Reason", goes=3),
        Column(heading="Count"),
        Column(heading="Triggers", wraps=True, goes=1),
        Column(heading="Why", wraps=True),
    )
    times = Times(now=night.now, reader=user_zone())
    return draw_table(columns, [_row(one, times, "\n") for one in night.happenings], width, height)


def night_lines(night: Night) -> list[str]:
    """Write a line for each change, for a watched pipe."""
    times = Times(now=night.now, reader=user_zone())
    return ["  ".join(filter(None, _row(one, times, "; "))) for one in night.happenings]


def _row(one: Happening, times: Times, joint: str) -> tuple[str, ...]:
    kind = "" if one.kind == "ScaledObject" else f"{one.kind.lower()}/"
    cells = entry_cells(one.entry, times, joint)[:4]
    return (_stamp(one.at), f"{kind}{one.namespace}/{one.name}", *cells)


def _stamp(at: datetime) -> str:
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _zone(at: datetime) -> str:
    return at.astimezone().tzname() or ""
