"""`keda-py explain` from beginning to end: ask, gather, print; with --watch again and again."""

import asyncio
import re  # noqa: TID251 - constant patterns, and the text is of the one who runs the command
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.live import Live
from rich.text import Text

from keda_py.clock import SystemClock
from keda_py.environments.members import judged_members
from keda_py.environments.page import body_of, page, sentences
from keda_py.environments.requests import find_environment
from keda_py.environments.show import times_of
from keda_py.environments.zones import list_zones
from keda_py.errors import ConfigError, Unavailable
from keda_py.explanation.evidence import gather, read_sources
from keda_py.explanation.members import MemberExplanation, scaling_object, tell_member
from keda_py.explanation.night import night_lines, night_of, night_page
from keda_py.explanation.overview import line_of, overview
from keda_py.explanation.page import Explanation
from keda_py.explanation.policies import why_covered, why_of_environment
from keda_py.explanation.requests import WORKLOADS, NamedObject, ask_insight, get_object, list_objects, named
from keda_py.explanation.rulers import read_rulers
from keda_py.explanation.rules import tell_override, tell_schedule
from keda_py.explanation.zones import zone_of_rule
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import ENVIRONMENTS, OVERRIDES, SCALED_JOBS, SCALED_OBJECTS, Obj
from keda_py.replay.reading.current_state import plan_of
from keda_py.replay.reading.manifests import ManifestSource
from keda_py.terminal.console import console_of
from keda_py.terminal.foreign import json_of, printable, write_json
from keda_py.terminal.times import Times
from keda_py.terminal.wrapping import wrap_indented
from keda_py.terminal.zones import user_zone

WATCH_SECONDS = 2.0
_SPARE = 2
"""Lines of a terminal that a live page leaves free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """Scope: `object` "" is all of `namespace`, which is "" for every one. `since` "" is everything that is kept."""

    object: str
    namespace: str
    since: str = ""
    as_json: bool = False
    watch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Explanation in three forms: a page for a terminal, lines for a watched pipe, a body for programs."""

    page: Callable[[int, int | None], Text]
    lines: Sequence[str]
    body: Any


async def explain(kubeconfig: str, wanted: ExplainOptions) -> None:
    """Print the explanation, with --watch again and again. Raises ConfigError, KubeError."""
    async with KubeClient(SystemClock(), kubeconfig) as client:
        view = await look(client, wanted)
        console = console_of(sys.stdout)
        if wanted.watch and console.is_terminal and not wanted.as_json:
            await _watch_live(client, wanted, console, view)
        elif wanted.watch:
            await _watch_lines(client, wanted, view)
        elif wanted.as_json:
            write_json(view.body)
        else:
            console.print(view.page(console.width, None), soft_wrap=True)


async def look(client: KubeClient, wanted: ExplainOptions) -> View:
    """Gather the explanation as of now on the client's clock. Raises ConfigError, KubeError."""
    if wanted.object:
        return await _look_at_one(client, wanted)
    return await (_look_back(client, wanted) if wanted.since else _look_at_all(client, wanted))


async def _look_at_one(client: KubeClient, wanted: ExplainOptions) -> View:
    about = named(wanted.object, wanted.namespace)
    if about.resource in (SCALED_OBJECTS, SCALED_JOBS):
        return await _look_at_scaled(client, about, wanted)
    if about.resource is ENVIRONMENTS:
        return await _look_at_environment(client, about)
    live, times = await get_object(client, about), times_of(client)
    sources, unread = await read_sources(client, about.namespace, live)
    if about.resource in WORKLOADS:
        if name := scaling_object(about, sources):
            return await _look_at_scaled(client, replace(about, resource=SCALED_OBJECTS, name=name), wanted)
        explained = await tell_member(client, about, sources, times)
    else:
        explained = _tell_rule(about, live, sources, times)
    lines = [*explained.sentences, *([f"not listed, for want of the right: {', '.join(unread)}"] if unread else [])]
    return View(page=partial(_lines, lines), lines=lines, body=explained.body)


def _tell_rule(about: NamedObject, live: Obj, sources: Sequence[ManifestSource], times: Times) -> MemberExplanation:
    """Explain an Override or a ScalingSchedule, in the zone of the Calendar that it is about."""
    times = times.of(zone_of_rule(live, sources))
    return (tell_override if about.resource is OVERRIDES else tell_schedule)(live, sources, times)


def _lines(sentences: Sequence[str], width: int, height: int | None) -> Text:
    return Text("\n").join(Text(line) for text in sentences for line in wrap_indented(text, width))


async def _look_at_scaled(client: KubeClient, about: NamedObject, wanted: ExplainOptions) -> View:
    insight = await ask_insight(client, about)
    now = datetime.fromisoformat(insight["now"]["time"])
    since = parse_since(wanted.since, now, user_zone()) if wanted.since else None
    if since is not None:
        changes = [one for one in insight["changes"] if datetime.fromisoformat(one["time"]) >= since]
        insight = {**insight, "changes": changes}
    if wanted.as_json:
        return View(page=lambda width, height: Text(), lines=(), body=insight)
    evidence = await gather(client, insight)
    if (plan := plan_of(evidence.sources, f"{SCALED_OBJECTS.kind}/{about.name}", now)) is not None:
        policy = next((one.policy for one in plan.environments), "")
        evidence = replace(evidence, policy=await why_covered(client, about.namespace, policy))
    if since is not None:
        evidence = replace(evidence, steps=[step for step in evidence.steps if step.at >= since])
    explained = Explanation(insight, evidence, user_zone())
    return View(page=explained.page, lines=explained.changes, body=insight)


