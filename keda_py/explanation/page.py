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
from keda_py.core.jobs.decision import JobReason

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
_JOB_MEANINGS = {
    JobReason.CLUSTER_UNKNOWN: "no Jobs are created: the cluster has been out of sight for too long",
    JobReason.CREATE_FAILED: "Jobs were refused by the API server",
    JobReason.CREATED: "created Jobs",
    JobReason.SOME_TRIGGERS_FAIL: "goes by the triggers that answer; others fail",
    JobReason.ENOUGH: "there are enough Jobs for what waits, or as many as there may be",
    JobReason.TRIGGERS_FAIL: "creates no Jobs: triggers fail",
    JobReason.INACTIVE: "nothing to do",
}


def print_explanation(insight: Mapping[str, Any]) -> None:
    """To stdout, coloured on a terminal."""
    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False)
    meta, last = insight["metadata"], insight.get("last")
    console.print(f"[bold]{escape(meta['namespace'])}/{escape(meta['name'])}[/]: {escape(_headline(insight))}")
    for line in _now(last):
        console.print(f"  {escape(line)}")
    for line in insight.get("troubles", ()):
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
        return "paused by annotation autoscaling.keda.sh/paused...; nothing is read and nothing is scaled until it goes"
    if "nextPoll" not in insight["now"]:
        return f"not scaled: {troubles[0].get('message', '')}" if troubles else "not looked at yet"
    if last is None:
        return "not looked at yet"
    return f"{_count(last)}, {last['reason']}: {_meaning(last)}"


def _count(entry: Entry) -> str:
    """What there is after a look."""
    if "jobs" in entry:
        jobs = entry["jobs"]
        return f"{_numbered(jobs['running'] + jobs['created'], 'Job')} unfinished"
    replicas = entry["replicas"].get("after")
    return "replicas unknown" if replicas is None else _numbered(replicas, "replica")


def _numbered(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _now(last: Entry | None) -> Iterator[str]:
    if last is None:
        return
    for trigger in last["triggers"]:
        yield _trigger(trigger)
    if "formula" in last:
        yield f"formula = {last['formula']:g}"
    yield from _notes(last)


def _notes(entry: Entry) -> list[str]:
    """Why a value is not what its source said; a trigger in fallback says so itself."""
    return [note for note in entry.get("notes", ()) if not note.endswith(": fallback")]


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
    counted = "Jobs" if "jobs" in entries[0] else "Replicas"
    for column in ("Time (UTC)", "Reason", counted, "Triggers", "Why", "Next change"):
        table.add_column(column, overflow="fold")
    for entry in entries:
        planned = _clock(datetime.fromisoformat(entry["nextChange"])) if "nextChange" in entry else ""
        seen = [_trigger(trigger) for trigger in entry["triggers"]]
        seen += [f"formula = {entry['formula']:g}"] if "formula" in entry else []
        seen += _notes(entry)
        cells = (
            entry["time"].replace("T", " ").removesuffix("Z"),
            entry["reason"],
            _change(entry),
            "\n".join(seen),
            _meaning(entry),
            planned,
        )
        table.add_row(*map(escape, cells))
    return table


def _meaning(entry: Entry) -> str:
    meanings = _JOB_MEANINGS if "jobs" in entry else _MEANINGS
    known = {reason.value: meaning for reason, meaning in meanings.items()}
    text = known.get(str(entry["reason"]), str(entry["reason"]))
    active = [one["metric"] for one in entry["triggers"] if one.get("active") or one.get("fallback")]
    stand_ins = [one["metric"] for one in entry["triggers"] if one.get("fallback")]
    if entry["reason"] == Reason.ACTIVE and stand_ins:
        text = f"stays awake; the HPA scales by the fallback of {' and '.join(stand_ins)}"
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


def _clock(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S")


def _duration(length: timedelta) -> str:
    """`1h5m`, `42s`; what is over is 0s."""
    seconds = max(round(length.total_seconds()), 0)
    parts = ((seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s"))
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"
