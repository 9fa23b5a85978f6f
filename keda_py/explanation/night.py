"""What all objects did since a time, one table in the order of time; read from what each keeps in its status."""

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
    """One change of one object; `entry` is as the insight tells it."""

    at: datetime
    kind: str
    namespace: str
    name: str
    entry: Mapping[str, Any]

    def fields(self) -> Mapping[str, Any]:
        """For programs."""
        return {"kind": self.kind, "namespace": self.namespace, "name": self.name, **self.entry}


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What happened since a time; `kept` is whether any object keeps anything at all."""

    since: datetime
    now: datetime
    happenings: Sequence[Happening]
    kept: bool


def night_of(objects: Iterable[Mapping[str, Any]], since: datetime, now: datetime) -> Night:
    """`objects` as they are in the cluster."""
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
    """The table; times are of this machine's zone."""
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
    """A line a change, for a pipe that is watched."""
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
