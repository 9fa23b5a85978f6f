"""What the page shows, as one JSON value: environments, objects, the day before and the three days to come. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from keda_py.apis.foreign import list_at, map_at, maps_at, name_of, namespace_of, text_at
from keda_py.core.cron.windows import CronWindow, is_open, next_change, parse_window
from keda_py.core.values.times import write_time
from keda_py.errors import ConfigError
from keda_py.explanation.overview import line_of
from keda_py.operator.decisions.history import read_history

AHEAD = timedelta(days=3)
BEHIND = timedelta(days=1)
MOST_WINDOWS = 5
MOST_SPANS = 30

Fields = Mapping[str, Any]


def state_of(
    objects: Iterable[Fields], environments: Iterable[Fields], overrides: Iterable[Fields], now: datetime
) -> Fields:
    """Everything, by namespace and name; times are UTC."""
    return {
        "now": write_time(now),
        "environments": [_environment(one) for one in sorted(environments, key=_place)],
        "overrides": [_override(one) for one in sorted(overrides, key=_place)],
        "objects": [_object(one, now) for one in sorted(objects, key=_place)],
    }


def _place(live: Fields) -> tuple[str, str]:
    return namespace_of(live), name_of(live)


def _object(live: Fields, now: datetime) -> Fields:
    recent = write_time(now - BEHIND)
    changes = read_history(map_at(live, "status"))
    before = [one for one in changes if one["time"] < recent][-1:]  # what held when the day began
    return {
        **line_of(live, now).fields(),
        "replicas": _replicas(changes),
        "changes": [*before, *(one for one in changes if one["time"] >= recent)],
        "planned": [{"from": write_time(begin), "to": write_time(end)} for begin, end in _planned(live, now)],
    }


def _replicas(changes: Iterable[Fields]) -> int | None:
    counts = [map_at(one, "replicas").get("after") for one in changes]
    return counts[-1] if counts else None


def _planned(live: Fields, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    """When its windows are open, each by itself; the page draws them over each other."""
    crons = [one for one in maps_at(live, "spec", "triggers") if one.get("type") == "cron"]
    for trigger in crons[:MOST_WINDOWS]:
        data = map_at(trigger, "metadata")
        try:
            window = parse_window(*(str(data.get(field, "")) for field in ("start", "end", "timezone")))
        except ConfigError:
            continue
        yield from _spans(window, now)


def _spans(window: CronWindow, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    at, horizon = now, now + AHEAD
    for _ in range(MOST_SPANS):
        end = next_change(window, at)
        if is_open(window, at):
            yield at, min(end or horizon, horizon)
        if end is None or end >= horizon:
            return
        at = end


def _environment(live: Fields) -> Fields:
    status = map_at(live, "status")
    fields = ("phase", "phaseSince", "because", "ready")
    change = map_at(status, "nextChange")
    return {
        "namespace": namespace_of(live),
        "name": name_of(live),
        **{field: text_at(status, field) for field in fields},
        "next": {field: text_at(change, field) for field in ("to", "at")},
        "override": text_at(status, "override", "summary"),
    }


def _override(live: Fields) -> Fields:
    spec, status = map_at(live, "spec"), map_at(live, "status")
    return {
        "namespace": namespace_of(live),
        "name": name_of(live),
        "kind": text_at(spec, "target", "kind"),
        "target": text_at(spec, "target", "name"),
        "state": text_at(spec, "state"),
        "reason": text_at(spec, "reason"),
        "by": text_at(status, "requestedBy"),
        "phase": text_at(status, "phase"),
        "ends": text_at(status, "ends"),
        "conditions": len(list_at(status, "conditions")),
    }
