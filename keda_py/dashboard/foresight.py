"""Keeps the forecasts up to date while the page is served: in a thread, for no more than a quarter of the time."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime

from keda_py.clock import Clock
from keda_py.dashboard.forecast import LASTS, Forecasts, Manifests
from keda_py.errors import KedaPyError
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import (
    CALENDARS,
    CLUSTER_CALENDARS,
    CLUSTER_KEDA_DEFAULTS,
    ENVIRONMENTS,
    KEDA_DEFAULTS,
    NAMESPACES,
    OVERRIDES,
    SCALED_OBJECTS,
    SCALING_SCHEDULES,
    Obj,
    ObjectPath,
    Resource,
)
from keda_py.replay.reading.cluster import files_of, with_kind

DEFAULTS = (KEDA_DEFAULTS, CLUSTER_KEDA_DEFAULTS)
READ = (SCALED_OBJECTS, ENVIRONMENTS, OVERRIDES, CALENDARS, CLUSTER_CALENDARS, SCALING_SCHEDULES, *DEFAULTS, NAMESPACES)
# Pause between two rounds, in multiples of the time that the last one took: at most a quarter of the time is used.
REST = 3.0
PAUSE_SECONDS = 0.5
MOST_FILES = 100


class Foresight:
    """Keeper of the forecasts; `forecasts` are the latest, and `renewed` is called when they change."""

    def __init__(
        self, client: KubeClient, informers: Mapping[Resource, Informer], clock: Clock, renewed: Callable[[], None]
    ) -> None:
        self.forecasts = Forecasts()
        self._client, self._clock, self._renewed = client, clock, renewed
        self._informers = {resource: informers[resource] for resource in READ}
        self._stale = asyncio.Event()
        self._files: dict[ObjectPath, list[Obj]] = {}
        self._files_until: datetime | None = None

    def note(self) -> None:
        """Note that a manifest has changed."""
        self._stale.set()

    async def run(self) -> None:
        """Renew the forecasts until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            # Cleared before the manifests are read, so that a change during the reading starts another round.
            self._stale.clear()
            manifests, now, began = await self._manifests(), self._clock.now(), loop.time()
            # In a thread: a large cluster takes seconds, in which this loop has to serve the page.
            renewed = await asyncio.to_thread(self.forecasts.renewed, manifests, now)
            if renewed is not self.forecasts:
                self.forecasts = renewed
                self._renewed()
            await asyncio.sleep(max(PAUSE_SECONDS, REST * (loop.time() - began)))
            try:
                async with asyncio.timeout(LASTS.total_seconds()):
                    await self._stale.wait()
            except TimeoutError:
                pass  # a forecast also grows old by time alone

    async def _manifests(self) -> Manifests:
        found: defaultdict[str, list[Obj]] = defaultdict(list)
        for resource, informer in self._informers.items():
            for body in with_kind(resource, informer.objects()) if resource is not NAMESPACES else ():
                found[body["metadata"].get("namespace", "")].append(body)
        # Each beside its objects, not among what all share: the labels of one matter to no other.
        for body in with_kind(NAMESPACES, self._informers[NAMESPACES].objects()):
            if body["metadata"]["name"] in found:
                found[body["metadata"]["name"]].append(body)
        paths = dict.fromkeys(path for bodies in found.values() for body in bodies for path in files_of(body))
        found[""] += await self._read_files(list(paths)[:MOST_FILES])
        return found

    async def _read_files(self, paths: list[ObjectPath]) -> list[Obj]:
        """Read the files of calendars; the calendar that needs a missing one reports it."""
        now = self._clock.now()
        if self._files_until is None or now >= self._files_until or set(paths) != set(self._files):
            self._files, self._files_until = {path: await self._read_file(path) for path in paths}, now + LASTS
        return [body for bodies in self._files.values() for body in bodies]

    async def _read_file(self, path: ObjectPath) -> list[Obj]:
        try:
            return with_kind(path.resource, [await self._client.get(path)])
        except KedaPyError:
            return []
