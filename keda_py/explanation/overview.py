"""Overview of all objects, a line each: state, since when, what comes next and why. Read from their status."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.text import Text

from keda_py.core.conditions import read_condition
from keda_py.core.decision import Reason
from keda_py.explanation.evidence import parsed_time
from keda_py.explanation.rulers import NONE, Ruler, Rulers
from keda_py.explanation.zones import zone_of
from keda_py.terminal.table import Column, draw_table
from keda_py.terminal.times import Times, rough_duration

COLUMNS = (
    Column(heading="Name", style="bold", cuts=True),
    Column(heading="State"),
    Column(heading="Since"),
    Column(heading="Next"),
    Column(heading="Why", wraps=True),
    Column(heading="Values", wraps=True, goes=1),
)
_STYLES = {"broken": "red", "paused": "yellow", "awake": "green", "asleep": "blue"}
_QUIET = (Reason.DEACTIVATED, Reason.INACTIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectLine:
    """Line about one object; `next` is a time known in advance, None if unknown or past. `goes` says what happens then.

    `brief` is `why` without the time of the next change.
    """

    kind: str
    namespace: str
    name: str
    state: str
    reason: str
    since: datetime | None
    next: datetime | None
    goes: str = ""
    why: str
    brief: str = ""
    values: Mapping[str, str]
    times: Times

    def fields(self) -> Mapping[str, Any]:
        """Return the line for programs; times are UTC."""
        found = {"kind": self.kind, "namespace": self.namespace, "name": self.name, "state": self.state}
        times = {"since": self.since, "nextChange": self.next}
        moments = {name: at.isoformat().replace("+00:00", "Z") for name, at in times.items() if at is not None}
        return {**found, "reason": self.reason, **moments, "why": self.why, "values": dict(self.values)}


def line_of(live: Mapping[str, Any], times: Times, rulers: Rulers = NONE) -> ObjectLine:
    """Build the line of a ScaledObject or ScaledJob as it is in the cluster."""
    meta, status = live["metadata"], live.get("status") or {}
    reason_fields, conditions = status.get("kedaPy") or {}, status.get("conditions") or ()
    ready, paused = read_condition(conditions, "Ready"), read_condition(conditions, "Paused").status == "True"
    ruler = rulers.of(dict(live)) if live.get("kind", "ScaledObject") == "ScaledObject" else None
    times = times.of(zone_of(live) or (ruler.zone if ruler is not None else None))
    active, why = read_condition(conditions, "Active").status, _why(ready.status, ready.message, reason_fields)
    state = _state(live, ready.status, paused, active, reason_fields)
    goes, upcoming = _next(reason_fields, ruler if _changes(ruler, state) else None, times.now)
    return ObjectLine(
        kind=live.get("kind", "ScaledObject"),
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        state=state,
        reason=reason_fields.get("reason", ""),
        since=parsed_time(reason_fields.get("since")),
        next=upcoming,
        goes=goes,
        why=times.localised(why),
        brief=_without_end(why),
        values=reason_fields.get("values") or {},
        times=times,
    )


def overview(
    lines: Iterable[ObjectLine], width: int, height: int | None = None, *, all_namespaces: bool = False
) -> Text:
    """Draw the table; names stand with their namespace if several are shown."""
    rows = [_row(line, all_namespaces) for line in lines]
    return draw_table(COLUMNS, rows, width, height) if rows else Text("no ScaledObject and no ScaledJob here")


def _row(line: ObjectLine, all_namespaces: bool) -> tuple[str | Text, ...]:
    kind = "" if line.kind == "ScaledObject" else f"{line.kind.lower()}/"
    since = f"{rough_duration(line.times.now - line.since)} ago" if line.since else ""
    return (
        f"{kind}{line.namespace}/{line.name}" if all_namespaces or kind else line.name,
        Text(line.state, _STYLES.get(line.state, "")),
        since,
        f"{line.goes} in {rough_duration(line.next - line.times.now)}".strip() if line.next else "",
        line.brief,
        ", ".join(f"{name}: {value}" for name, value in line.values.items()),
    )


def _changes(ruler: Ruler | None, state: str) -> bool:
    """Whether its Environment's next change affects it: an object that is up is not woken."""
    return ruler is not None and ruler.goes == ("wakes" if state in ("asleep", "paused") else "sleeps")


def _next(reason_fields: Mapping[str, Any], ruler: Ruler | None, now: datetime) -> tuple[str, datetime | None]:
    """Return the earlier of its own next change and its Environment's, with a word for it."""
    own, ruled = parsed_time(reason_fields.get("nextChange")), ruler.at if ruler is not None else None
    known = sorted(at for at in (own, ruled) if at is not None and at > now)
    if not known:
        return "", None
    return ruler.goes if ruler is not None and known[0] == ruled else "", known[0]


def _state(live: Mapping[str, Any], ready: str, paused: bool, active: str, reason_fields: Mapping[str, Any]) -> str:
    """Name its state; an error comes before a pause, and before sleep by an Environment."""
    reason = reason_fields.get("reason", "")
    if ready == "False":
        return "broken"
    if paused:
        return "asleep" if str(reason_fields.get("ruledBy") or "").startswith("asleep") else "paused"
    if reason == Reason.COOLING_DOWN:
        return "cooling"
    if reason in _QUIET or active not in ("True", "Unknown"):
        return "asleep" if _rests_at_zero(live) else "idle"
    return "awake" if active == "True" else "unknown"


def _rests_at_zero(live: Mapping[str, Any]) -> bool:
    """Whether it runs nothing while no trigger is active; a ScaledJob has no workload that could sleep."""
    spec = live.get("spec") or {}
    least = spec.get("idleReplicaCount", spec.get("minReplicaCount"))
    return live.get("kind", "ScaledObject") == "ScaledObject" and not least


def _why(ready: str, message: str, reason_fields: Mapping[str, Any]) -> str:
    if ready == "False":
        return message
    ruled = reason_fields.get("ruledBy")
    reason = "" if ruled and reason_fields.get("reason") == Reason.PAUSED else reason_fields.get("reason", "")
    return "; ".join(map(str, filter(None, (ruled, reason, *(reason_fields.get("notes") or ())))))


def _without_end(text: str) -> str:
    """Cut `until 2026-11-23T07:30:00Z` off, which has a column of its own."""
    words = text.split(" ")
    ends = [at for at, word in enumerate(words[:-1]) if word == "until" and parsed_time(words[at + 1]) is not None]
    return " ".join(word for at, word in enumerate(words) if at not in ends and at - 1 not in ends)
