"""The operator: what runs in one process, and in which order it starts and ends.

Last of the seven files (before: `external_metrics/query.py`). Order only; `assembly.py` puts the parts together. One
TaskGroup holds everything. SIGTERM: readyz fails and writing stops at once, serving goes on for --shutdown-delay.
"""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from datetime import timedelta
from functools import partial

from keda_py import __version__
from keda_py.clock import Clock, SystemClock
from keda_py.operator.assembly import Assembly, assemble
from keda_py.operator.opening import opened
from keda_py.operator.process.clock_watch import watch_clock
from keda_py.operator.process.hang import Hang, times_of
from keda_py.operator.process.last_net import last_net
from keda_py.operator.process.memory import allocate_sparingly, collect_seldom, give_back
from keda_py.operator.process.own import OwnProcess, own_journal
from keda_py.operator.process.watchdog import Watchdog
from keda_py.operator.registered import show_counts, show_shards
from keda_py.operator.shutdown import shut_down
from keda_py.readings.journal import Journal
from keda_py.sdk.registry import trigger_types_by_module
from keda_py.serving.ports.listening import raise_descriptor_limit
from keda_py.settings.settings import Settings

log = logging.getLogger(__name__)

Started = Callable[[Assembly], None]
Campaign = Callable[[str], Coroutine[object, None, None]]
"""Until cancelled: wait for a Lease, work while it is ours, begin again; given where this replica serves."""


async def run(settings: Settings) -> None:
    """`keda-py operator`: until SIGTERM or SIGINT."""
    allocate_sparingly()
    raise_descriptor_limit()
    stopping, clock = asyncio.Event(), SystemClock()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    limit = settings.leadership.lease_duration.total_seconds()
    with own_journal(settings, clock) as journal, last_net(limit) as rearm:
        hang = Hang(journal, limit, times_of(threading.main_thread()))
        process = OwnProcess(journal=journal, hang=hang, rearm=rearm)
        await run_operator(settings, clock, stopping, lambda _: collect_seldom(), process)


async def run_operator(
    settings: Settings,
    clock: Clock,
    stopping: asyncio.Event,
    started: Started = lambda _: None,
    process: OwnProcess | None = None,
) -> None:
    """One operator on any clock, until `stopping`; `started` is called once it works. Raises KedaPyError.

    Where it shares its process with others, `process` is None: nothing of it outlives that, and it ends nothing.
    """
    process = process or OwnProcess(journal=Journal.in_memory())
    async with opened(settings, clock, process.journal) as around:
        assembly = assemble(around)
        show_counts(assembly.parts, assembly.scaled_objects, assembly.jobs)
        if assembly.rights.sharing is not None:
            show_shards(around.instruments, assembly.rights.sharing, assembly.scaled_objects, assembly.jobs)
        async with assembly.serving:
            watching = [around.tasks.create_task(run()) for run in _background(assembly, process)]
            working = around.tasks.create_task(_work(assembly, settings, started))
            await stopping.wait()
            await _leave(assembly, working, settings.serving.shutdown_delay)
            for task in watching:
                task.cancel()


def _background(assembly: Assembly, process: OwnProcess) -> Iterator[Callable[[], Coroutine[object, None, None]]]:
    """What runs from the start to the end, whether this replica leads or not."""
    parts = assembly.parts
    yield Watchdog(parts.instruments.process, trigger_types_by_module(), process).run
    yield from (parts.caches.run, parts.reader.run, assembly.jobs.caches.run, assembly.environments.caches.run)
    if assembly.downscaler is not None:
        yield assembly.downscaler.caches.run
    yield from (assembly.admission.events.run, assembly.admission.run, assembly.serving.run)
    if process.alone:
        yield partial(give_back, lambda: len(assembly.scaled_objects.states) + len(assembly.jobs.controller.states))
    if assembly.rights.election is not None:
        yield from (assembly.rights.election.watch, assembly.standby_reader.run)


async def _leave(assembly: Assembly, working: asyncio.Task[None], delay: timedelta) -> None:
    """Writing stops at once; what is asked is answered for `delay`."""
    assembly.serving.leave()
    working.cancel()
    await asyncio.wait([working])
    await asyncio.sleep(delay.total_seconds())
    await assembly.serving.aclose()
    await assembly.parts.readings.aclose()


