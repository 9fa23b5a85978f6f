"""Changes of all objects since a time, one table in the order of time, from the history in each status."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from rich.text import Text

from keda_py.apis.foreign import Obj
from keda_py.explanation.page import entry_cells
from keda_py.explanation.rulers import Rulers
from keda_py.explanation.zones import zone_of
from keda_py.operator.decisions.history import in_full, read_history
from keda_py.terminal.table import Column, draw_table
from keda_py.terminal.times import Times
from keda_py.terminal.wrapping import wrap

NONE_KEPT = (
    "no object keeps any change: the operator has just been installed, runs with --decision-history=0, or the "
    "installed CRDs are older (apply `keda-py crds`)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Change of one object; `entry` has the form of the insight's, `times` are in the object's zone."""

    at: datetime
    kind: str
    namespace: str
    name: str
    entry: Mapping[str, Any]
    times: Times

    def fields(self) -> Mapping[str, Any]:
        """Return the change for programs, with its object."""
        return {"kind": self.kind, "namespace": self.namespace, "name": self.name, **self.entry}


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """Changes since a time; `kept`: at least one object keeps a history. `times` are the reader's."""

    since: datetime
    times: Times
    happenings: Sequence[Happening]
    kept: bool


def night_of(objects: Iterable[Obj], since: datetime, times: Times, rulers: Rulers) -> Night:
    """Collect the changes of `objects`, given as they are in the cluster."""
    found, kept = list[Happening](), False
    for live in objects:
        meta, kind = live["metadata"], live.get("kind", "ScaledObject")
        own = times.of(zone_of(live) or rulers.zone_of(live))
        for entry in map(in_full, read_history(live.get("status") or {})):
            kept, at = True, datetime.fromisoformat(entry["time"])
            if at >= since:
                place, name = meta.get("namespace", ""), meta["name"]
                found.append(Happening(at=at, kind=kind, namespace=place, name=name, entry=entry, times=own))
    found.sort(key=lambda one: (one.at, one.namespace, one.name))
    return Night(since=since, times=times, happenings=found, kept=kept)


def night_page(night: Night, width: int, height: int | None = None) -> Text:
    """Draw the table in the reader's zone; an object that has another has its own time in a second column."""
    times = night.times
    if not night.happenings:
        nothing = f"nothing changed since {times.both(night.since)}" if night.kept else NONE_KEPT
        return Text("\n").join(map(Text, wrap(nothing, width)))
    columns = [
        Column(heading=f"Time ({times.zone_name})"),
        Column(heading="Object", style="bold", cuts=True),
        Column(heading="Reason", goes=3),
        Column(heading="Count"),
        Column(heading="Triggers", wraps=True, goes=1),
        Column(heading="Why", wraps=True),
    ]
    rows = [(times.stamp(one.at), *_row(one, "\n")) for one in night.happenings]
    if any(one.times.second is not None for one in night.happenings):
        columns.insert(1, Column(heading="In its zone"))
        beside = (_in_its_zone(one, times) for one in night.happenings)
        rows = [(stamp, said, *cells) for (stamp, *cells), said in zip(rows, beside, strict=True)]
    return draw_table(columns, rows, width, height)


def night_lines(night: Night) -> list[str]:
    """Write a line for each change, for a watched pipe."""
    return ["  ".join(filter(None, (one.times.both(one.at), *_row(one, "; ")))) for one in night.happenings]


def _row(one: Happening, joint: str) -> tuple[str, ...]:
    kind = "" if one.kind == "ScaledObject" else f"{one.kind.lower()}/"
    return (f"{kind}{one.namespace}/{one.name}", *entry_cells(one.entry, one.times, joint)[:4])


def _in_its_zone(one: Happening, reader: Times) -> str:
    """Write `03:30:00 KST`, or with the day before it if the reader has another; "" if both show the same time."""
    if one.times.second is None:
        return ""
    said = replace(one.times, reader=one.times.first).both(one.at)
    return said.removeprefix(f"{reader.stamp(one.at).partition(' ')[0]} ")
