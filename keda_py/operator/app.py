"""The operator: what runs in one process, and in which order it starts and ends.

Last of the seven files (before: `external_metrics/query.py`). Order only: `assembly.py` puts the parts together, and
each package says what it runs and when (`controller/component.py`). One TaskGroup holds everything. SIGTERM: readyz
fails and writing stops at once, serving goes on for --shutdown-delay.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial

from keda_py import __version__
from keda_py.clock import Clock, SystemClock
from keda_py.operator.assembly import Assembly, assemble, shut_down
from keda_py.operator.controller.component import Package, Part, notify, one_by_one, together
from keda_py.operator.object_counts import show_counts, show_shards
from keda_py.operator.opening import opened
from keda_py.operator.process.clock_watch import watch_clock
from keda_py.operator.process.memory import allocate_sparingly, collect_seldom, give_back
from keda_py.operator.process.operator_process import OwnProcess, stop_on_signals
from keda_py.operator.process.watchdog import Watchdog, watched_process
from keda_py.operator.standby.rights import Work
from keda_py.readings.journal import Journal
from keda_py.sdk.registry import trigger_types_by_module
from keda_py.serving.ports.listening import raise_descriptor_limit
from keda_py.settings.settings import Settings

log = logging.getLogger(__name__)

Started = Callable[[Assembly], None]


async def run(settings: Settings) -> None:
    """`keda-py operator`: until SIGTERM or SIGINT."""
    allocate_sparingly()
    raise_descriptor_limit()
    stopping, clock = stop_on_signals(), SystemClock()
    with watched_process(settings, clock) as process:
        await run_operator(settings, clock, stopping, lambda _: collect_seldom(), process)


async def run_operator(
    settings: Settings,
    clock: Clock,
    stopping: asyncio.Event,
    started: Started = lambda _: None,
    process: OwnProcess | None = None,
    packages: Sequence[Package] = (),
) -> None:
    """One operator on any clock, until `stopping`; `started` is called once it works. Raises KedaPyError.

    `process` is None where it shares its process with others: nothing of it outlives that, and it ends nothing.
    `packages` are more kinds than its own (`controller/component.py`).
    """
    process = process or OwnProcess(journal=Journal.in_memory())
    async with opened(settings, clock, process.journal) as around:
        assembly = assemble(around, packages)
        show_counts(assembly.parts, assembly.scaled_objects, assembly.jobs)
        if settings.leadership.shards:
            show_shards(around.instruments, assembly.rights, assembly.scaled_objects, assembly.jobs)
        async with assembly.serving:
            watching = [around.tasks.create_task(run()) for run in _background(assembly, process)]
            working = around.tasks.create_task(_work(assembly, started))
            await stopping.wait()
            await _leave(assembly, working, settings.serving.shutdown_delay)
            for task in watching:
                task.cancel()


def _background(assembly: Assembly, process: OwnProcess) -> Iterator[Part]:
    """Yield the parts that run from start to end, whether this replica leads or not."""
    yield Watchdog(assembly.parts.shared.instruments.process, trigger_types_by_module(), process).run
    for component in assembly.components:
        yield from component.background
    if process.alone:
        yield partial(give_back, lambda: len(assembly.scaled_objects.states) + len(assembly.jobs.controller.states))


async def _leave(assembly: Assembly, working: asyncio.Task[None], delay: timedelta) -> None:
    """Writing stops at once; what is asked is answered for `delay`."""
    assembly.serving.leave()
    working.cancel()
    await asyncio.wait([working])
    await asyncio.sleep(delay.total_seconds())
    await assembly.serving.aclose()
    await assembly.parts.shared.readings.aclose()


async def _work(assembly: Assembly, started: Started) -> None:
    """Run everything that writes, after every cache has synced, while this replica may write."""
    await assembly.parts.caches.synced()
    await assembly.environments.dependencies.caches.tried()
    await assembly.known_defaults.synced()
    assembly.serving.ready = True
    work = Work(
        prepare=partial(one_by_one, [run for component in assembly.components for run in component.prepare]),
        announce=partial(one_by_one, [run for component in assembly.components for run in component.announce]),
        follow=partial(_follow, assembly),
        lead=partial(_lead, assembly),
        share=partial(_share, assembly, started),
    )
    try:
        await assembly.rights.work(work, assembly.serving.address)
    finally:
        await shut_down(assembly)


async def _follow(assembly: Assembly) -> None:
    """Keep what every active replica has to know, until cancelled."""
    on_steps = [tell for component in assembly.components for tell in component.on_clock_step]
    clock = partial(watch_clock, assembly.parts.shared.clock, on_steps)
    await together((clock, *(run for component in assembly.components for run in component.follow)))


async def _lead(assembly: Assembly) -> None:
    """Run the work that is done once for the cluster, until cancelled."""
    notify(component.on_lead for component in assembly.components)
    try:
        await together(run for component in assembly.components for run in component.lead)
    finally:
        notify(component.after_lead for component in assembly.components)


async def _share(assembly: Assembly, started: Started) -> None:
    """Work on the objects of this replica, until cancelled."""
    notify(component.on_share for component in assembly.components)
    log.info("operator started", extra={"version": __version__})
    started(assembly)
    await together(run for component in assembly.components for run in component.share)
