"""Page of an explanation: what holds now, what comes next, and the changes that led there."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from rich.text import Text

from keda_py.core.decision import Reason
from keda_py.core.jobs.decision import JobReason
from keda_py.core.meaning.causes import active_in_words
from keda_py.core.values.own_annotations import PAUSED_UNTIL
from keda_py.explanation.evidence import NOTHING, Evidence
from keda_py.explanation.outlook import foretell, scene_of
from keda_py.explanation.zones import zone_of, zone_of_plan
from keda_py.terminal.console import UNBOUNDED, console_of
from keda_py.terminal.table import Column, draw_table
from keda_py.terminal.times import Times, duration
from keda_py.terminal.wrapping import wrap

Entry = Mapping[str, Any]
_UTC = ZoneInfo("UTC")

_PAUSED = "paused by annotation autoscaling.keda.sh/paused...; nothing is read and nothing is scaled until it goes"
_RULED = "nothing is read and nothing is scaled until then"
_MEANINGS = {
    Reason.REPLICAS_UNKNOWN: "the replicas could not be read, so nothing was done",
    Reason.PAUSED: "paused by annotation",
    Reason.SCALE_OUT_PAUSED: "should wake, but scaling out is paused by annotation",
    Reason.ACTIVATED: "woke",
    Reason.AWAITING_TURN: "is to wake, and waits for its turn: --activations-per-second of the operator is reached",
    Reason.SOME_TRIGGERS_FAIL: "stays awake on the triggers that answer; others fail",
    Reason.ACTIVE: "stays awake; the HPA scales",
    Reason.AWAITING_FALLBACK: "waits: triggers fail, the fallback is not due yet",
    Reason.TRIGGERS_FAIL: "stays as it is: triggers fail and there is no fallback",
    Reason.SCALE_IN_PAUSED: "should sleep, but scaling in is paused by annotation",
    Reason.CLUSTER_UNKNOWN: "should sleep, but the cluster has been out of sight for too long",
    Reason.SCALING_IN: "nothing to do; its HPA scales in first, then the cooldown begins",
    Reason.COOLING_DOWN: "nothing to do; cooling down",
    Reason.WAKERS_PENDING: "nothing to do; goes to sleep once its Services lead to wakers",
    Reason.DEACTIVATED: "went to sleep",
    Reason.RAISED_TO_MIN: "was raised",
    Reason.INACTIVE: "nothing to do",
}
_JOB_MEANINGS = {
    JobReason.CLUSTER_UNKNOWN: "no Jobs are created: the cluster has been out of sight for too long",
    JobReason.CREATE_FAILED: "Jobs were refused by the API server",
    JobReason.CREATED: "created Jobs",
    JobReason.NAMESPACE_FULL: "no Jobs are created: all ScaledJobs of the namespace have as many as they may together",
    JobReason.SOME_TRIGGERS_FAIL: "goes by the triggers that answer; others fail",
    JobReason.ENOUGH: "there are enough Jobs for what waits, or as many as there may be",
    JobReason.TRIGGERS_FAIL: "creates no Jobs: triggers fail",
    JobReason.INACTIVE: "nothing to do",
}


def print_explanation(insight: Mapping[str, Any], evidence: Evidence = NOTHING) -> None:
    """Print the explanation, coloured on a terminal."""
    console = console_of(sys.stdout)
    console.print(explanation(insight, evidence, console.width), soft_wrap=True)


def explanation(
    insight: Mapping[str, Any], evidence: Evidence, width: int = UNBOUNDED, height: int | None = None
) -> Text:
    """Draw the page of a terminal; above `height` lines the first changes are left out."""
    return Explanation(insight, evidence).page(width, height)


class Explanation:
    """Explanation of one object; its forecast is made once, however often the page is drawn."""

    def __init__(self, insight: Mapping[str, Any], evidence: Evidence, reader: ZoneInfo = _UTC) -> None:
        self._insight, self._evidence = insight, evidence
        times = Times(now=datetime.fromisoformat(insight["now"]["time"]), reader=reader)
        scene = scene_of(insight, evidence.sources, times)
        self._times = times.of(zone_of(evidence.manifest) or (zone_of_plan(scene.plan) if scene is not None else None))
        ahead = foretell(replace(scene, times=self._times)) if scene is not None else ()
        self._ahead = list(ahead)

    def page(self, width: int, height: int | None = None) -> Text:
        """Draw the page of a terminal; above `height` lines the first changes are left out."""
        return _page(self._insight, self._evidence, self._times, self._ahead, Size(width, height))

    @property
    def changes(self) -> list[str]:
        """Write a line for each change, for a watched pipe."""
        rows = _rows(self._insight, self._evidence, self._times, "; ")
        return ["  ".join((self._times.both(at), *filter(None, cells))) for at, cells in rows]


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a terminal; `height` None is unbounded."""

    width: int
    height: int | None = None


