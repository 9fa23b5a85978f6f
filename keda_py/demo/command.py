"""`keda-py demo`: the embedded cluster and the very operator on a clock that jumps, days in under a minute.

`run_demo` reads as the programme: start the cluster, the queue and the operator, play, judge, draw.
"""

import asyncio
import logging
import os
import shlex
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from aiohttp import web
from rich.console import Console

from keda_py.apis.kinds.crds import build_crds
from keda_py.clock import SteppedClock, SystemClock
from keda_py.demo import scenario
from keda_py.demo.evening import LOOPBACK, WAKER, running_waker, waker_address, waker_manifests, write_certificate
from keda_py.demo.phases import Phases, draw_environment
from keda_py.demo.picture import draw
from keda_py.demo.play import Act, Play, Stage
from keda_py.demo.recorder import Recorder
from keda_py.demo.screen import LiveScreen, PlainScreen, Screen
from keda_py.demo.timeline import Announcement, Timeline, missed
from keda_py.demo.week import week
from keda_py.errors import KedaPyError
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from keda_py.operator.app import run_operator
from keda_py.operator.assembly import Assembly
from keda_py.settings.settings import load_settings
from keda_py.terminal.console import console_of, tell


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """Paths of picture and kubeconfig; `plain`: lines instead of a table; `stay`: go on in real time afterwards."""

    picture: Path
    kubeconfig: Path
    days: int
    environments: bool = False
    plain: bool = False
    stay: bool = False


async def run_demo(options: DemoOptions) -> int:
    """Run the demo; 0 only if every expected change happened at the right virtual time."""
    console = console_of(sys.stdout)
    play = (week if options.environments else four_days)(options.days)
    clock = SteppedClock(play.start)
    screen = _screen(console, play, plain=options.plain or not console.is_terminal)
    _quieten_logs()
    cluster_options = ClusterOptions(hpa_sync_seconds=play.hpa_sync_seconds)
    async with LocalCluster(clock, cluster_options) as cluster, _sources(clock) as url:
        phases = Phases(cluster.store, clock, play.environment, play.zone, play.elsewhere)
        recorder = Recorder(cluster.store, clock, (*play.names, *play.elsewhere), screen, phases)
        await cluster.apply([*build_crds(), *play.manifests(url)])
        _write_private(options.kubeconfig, cluster.kubeconfig())
        _say_how_to_look_on(console, play, options.kubeconfig)
        async with (
            _processes(cluster, play, options.kubeconfig, clock),
            KubeClient(clock, str(options.kubeconfig)) as client,
        ):
            with screen:
                failed = await perform(play, _stage(cluster, client, clock, screen), clock, screen)
            timeline = recorder.timeline(play.start, clock.now())
            verdict = _report(console, play, timeline, phases, options.picture, failed)
            if options.stay:
                await _stay(clock)
    return verdict


def _stage(cluster: LocalCluster, client: KubeClient, clock: SteppedClock, screen: Screen) -> Stage:
    def tell(name: str, text: str) -> None:
        screen.tell(Announcement(at=clock.now(), name=name, text=text))

    return Stage(client=client, store=cluster.store, clock=clock, tell=tell, namespace=scenario.NAMESPACE)


async def perform(play: Play, stage: Stage, clock: SteppedClock, screen: Screen) -> list[str]:
    """Advance the clock through the days, and perform each act at its time; return why acts failed."""
    failed = []
    for act in play.acts:
        await _pass(clock, act.at, screen)
        try:
            await act.does(stage)
        except KedaPyError as error:
            failed.append(f"{act.at:%a %d %b %H:%M:%S}: {error}")
    await _pass(clock, play.end, screen)
    return failed


async def _stay(clock: SteppedClock) -> None:
    """Go on in real time until cancelled: from now, or from the day that the play ended on."""
    # A small difference is the run time of the demo itself; a play of a fixed date keeps its date.
    behind = SystemClock().now() - clock.now()
    if behind < timedelta(minutes=10):
        behind = timedelta(0)
    while True:
        await asyncio.sleep(1)
        await clock.run_until(SystemClock().now() - behind)


async def _pass(clock: SteppedClock, until: datetime, screen: Screen) -> None:
    while clock.now() < until:
        # In steps, so that the screen follows; the clock itself jumps from one due time to the next.
        await clock.run_until(min(until, clock.now() + timedelta(minutes=10)))
        screen.tick(clock.now())
        # The table is drawn by a thread; the loop's own timers and onlookers get their turn here.
        await asyncio.sleep(0)


def _report(
    console: Console, play: Play, timeline: Timeline, phases: Phases, picture: Path, failed: Sequence[str]
) -> int:
    problems = [*failed, *missed(play.expected, timeline.changes)]
    picture.write_text(_draw(play, timeline, phases), encoding="utf-8")
    console.print()
    for name in play.names:
        used, always = timeline.replica_hours(name), timeline.always_on_hours(play.replicas)
        saved = max(0.0, 1 - used / always)
        tell(console, f"{name}: {used:.1f} replica-hours, {always:.1f} when always on, {saved:.0%} saved")
    console.print(f"timeline: {picture}", markup=False, soft_wrap=True)
    for problem in problems:
        tell(console, problem, indent="not as expected: ", style="red")
    if not problems:
        console.print("[green]every change happened at the expected time[/]")
    if play.hint and not problems:
        tell(console, play.hint)
    return 1 if problems else 0


