"""`keda-py explain` from beginning to end: ask, gather, print; with --watch again and again."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from keda_py.clock import SystemClock
from keda_py.environments.asking import find_environment
from keda_py.environments.members import members_of
from keda_py.environments.page import body_of, page, sentences
from keda_py.environments.show import times_of
from keda_py.errors import Unavailable
from keda_py.explanation.asking import ask_insight, list_objects, named, named_environment
from keda_py.explanation.evidence import gather
from keda_py.explanation.night import night_lines, night_of, night_page
from keda_py.explanation.overview import line_of, overview
from keda_py.explanation.page import change_lines, explanation
from keda_py.explanation.since import parse_since
from keda_py.kube.client import KubeClient
from keda_py.terminal.console import console_of
from keda_py.terminal.foreign import json_of, printable, write_json

WATCH_SECONDS = 2.0
_SPARE = 2
"""Lines of a terminal that a live page leaves free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """`object` "": all objects of `namespace`, which is "" for every namespace. `since` "": everything that is kept."""

    object: str
    namespace: str
    since: str = ""
    as_json: bool = False
    watch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What was found: a page for a terminal, lines for a pipe that is watched, a body for programs."""

    page: Callable[[int, int | None], Text]
    lines: Sequence[str]
    body: Any


async def explain(kubeconfig: str, wanted: Wanted) -> None:
    """To stdout. Raises ConfigError, KubeError."""
    async with KubeClient(SystemClock(), kubeconfig) as client:
        view = await _look(client, wanted)
        console = console_of(sys.stdout)
        if wanted.watch and console.is_terminal and not wanted.as_json:
            await _watch_live(client, wanted, console, view)
        elif wanted.watch:
            await _watch_lines(client, wanted, view)
        elif wanted.as_json:
            write_json(view.body)
        else:
            console.print(view.page(console.width, None), soft_wrap=True)


async def _look(client: KubeClient, wanted: Wanted) -> View:
    if wanted.object:
        return await _look_at_one(client, wanted)
    return await (_look_back(client, wanted) if wanted.since else _look_at_all(client, wanted))


async def _look_at_one(client: KubeClient, wanted: Wanted) -> View:
    if environment := named_environment(wanted.object, wanted.namespace):
        return await _look_at_environment(client, *environment)
    insight = await ask_insight(client, named(wanted.object, wanted.namespace))
    now = datetime.fromisoformat(insight["now"]["time"])
    since = parse_since(wanted.since, now) if wanted.since else None
    if since is not None:
        changes = [one for one in insight["changes"] if datetime.fromisoformat(one["time"]) >= since]
        insight = {**insight, "changes": changes}
    if wanted.as_json:
        return View(page=lambda width, height: Text(), lines=(), body=insight)
    evidence = await gather(client, insight)
    if since is not None:
        evidence = replace(evidence, steps=[step for step in evidence.steps if step.at >= since])
    return View(
        page=lambda width, height: explanation(insight, evidence, width, height),
        lines=change_lines(insight, evidence),
        body=insight,
    )


async def _look_back(client: KubeClient, wanted: Wanted) -> View:
    now = SystemClock().now()
    night = night_of(await list_objects(client, wanted.namespace), parse_since(wanted.since, now), now)
    return View(
        page=lambda width, height: night_page(night, width, height),
        lines=night_lines(night),
        body=[one.fields() for one in night.happenings],
    )


async def _look_at_environment(client: KubeClient, namespace: str, name: str) -> View:
    """What sleeps together, also workloads that no ScaledObject has: told by its status, without the operator."""
    environment = await find_environment(client, namespace, name)
    members, times = await members_of(client, environment), times_of(client)
    return View(
        page=lambda width, height: page(environment, members, times, width),
        lines=list(sentences(environment, times)),
        body=body_of(environment, members, times),
    )


async def _look_at_all(client: KubeClient, wanted: Wanted) -> View:
    now = SystemClock().now()
    lines = [line_of(live, now) for live in await list_objects(client, wanted.namespace)]
    told = [printable(f"{line.namespace}/{line.name}  {line.state}  {line.why}") for line in lines]
    return View(
        page=lambda width, height: overview(lines, width, height, all_namespaces=not wanted.namespace),
        lines=told,
        body=[line.fields() for line in lines],
    )


async def _watch_live(client: KubeClient, wanted: Wanted, console: Console, view: View) -> None:
    def frame() -> Text:
        return view.page(console.size.width, console.size.height - _SPARE)

    with Live(console=console, get_renderable=frame, auto_refresh=False) as live:
        while True:
            live.refresh()
            await asyncio.sleep(WATCH_SECONDS)
            view = await _look_again(client, wanted, view)


async def _watch_lines(client: KubeClient, wanted: Wanted, view: View) -> None:
    """What is new since the look before, a line each; as JSON, a document a line."""
    seen: frozenset[str] = frozenset()
    while True:
        lines = [json_of(view.body, indent=False).rstrip()] if wanted.as_json else view.lines
        for line in lines:
            if line not in seen:
                sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        seen = frozenset(lines)
        await asyncio.sleep(WATCH_SECONDS)
        view = await _look_again(client, wanted, view)


async def _look_again(client: KubeClient, wanted: Wanted, before: View) -> View:
    """What was seen before, while the API server or the operator does not answer."""
    try:
        return await _look(client, wanted)
    except Unavailable:
        return before
