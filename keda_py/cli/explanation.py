"""An insight in words: what holds now, what comes next, and the changes that led there."""

import sys
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from keda_py.core.decision import Reason

Entry = Mapping[str, Any]

_PIPED_WIDTH = 160
_MEANINGS = {
    Reason.REPLICAS_UNKNOWN: "the replicas could not be read, so nothing was done",
    Reason.PAUSED: "paused by annotation",
    Reason.SCALE_OUT_PAUSED: "should wake, but scaling out is paused by annotation",
    Reason.ACTIVATED: "woke",
    Reason.SOME_TRIGGERS_FAIL: "stays awake on the triggers that answer; others fail",
    Reason.ACTIVE: "stays awake; the HPA scales",
    Reason.AWAITING_FALLBACK: "waits: triggers fail, the fallback is not due yet",
    Reason.TRIGGERS_FAIL: "stays as it is: triggers fail and there is no fallback",
    Reason.SCALE_IN_PAUSED: "should sleep, but scaling in is paused by annotation",
    Reason.CLUSTER_UNKNOWN: "should sleep, but the cluster has been out of sight for too long",
    Reason.COOLING_DOWN: "nothing to do; cooling down",
    Reason.DEACTIVATED: "went to sleep: nothing to do since the cooldown began",
    Reason.RAISED_TO_MIN: "was raised to minReplicaCount",
    Reason.INACTIVE: "nothing to do",
}


def print_explanation(insight: Mapping[str, Any]) -> None:
    """To stdout, coloured on a terminal."""
    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False)
    meta, last = insight["metadata"], insight.get("last")
    console.print(f"[bold]{escape(meta['namespace'])}/{escape(meta['name'])}[/]: {escape(_headline(insight))}")
    for line in _now(last):
        console.print(f"  {escape(line)}")
    for line in _next(insight):
        console.print(f"next: {escape(line)}")
    if insight["changes"]:
        console.print()
        console.print(_changes(insight["changes"]))


def _headline(insight: Mapping[str, Any]) -> str:
    troubles = [one for one in insight["conditions"] if one.get("type") == "Ready" and one.get("status") == "False"]
    paused = [one for one in insight["conditions"] if one.get("type") == "Paused" and one.get("status") == "True"]
    last = insight.get("last")
    if paused and "nextPoll" not in insight["now"]:
        return "paused by annotation; nothing is read and nothing is scaled"
    if "nextPoll" not in insight["now"]:
        return f"not scaled: {troubles[0].get('message', '')}" if troubles else "not looked at yet"
    if last is None:
        return "not looked at yet"
    replicas = (last["replicas"] or {}).get("after")
    count = "replicas unknown" if replicas is None else f"{replicas} replica{'' if replicas == 1 else 's'}"
    return f"{count}, {last['reason']}: {_meaning(last)}"


def _now(last: Entry | None) -> Iterator[str]:
    if last is None:
        return
    for trigger in last["triggers"]:
        yield _trigger(trigger)
    if "formula" in last:
        yield f"formula = {last['formula']:g}"
    yield from last.get("notes", ())


def _next(insight: Mapping[str, Any]) -> Iterator[str]:
    """The poll, and before or after it what is known in advance."""
    now, last = insight["now"], insight.get("last") or {}
    at = datetime.fromisoformat(now["time"])
    steps = []
    if "nextPoll" in now:
        steps.append((datetime.fromisoformat(now["nextPoll"]), "poll"))
    if "nextPoll" in now and "nextChange" in last:
        cooling = last["reason"] == Reason.COOLING_DOWN
        what = "the cooldown is over; sleep, unless there is something to do" if cooling else "a schedule changes"
        steps.append((datetime.fromisoformat(last["nextChange"]), what))
    for when, what in sorted(steps):
        yield f"{_clock(when)} (in {_duration(when - at)}): {what}"


def _changes(entries: list[Entry]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, title="changes", title_justify="left")
    for column in ("Time (UTC)", "Reason", "Replicas", "Triggers", "Why", "Next change"):
        table.add_column(column, overflow="fold")
    for entry in entries:
        planned = _clock(datetime.fromisoformat(entry["nextChange"])) if "nextChange" in entry else ""
        seen = [_trigger(trigger) for trigger in entry["triggers"]]
        seen += [f"formula = {entry['formula']:g}"] if "formula" in entry else []
        cells = (
            entry["time"].replace("T", " ").removesuffix("Z"),
            entry["reason"],
            _replicas(entry["replicas"]),
            "\n".join(seen),
            _meaning(entry),
            planned,
        )
        table.add_row(*map(escape, cells))
    return table


def _meaning(entry: Entry) -> str:
    known = {reason.value: meaning for reason, meaning in _MEANINGS.items()}
    text = known.get(str(entry["reason"]), str(entry["reason"]))
    active = [one["metric"] for one in entry["triggers"] if one.get("active") or one.get("fallback")]
    if entry["reason"] == Reason.ACTIVATED:
        text = f"{text}, because {' and '.join(active) or 'an annotation'} {'are' if len(active) > 1 else 'is'} active"
    if "cooldownLeftSeconds" in entry:
        text = f"{text}, {_duration(timedelta(seconds=entry['cooldownLeftSeconds']))} left"
    return f"{text}; {entry['error']}" if "error" in entry else text


def _trigger(trigger: Mapping[str, Any]) -> str:
    name = f"{trigger['metric']} ({trigger['name']})" if "name" in trigger else trigger["metric"]
    said = (
        f"{trigger['value']:g}, {'active' if trigger['active'] else 'inactive'}" if "value" in trigger else "no value"
    )
    failures = f", {trigger['failures']} failures in a row" if "failures" in trigger else ""
    error = f" ({trigger['error']})" if "error" in trigger else ""
    return f"{name}: {said}{failures}{', in fallback' if 'fallback' in trigger else ''}{error}"


def _replicas(counts: Mapping[str, int]) -> str:
    before, after = counts.get("before", "?"), counts.get("after", "?")
    return str(after) if before == after else f"{before} -> {after}"


def _clock(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S")


def _duration(length: timedelta) -> str:
    """`1h5m`, `42s`; what is over is 0s."""
    seconds = max(round(length.total_seconds()), 0)
    parts = ((seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s"))
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"