def _draw(play: Play, timeline: Timeline, phases: Phases) -> str:
    if play.environment:
        return draw_environment(timeline, phases.until(timeline.end), play)
    return draw(timeline, play.names, play.zone, title=play.title)


def _say_how_to_look_on(console: Console, play: Play, kubeconfig: Path) -> None:
    """Print commands to paste, one a line, since kubectl watches one kind at a time."""
    console.print("look on from another terminal:")
    command = f"kubectl --kubeconfig {shlex.quote(str(kubeconfig))} get {play.watch} -A -w"
    console.print(f"  {command}", markup=False, soft_wrap=True)


@asynccontextmanager
async def _sources(clock: SteppedClock) -> AsyncIterator[str]:
    """Serve a queue over HTTP, and what the pods of a shop would serve; yields the queue's address."""

    async def answer(_: web.Request) -> web.Response:
        with clock.busy():
            return web.json_response({"jobs": scenario.queue_length(clock.now())})

    app = web.Application()
    app.router.add_get("/queue", answer)
    app.router.add_get("/", lambda _: _welcome())
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        await web.TCPSite(runner, LOOPBACK, 0).start()
        yield f"http://{LOOPBACK}:{runner.addresses[0][1]}/queue"
    finally:
        await runner.cleanup()


async def _welcome() -> web.Response:
    return web.Response(text="welcome to the shop")


@asynccontextmanager
async def _processes(cluster: LocalCluster, play: Play, kubeconfig: Path, clock: SteppedClock) -> AsyncIterator[None]:
    """Run the operator, and with it a waker if the play has one."""
    if not play.waker:
        async with _operator(kubeconfig, clock, {}):
            yield
        return
    with TemporaryDirectory(prefix="keda-py-demo-") as name:
        folder = Path(name)
        write_certificate(folder)
        token = folder / "kubeconfig"
        _write_private(token, cluster.token_kubeconfig())
        await cluster.apply(waker_manifests(waker_address()))
        flags = {"waker-service": WAKER, "cert-dir": name}
        async with _operator(kubeconfig, clock, flags) as port, running_waker(clock, token, port, folder):
            yield


@asynccontextmanager
async def _operator(kubeconfig: Path, clock: SteppedClock, more: Mapping[str, str]) -> AsyncIterator[int]:
    """Run the operator as `keda-py operator` does, on the demo's clock; yields its secure port."""
    stopping, started = asyncio.Event(), asyncio.get_running_loop().create_future()
    flags = {
        "kubeconfig": str(kubeconfig),
        "bind-address": LOOPBACK,
        "secure-port": "0",
        "webhook-port": "0",
        "metrics-bind-address": "0",
        "health-probe-bind-address": "0",
        "register": f"https://{LOOPBACK}",
        "cluster-environments": "true",
        **more,
    }
    settings = load_settings({flag: [value] for flag, value in flags.items()}, {})

    def note(assembly: Assembly) -> None:
        started.set_result(assembly.serving.secure_port)

    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run_operator(settings, clock, stopping, note))
        await asyncio.wait([running, started], return_when=asyncio.FIRST_COMPLETED)
        yield started.result() if started.done() else 0
        stopping.set()


def _screen(console: Console, play: Play, *, plain: bool) -> Screen:
    return PlainScreen(console, play.zone) if plain else LiveScreen(console, play.zone)


def _quieten_logs() -> None:
    logging.getLogger("keda_py").setLevel(logging.ERROR)


def _write_private(path: Path, text: str) -> None:
    """Write a file that no other user may read: a kubeconfig holds a key."""
    # The mode belongs to the creation: a chmod afterwards would leave the key readable for a moment.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


# The play of `keda-py demo`: the last four days up to now, with memory pressure in the afternoons.

NAMES = (scenario.NIGHTLY, scenario.WEEKDAYS, scenario.QUEUE)


def four_days(days: int) -> Play:
    """Build the play of the last days; it ends now, so that ages in `kubectl get` are right."""
    end = SystemClock().now()
    start = end.replace(microsecond=0) - timedelta(days=days)
    changes = [at for at in scenario.pressure_changes(start, end) if start < at < end]
    return Play(
        title="Asleep at night, awake in the morning",
        zone=scenario.SEOUL,
        start=start,
        end=end,
        names=NAMES,
        manifests=scenario.manifests,
        acts=[Act(at=at, does=partial(_press, pressed=scenario.is_pressed(at))) for at in changes],
        expected=scenario.expected_changes(start, end),
        hint="next: keda-py demo --environments, a week of ten workloads that sleep and wake together",
    )


async def _press(stage: Stage, *, pressed: bool) -> None:
    usage = scenario.PRESSED if pressed else scenario.CALM
    path = DEPLOYMENTS.named(scenario.NAMESPACE, scenario.NIGHTLY)
    await stage.client.patch(path, {"metadata": {"annotations": {"local.keda-py.dev/memory-shared": usage}}})