async def _look_back(client: KubeClient, wanted: ExplainOptions) -> View:
    times, rulers = times_of(client), await read_rulers(client, wanted.namespace)
    since = parse_since(wanted.since, times.now, times.reader)
    night = night_of(await list_objects(client, wanted.namespace), since, times, rulers)
    return View(
        page=lambda width, height: night_page(night, width, height),
        lines=night_lines(night),
        body=[one.fields() for one in night.happenings],
    )


async def _look_at_environment(client: KubeClient, about: NamedObject) -> View:
    """Explain an Environment by its status, without the operator."""
    environment = await find_environment(client, about.namespace, about.name)
    members = await judged_members(client, environment)
    times = times_of(client).of((await list_zones(client, about.namespace)).of(environment))
    why = await why_of_environment(client, environment)
    return View(
        page=lambda width, height: Text("\n\n").join((page(environment, members, times, width), *map(Text, why))),
        lines=[*sentences(environment, times, members.warnings), *why],
        body=body_of(environment, members, times),
    )


async def _look_at_all(client: KubeClient, wanted: ExplainOptions) -> View:
    rulers, times = await read_rulers(client, wanted.namespace), times_of(client)
    lines = [line_of(live, times, rulers) for live in await list_objects(client, wanted.namespace)]
    entries = [f"{line.namespace}/{line.name}  {line.state}  {line.why}" for line in lines]
    return View(
        page=lambda width, height: overview(lines, width, height, all_namespaces=not wanted.namespace),
        lines=entries,
        body=[line.fields() for line in lines],
    )


async def _watch_live(client: KubeClient, wanted: ExplainOptions, console: Console, view: View) -> None:
    def frame() -> Text:
        return view.page(console.size.width, console.size.height - _SPARE)

    with Live(console=console, get_renderable=frame, auto_refresh=False) as live:
        while True:
            live.refresh()
            await asyncio.sleep(WATCH_SECONDS)
            view = await _look_again(client, wanted, view)


async def _watch_lines(client: KubeClient, wanted: ExplainOptions, view: View) -> None:
    """Print what is new since the last look, a line each; as JSON, a document a line."""
    seen: frozenset[str] = frozenset()
    while True:
        lines = (
            [json_of(view.body, indent=False).rstrip()] if wanted.as_json else [printable(one) for one in view.lines]
        )
        for line in lines:
            if line not in seen:
                sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        seen = frozenset(lines)
        await asyncio.sleep(WATCH_SECONDS)
        view = await _look_again(client, wanted, view)


async def _look_again(client: KubeClient, wanted: ExplainOptions, before: View) -> View:
    """Look again; return the last view while the API server or the operator does not answer."""
    try:
        return await look(client, wanted)
    except Unavailable:
        return before


# The `--since` of `explain`: a time as people say it, read in the zone of the one who asks. Pure.

_AGO = re.compile(r"(?:(\d{1,4})d)?(?:(\d{1,4})h)?(?:(\d{1,5})m)?")
_HOUR = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")


def parse_since(text: str, now: datetime, zone: ZoneInfo | None = None) -> datetime:
    """Parse `22:00` (its last occurrence), `yesterday`, `today`, `12h`, `2d`, or a date with or without a time.

    `zone` None is that of this machine. Raises ConfigError for another text, and for a time in the future.
    """
    local = now.astimezone(zone)
    try:
        at = _read(text.strip(), now, local, zone)
    except (ValueError, OverflowError):
        at = None
    if at is None:
        raise ConfigError(f"--since: {text!r} is not a time; use 22:00, yesterday, 12h, 2d or 2026-11-20T22:00")
    if at > now:
        raise ConfigError(f"--since: {text!r} has yet to come; use a time before {local:%Y-%m-%d %H:%M %Z}")
    return at


def _read(text: str, now: datetime, local: datetime, zone: ZoneInfo | None) -> datetime | None:
    midnight = datetime.combine(local.date(), time())
    if text == "today":
        return _aware(midnight, zone)
    if text == "yesterday":
        return _aware(midnight - timedelta(days=1), zone)
    if _HOUR.fullmatch(text):
        said = datetime.combine(local.date(), time.fromisoformat(text.rjust(len(text) + text.index(":") % 2, "0")))
        at = _aware(said, zone)
        return at if at <= now else _aware(said - timedelta(days=1), zone)
    if (ago := _AGO.fullmatch(text)) and text:
        days, hours, minutes = (int(part or 0) for part in ago.groups())
        return now - timedelta(days=days, hours=hours, minutes=minutes)
    return _aware(datetime.fromisoformat(text), zone)


def _aware(at: datetime, zone: ZoneInfo | None) -> datetime:
    """Add the zone to a time that names none."""
    if at.tzinfo is not None:
        return at
    return at.replace(tzinfo=zone) if zone is not None else at.astimezone()