def _page(insight: Mapping[str, Any], evidence: Evidence, times: Times, ahead: Sequence[str], size: Size) -> Text:
    meta = insight["metadata"]
    name = f"{meta['namespace']}/{meta['name']}"
    first, *rest = wrap(f"{name}: {headline(insight, times, evidence.replicas)}", size.width)
    lines = [Text(first), *map(Text, rest)]
    lines[0].stylize("bold", 0, len(name) if first.startswith(name) else 0)
    for text in [*ahead, *_body(insight, evidence, times)]:
        indent = "" if text.startswith("next: ") else "  "
        lines += [Text(f"{indent}{line}") for line in wrap(text, size.width - len(indent))]
    if insight["changes"] or evidence.steps:
        left = None if size.height is None else max(size.height - len(lines) - 2, 4)
        rows = _rows(insight, evidence, times, "; " if size.width >= UNBOUNDED else "\n")
        table = _changes(rows, insight, times, Size(size.width, left))
        lines += [Text(), Text("changes", "italic"), table]
    return Text("\n", no_wrap=True, overflow="ignore").join(lines)


def headline(insight: Mapping[str, Any], times: Times, replicas: int | None = None) -> str:
    """Write the present state, with the workload's own count if that is known; an error comes before a pause."""
    ruler = times.localised(str(insight.get("ruledBy") or ""))
    troubles = [one for one in insight["conditions"] if one.get("type") == "Ready" and one.get("status") == "False"]
    paused = [one for one in insight["conditions"] if one.get("type") == "Paused" and one.get("status") == "True"]
    last = insight.get("last")
    if paused and "nextPoll" not in insight["now"]:
        wrong = f"not scaled: {troubles[0].get('message', '')}; besides it is " if troubles else ""
        return f"{wrong}{f'{ruler}; {_RULED}' if ruler else _paused(paused[0], times)}"
    if "nextPoll" not in insight["now"]:
        return f"not scaled: {troubles[0].get('message', '')}" if troubles else "not looked at yet"
    if last is None:
        return "not looked at yet"
    count = _count(last) if replicas is None else _numbered(replicas, "replica")
    return f"{count}, {last['reason']}: {_meaning(last, times)}{f'; {ruler}' if ruler else ''}"


def _paused(condition: Mapping[str, Any], times: Times) -> str:
    """Describe a pause by annotation, with its end if it has one, or what else the condition says stops scaling."""
    because = str(condition.get("message", "")).partition(": ")[2]
    if not because:
        return _PAUSED
    by = f"paused by annotation {PAUSED_UNTIL}, " if because.startswith("until ") else ""
    return f"{by}{times.localised(because)}; {_RULED}"


def _body(insight: Mapping[str, Any], evidence: Evidence, times: Times) -> Iterator[str]:
    yield from _now(insight.get("last"), str(insight.get("ruledBy") or ""))
    yield from evidence.policy
    yield from insight.get("defaults", ())
    yield from insight.get("troubles", ())
    if by := insight.get("decidedBy"):
        yield f"decided by replica {by}, one of several that share the objects out"
    if evidence.by_hand is not None:
        yield f"the count was last set by {evidence.by_hand.manager} {times.moment(evidence.by_hand.at)}, by hand"
    if evidence.unread:
        yield f"not shown, for want of the right to read them: {', '.join(evidence.unread)}"
    yield from _next(insight, times)


def _count(entry: Entry) -> str:
    """Return the count after a look."""
    if "jobs" in entry:
        jobs = entry["jobs"]
        return f"{_numbered(jobs['running'] + jobs['created'], 'Job')} unfinished"
    replicas = entry["replicas"].get("after")
    return "replicas unknown" if replicas is None else _numbered(replicas, "replica")


