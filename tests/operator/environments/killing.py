"""Kills of the operator at its writes about an Environment, one after the other."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from keda_py.core.gitops.flux import is_marked
from keda_py.core.hpa.wire import read_zero_mark
from keda_py.core.waking.rules import LABEL
from keda_py.localkube.cluster import ClusterOptions
from keda_py.localkube.store.subscriptions import Event
from keda_py.operator.environments.deletion.counts import NAME as IDLE_COUNTS
from tests.http_server import HttpServer
from tests.sweeps import steps
from tests.worlds.world import World, open_world

Act = Callable[[World], Awaitable[None]]
_COUNTED = ("deployments", "statefulsets", "cronjobs")


class Cutter:
    """Pulls the cable at the k-th write from now on of a status, count, suspension, slice or Application, of the mark
    of an HPA's zero or for Flux, or about the deletion of a namespace.

    `writes` counts up to there.
    """

    def __init__(self, world: World, number: int) -> None:
        self._world, self._number = world, number
        self.writes = 0
        self.done, self.armed = asyncio.Event(), True
        world.listen(self._hear)

    def _hear(self, event: Event) -> None:
        if not _is_counted(event) or not self.armed or self.done.is_set():
            return
        self.writes += 1
        if self.writes >= self._number:
            self._world.operator.cut()
            self.done.set()


def _is_counted(event: Event) -> bool:
    before, after, plural = event.previous or {}, event.object, event.resource.plural
    if plural == "horizontalpodautoscalers":
        return read_zero_mark(before) is not read_zero_mark(after)
    if _is_of_deletion(event):
        return True
    ours = plural == "endpointslices" and LABEL in (after["metadata"].get("labels") or {})
    whole = ours or plural in ("environments", "applications")
    annotated = plural in _COUNTED and is_marked(before) != is_marked(after)
    return whole or annotated or (plural in _COUNTED and before.get("spec") != after.get("spec"))


def _is_of_deletion(event: Event) -> bool:
    live, plural = event.object, event.resource.plural
    if plural == "events":
        return "Deletion" in live.get("reason", "")
    if plural == "namespaces":
        return event.type == "DELETED" or "deletionTimestamp" in live["metadata"]
    return plural == "configmaps" and event.name == IDLE_COUNTS


class Kills:
    """Worlds whose operator dies at one write after the other (of a part of them, where not all is swept)."""

    def __init__(self, folder: Path, server: HttpServer, tasks: asyncio.TaskGroup) -> None:
        self._folder, self._server, self.tasks = folder, server, tasks
        self.flags: dict[str, str] = {}
        """Flags of each operator, over the usual ones."""
        self.part = 7
        """Each so many-th write is tried, where not all is swept."""

    async def __call__(self, before: Act, during: Act, after: Act, options: ClusterOptions | None = None) -> int:
        """Before, the part to die in, and what must be true all the same: once for each write; how many there were."""
        for number in steps(self.part):
            folder = self._folder / str(number)
            folder.mkdir()
            async with open_world(folder, self._server, self.tasks, options, tls=True) as world:
                world.operator.flags |= self.flags
                await world.operator.start()
                await before(world)
                cutter = Cutter(world, number)
                async with asyncio.TaskGroup() as dying:
                    death = dying.create_task(_die(world, cutter))
                    await during(world)
                    death.cancel()
                    cutter.armed = False
                if cutter.done.is_set():
                    await world.operator.start()
                try:
                    await after(world)
                except AssertionError as error:
                    error.add_note(f"killed at write {number}")
                    raise
                if not cutter.done.is_set():
                    return cutter.writes
        raise AssertionError("unreachable")


async def _die(world: World, cutter: Cutter) -> None:
    await cutter.done.wait()
    await world.operator.kill()