async def _work(assembly: Assembly, settings: Settings, started: Started) -> None:
    """Everything that writes: only after every cache has synced, and only while we lead."""
    await assembly.parts.caches.synced()
    await assembly.environments.caches.tried()
    assembly.serving.ready = True
    election, sharing = assembly.rights.election, assembly.rights.sharing
    try:
        if election is None:
            await _lead(assembly, settings, started)
        elif sharing is None:
            await election.run(partial(_lead, assembly, settings, started), assembly.serving.address)
        else:
            lead, share = partial(_lead_only, assembly, settings), partial(_share, assembly, started)
            await _take_part(assembly, partial(election.run, lead), partial(sharing.membership.run, share))
    finally:
        await shut_down(assembly)


async def _take_part(assembly: Assembly, lead: Campaign, share: Campaign) -> None:
    """The work of one of several replicas that write: its share, and what is done once for the cluster if it leads.

    What lies over ScaledObjects each has to know for its own.
    """
    parts, downscaler, address = assembly.parts, assembly.downscaler, assembly.serving.address
    on_steps = [one.on_clock_step for one in (assembly.scaled_objects, assembly.jobs.controller, assembly.environments)]
    await assembly.environments.restore()
    async with asyncio.TaskGroup() as tasks:
        for run in (parts.events.run, assembly.cloud_events.run, assembly.environments.follow):
            tasks.create_task(run())
        if downscaler is not None:
            await downscaler.sweep.restore()
            tasks.create_task(downscaler.sweep.run())
            on_steps.append(downscaler.sweep.on_clock_step)
        tasks.create_task(watch_clock(parts.clock, on_steps))
        tasks.create_task(lead(address))
        tasks.create_task(share(address))


async def _lead_only(assembly: Assembly, settings: Settings) -> None:
    """What is done once for the cluster, until cancelled: what every replica followed, this one stores and does."""
    if settings.serving.register:
        await assembly.serving.register(assembly.parts.client)
    assembly.environments.take_over()
    assembly.cloud_events.take_over()
    if assembly.downscaler is not None:
        assembly.downscaler.sweep.on_clock_step()
    try:
        async with asyncio.TaskGroup() as leading:
            leading.create_task(assembly.authentications.run())
            leading.create_task(assembly.environments.tell())
            leading.create_task(assembly.serving.guard(assembly.parts.client))
    finally:
        assembly.environments.on_clock_step()  # from now on only to be followed


async def _share(assembly: Assembly, started: Started) -> None:
    """The work on our share, until cancelled; it may begin again later, as in a new process."""
    parts = assembly.parts
    parts.activations.clear()
    assembly.environments.on_clock_step()  # theirs, too
    if assembly.downscaler is not None:
        assembly.downscaler.sweep.on_clock_step()
    async with asyncio.TaskGroup() as working:
        working.create_task(assembly.jobs.run())
        log.info("operator started", extra={"version": __version__})
        started(assembly)
        with parts.readings.listening():
            await assembly.scaled_objects.run()


async def _lead(assembly: Assembly, settings: Settings, started: Started) -> None:
    """The work of the one replica that writes, until cancelled; it may begin again later, as in a new process."""
    parts = assembly.parts
    parts.activations.clear()
    if settings.serving.register:
        await assembly.serving.register(parts.client)
    async with asyncio.TaskGroup() as leading:
        works = (parts.events, assembly.cloud_events, assembly.jobs, assembly.authentications, assembly.environments)
        for work in works:
            leading.create_task(work.run())
        leading.create_task(assembly.serving.guard(parts.client))
        await assembly.environments.restore()
        on_steps = [
            one.on_clock_step for one in (assembly.scaled_objects, assembly.jobs.controller, assembly.environments)
        ]
        if assembly.downscaler is not None:
            await assembly.downscaler.sweep.restore()
            leading.create_task(assembly.downscaler.sweep.run())
            on_steps.append(assembly.downscaler.sweep.on_clock_step)
        leading.create_task(watch_clock(parts.clock, on_steps))
        log.info("operator started", extra={"version": __version__})
        started(assembly)
        with parts.readings.listening():
            await assembly.scaled_objects.run()