def _numbered(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _now(last: Entry | None, ruler: str) -> Iterator[str]:
    """Yield what the last look saw; what rules the object is in the headline."""
    if last is None:
        return
    for trigger in last["triggers"]:
        yield _trigger(trigger)
    if "formula" in last:
        yield f"formula = {last['formula']:g}"
    yield from (note for note in _notes(last) if note != ruler)


def _notes(entry: Entry) -> list[str]:
    """Explain values that differ from their source; a trigger in fallback is shown as such already."""
    if entry["reason"] == Reason.PAUSED:
        return []  # its meaning is shown instead
    return [note for note in entry.get("notes", ()) if not note.endswith(": fallback")]


def _next(insight: Mapping[str, Any], times: Times) -> Iterator[str]:
    """Yield the next poll, and before or after it what is known in advance."""
    now, last = insight["now"], insight.get("last") or {}
    steps = []
    if "nextPoll" in now:
        steps.append((datetime.fromisoformat(now["nextPoll"]), "poll"))
    if "nextPoll" in now and "nextChange" in last:
        cooling = last["reason"] == Reason.COOLING_DOWN
        what = "the cooldown is over; sleep, unless there is something to do" if cooling else "a schedule changes"
        steps.append((datetime.fromisoformat(last["nextChange"]), what))
    for when, what in sorted(steps):
        yield f"next: {times.both(when)} (in {duration(when - times.now)}): {what}"


Rows = list[tuple[datetime, tuple[str, ...]]]


def _changes(rows: Rows, insight: Mapping[str, Any], times: Times, size: Size) -> Text:
    counted = "Jobs" if insight.get("kind") == "ScaledJobInsight" else "Replicas"
    columns = [
        Column(heading=f"Time ({times.zone_name})"),
        Column(heading="Reason"),
        Column(heading=counted),
        Column(heading="Triggers", wraps=True, goes=1),
        Column(heading="Why", wraps=True),
        Column(heading="Next change", goes=2),
    ]
    beside = Times(now=times.now, reader=times.reader)
    if times.second is not None:
        columns.insert(1, Column(heading=f"Time ({beside.zone_name})", goes=3))
    stamps = [times, *([beside] if times.second is not None else [])]
    cells_with_times = [(*(one.stamp(at) for one in stamps), *cells) for at, cells in rows]
    return draw_table(columns, cells_with_times, size.width, size.height)


def _rows(insight: Mapping[str, Any], evidence: Evidence, times: Times, joint: str) -> Rows:
    """Merge our changes and the HPA's in the order of time."""
    rows = [(datetime.fromisoformat(one["time"]), entry_cells(one, times, joint)) for one in insight["changes"]]
    rows += [
        (one.at, ("HPA", f"-> {one.size}", one.metric, f"scaled by the HPA: {one.why}", "")) for one in evidence.steps
    ]
    return sorted(rows, key=lambda row: row[0])


def entry_cells(entry: Entry, times: Times, joint: str) -> tuple[str, ...]:
    """Return the cells (reason, count, triggers, why, next change)."""
    planned = times.stamp(datetime.fromisoformat(entry["nextChange"])) if "nextChange" in entry else ""
    seen = [_trigger(trigger) for trigger in entry["triggers"]]
    seen += [f"formula = {entry['formula']:g}"] if "formula" in entry else []
    seen += _notes(entry)
    return entry["reason"], _change(entry), joint.join(seen), _meaning(entry, times), planned


def _meaning(entry: Entry, times: Times) -> str:
    meanings = _JOB_MEANINGS if "jobs" in entry else _MEANINGS
    known = {reason.value: meaning for reason, meaning in meanings.items()}
    text = known.get(str(entry["reason"]), str(entry["reason"]))
    stand_ins = [one["metric"] for one in entry["triggers"] if one.get("fallback")]
    if entry["reason"] == Reason.ACTIVE and stand_ins:
        text = f"stays awake; the HPA scales by the fallback of {' and '.join(stand_ins)}"
    text = _caused(entry, text, times)
    if "cooldownLeftSeconds" in entry:
        text = f"{text}, {duration(timedelta(seconds=entry['cooldownLeftSeconds']))} left"
    return f"{text}; {entry['error']}" if "error" in entry else text


def _caused(entry: Entry, text: str, times: Times) -> str:
    """Add the cause; a change that the object's status kept has its active triggers for a cause."""
    because = str(entry.get("because") or "")
    active = [one["metric"] for one in entry["triggers"] if one.get("active") or one.get("fallback")]
    if not because and entry["reason"] == Reason.ACTIVATED and active:
        because = active_in_words(active)
    if not because:
        return text
    if not entry.get("ruled"):
        return f"{text}, because {because}"
    because = times.localised(because)
    if entry["reason"] == Reason.PAUSED:
        return because
    return f"{text} {because}" if because.startswith("with ") else f"{text}, {because}"


def _trigger(trigger: Mapping[str, Any]) -> str:
    name = f"{trigger['metric']} ({trigger['name']})" if "name" in trigger else trigger["metric"]
    said = (
        f"{trigger['value']:g}, {'active' if trigger['active'] else 'inactive'}" if "value" in trigger else "no value"
    )
    failures = f", {_numbered(trigger['failures'], 'failure')} in a row" if "failures" in trigger else ""
    error = f" ({trigger['error']})" if "error" in trigger else ""
    return f"{name}: {said}{failures}{', in fallback' if 'fallback' in trigger else ''}{error}"


def _change(entry: Entry) -> str:
    if "jobs" in entry:
        running, created = entry["jobs"]["running"], entry["jobs"]["created"]
        before, after = running, running + created
    else:
        before, after = entry["replicas"].get("before", "?"), entry["replicas"].get("after", "?")
    return str(after) if before == after else f"{before} -> {after}"
