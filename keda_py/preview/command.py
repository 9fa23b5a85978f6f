"""`keda-py preview` from beginning to end: read, let time pass, print."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from keda_py.clock import SystemClock
from keda_py.preview.pages.body import body_of
from keda_py.preview.pages.table import page
from keda_py.preview.reading.manifests import Source, read_plans
from keda_py.preview.reading.period import Period, period_of
from keda_py.preview.replay.previews import Preview, preview
from keda_py.terminal.console import console_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """`since` and `timezone` "": today, in the zone that most schedules are written in."""

    days: int
    since: str = ""
    timezone: str = ""


def show(sources: Sequence[Source], wanted: Wanted, output: str) -> int:
    """To stdout; 1 where something cannot be previewed. Raises ConfigError."""
    period, found = look_ahead(sources, wanted)
    if output == "table":
        console = console_of(sys.stdout)
        console.print(page(found, period.zone, console.width), soft_wrap=True)
    else:
        sys.stdout.buffer.write(_WRITERS[output](found, period))
    return 1 if found.problems else 0


def look_ahead(sources: Sequence[Source], wanted: Wanted) -> tuple[Period, Preview]:
    """The preview of all sources. Raises ConfigError."""
    period = period_of(sources, SystemClock().now(), days=wanted.days, since=wanted.since, timezone=wanted.timezone)
    plans = read_plans(sources, period.begins, period.ends)
    return period, preview(plans, period.begins, period.ends)


def _json(found: Preview, period: Period) -> bytes:
    return orjson.dumps(body_of(found, period.zone), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


_WRITERS: Mapping[str, Callable[[Preview, Period], bytes]] = {"json": _json}
