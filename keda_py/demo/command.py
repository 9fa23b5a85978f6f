"""`keda-py demo`: the embedded cluster and the very operator on a clock that jumps, four days in under a minute.

`run_demo` reads as the programme: start the cluster, the queue and the operator, play the days, judge, draw.
"""

import asyncio
import logging
import os
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from aiohttp import web
from rich.console import Console

from keda_py.apis.kinds.crds import build_crds
from keda_py.clock import SteppedClock, SystemClock
from keda_py.demo import scenario
from keda_py.demo.picture import draw
from keda_py.demo.recorder import Recorder
from keda_py.demo.screen import LiveScreen, PlainScreen, Screen
from keda_py.demo.timeline import Timeline, missed
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from keda_py.operator.app import run_operator
from keda_py.operator.assembly import Assembly
from keda_py.settings.settings import load_settings
from keda_py.terminal.console import console_of, tell

LOOPBACK = "127.0.0.1"
NAMES = (scenario.NIGHTLY, scenario.WEEKDAYS, scenario.QUEUE)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """Where the picture and the kubeconfig go; `plain` lines instead of a table; `stay`: go on in real time after."""

    picture: Path
    kubeconfig: Path
    days: int = scenario.DAYS
    plain: bool = False
    stay: bool = False


async def run_demo(options: DemoOptions) -> int:
    """0 only if every expected change happened at the right virtual time."""
    console = console_of(sys.stdout)
    start = SystemClock().now().replace(microsecond=0) - timedelta(days=options.days)
    clock = SteppedClock(start)
    screen = _screen(console, plain=options.plain or not console.is_terminal)
    _quieten_logs()
    async with LocalCluster(clock, ClusterOptions(hpa_sync_seconds=60.0)) as cluster, _queue(clock) as url:
        recorder = Recorder(cluster.store, clock, NAMES, screen)
        await cluster.apply([*build_crds(), *scenario.manifests(url)])
        _write_private(options.kubeconfig, cluster.kubeconfig())
        _say_how_to_look_on(console, options.kubeconfig)
        async with _operator(options.kubeconfig, clock), KubeClient(clock, str(options.kubeconfig)) as client:
            with screen:
                end = await _play(clock, start, client, screen)
            timeline = recorder.timeline(start, end)
            verdict = _report(console, timeline, options.picture)
            while options.stay:
                await asyncio.sleep(1)
                await clock.run_until(SystemClock().now())
    return verdict


async def _play(clock: SteppedClock, start: datetime, client: KubeClient, screen: Screen) -> datetime:
    """Let the days pass, with memory pressure in the afternoons, until virtual time has reached real time."""
    changes = [at for at in scenario.pressure_changes(start, SystemClock().now()) if at > start]
    for at in changes:
        if at < SystemClock().now():
            await _pass(clock, at, screen)
            await _press(client, pressed=scenario.is_pressed(at))
    while clock.now() < SystemClock().now() - timedelta(seconds=1):
        await _pass(clock, SystemClock().now(), screen)
    return clock.now()


async def _pass(clock: SteppedClock, until: datetime, screen: Screen) -> None:
    while clock.now() < until:
        await clock.run_until(min(until, clock.now() + timedelta(minutes=10)))
        screen.tick(clock.now())
        # The table is drawn by a thread; the loop's own timers and onlookers get their turn here.
        await asyncio.sleep(0)


async def _press(client: KubeClient, *, pressed: bool) -> None:
    usage = scenario.PRESSED if pressed else scenario.CALM
    path = DEPLOYMENTS.named(scenario.NAMESPACE, scenario.NIGHTLY)
    await client.patch(path, {"metadata": {"annotations": {"local.keda-py.dev/memory-shared": usage}}})


def _report(console: Console, timeline: Timeline, picture: Path) -> int:
    problems = missed(scenario.expected_changes(timeline.start, timeline.end), timeline.changes)
    picture.write_text(draw(timeline, NAMES, scenario.SEOUL), encoding="utf-8")
    console.print()
    for name in NAMES:
        used, always = timeline.replica_hours(name), timeline.always_on_hours()
        saved = max(0.0, 1 - used / always)
        tell(console, f"{name}: {used:.1f} replica-hours, {always:.1f} when always on, {saved:.0%} saved")
    console.print(f"timeline: {picture}", markup=False, soft_wrap=True)
    for problem in problems:
        tell(console, problem, indent="not as expected: ", style="red")
    if not problems:
        console.print("[green]every change happened at the expected time[/]")
    return 1 if problems else 0


def _say_how_to_look_on(console: Console, kubeconfig: Path) -> None:
    """A line of its own that may be pasted; kubectl watches one kind at a time."""
    console.print("look on from another terminal:")
    command = f"kubectl --kubeconfig {shlex.quote(str(kubeconfig))} get deploy -A -w"
    console.print(f"  {command}", markup=False, soft_wrap=True)


@asynccontextmanager
async def _queue(clock: SteppedClock) -> AsyncIterator[str]:
    """A queue's HTTP interface; its address."""

    async def answer(_: web.Request) -> web.Response:
        with clock.busy():
            return web.json_response({"jobs": scenario.queue_length(clock.now())})

    app = web.Application()
    app.router.add_get("/queue", answer)
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        await web.TCPSite(runner, LOOPBACK, 0).start()
        yield f"http://{LOOPBACK}:{runner.addresses[0][1]}/queue"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _operator(kubeconfig: Path, clock: SteppedClock) -> AsyncIterator[None]:
    """The operator as `keda-py operator` runs it, on the demo's clock."""
    stopping, started = asyncio.Event(), asyncio.Event()
    flags = {
        "kubeconfig": str(kubeconfig),
        "bind-address": LOOPBACK,
        "secure-port": "0",
        "webhook-port": "0",
        "metrics-bind-address": "0",
        "health-probe-bind-address": "0",
        "register": f"https://{LOOPBACK}",
    }
    settings = load_settings({flag: [value] for flag, value in flags.items()}, {})

    def note(_: Assembly) -> None:
        started.set()

    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run_operator(settings, clock, stopping, note))
        waiting = tasks.create_task(started.wait())
        await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
        yield
        stopping.set()


def _screen(console: Console, *, plain: bool) -> Screen:
    return PlainScreen(console, scenario.SEOUL) if plain else LiveScreen(console, scenario.SEOUL)


def _quieten_logs() -> None:
    logging.getLogger("keda_py").setLevel(logging.ERROR)


def _write_private(path: Path, text: str) -> None:
    """A kubeconfig carries a key: no other user may read it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
