"""Processes that die of their work, one after another, and the sources of that work.

A death is shown by a copy of the journal's memory, as the kernel keeps it, taken at that very moment.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from aiohttp import web

from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.client import Request
from keda_py.kube.resources import SCALED_OBJECTS, Obj, Resource
from keda_py.operator.process.quarantine import work_on
from keda_py.readings.journal import Journal
from keda_py.readings.journal_bytes import SIZE
from tests.builders import deployment, metrics_api, scaled_object
from tests.worlds.world import World

NOBODY_ON_THE_CPU = slice(12, 16)
HELD = ("False", "ScaledObjectHeldBack")
READY = ("True", "ScaledObjectReady")


class Lives:
    """One process after another, each with the journal that the one before has left."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.memory = bytearray(SIZE)

    @property
    def now(self) -> int:
        return int(self.world.clock.now().timestamp())

    def left(self) -> bytearray:
        """What a process leaves that dies now."""
        return bytearray(self.memory)

    async def begin(self, left: bytearray | None = None) -> None:
        """The next process, which finds that."""
        self.memory = left or bytearray(SIZE)
        self.world.operator.journal = Journal(memoryview(self.memory), self.now)
        await self.world.operator.start()

    async def died(self, culprit: str = "", innocents: Sequence[str] = (), resource: Resource = SCALED_OBJECTS) -> None:
        """The one before has died inside a step of work on `culprit`, while work on `innocents` was under way."""
        journal = Journal(memoryview(self.memory), self.now)

        async def dying() -> bytearray:
            return self.left()

        work: Any = dying()
        for name in (culprit, *innocents) if culprit else innocents:
            work = _worked_on(journal, self.world.get(resource, name), work)
        left = await work
        if not culprit:
            left[NOBODY_ON_THE_CPU] = bytes(4)
        await self.begin(left)


async def _worked_on(journal: Journal, live: Obj, work: Any) -> Any:
    return await journal.run((work_on(ObjectKey.of(live["kind"], live), live),), work)


class Sources:
    """A source for each object; who was asked, and how many at once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.asked: list[str] = []
        self.most = self._now = 0
        self.on_question: dict[str, Callable[[], Awaitable[None]]] = {}

    def url(self, name: str, value: int = 1) -> str:
        async def answer(_: web.Request) -> web.StreamResponse:
            self.asked.append(name)
            self._now += 1
            self.most = max(self.most, self._now)
            try:
                if name in self.on_question:
                    await self.on_question[name]()
                return web.json_response({"value": value})
            finally:
                self._now -= 1

        self._world.server.answers[f"/{name}"] = answer
        return f"{self._world.server.url}/{name}"


async def create(world: World, sources: Sources, *names: str, **spec: Any) -> None:
    """An object that each wants to wake."""
    wanted = {"pollingInterval": 10, "cooldownPeriod": 60, **spec}
    for name in names:
        await world.create(deployment(name), scaled_object(metrics_api(sources.url(name)), name=name, **wanted))


async def question(world: World, name: str) -> None:
    """The HPA's. Raises KubeError."""
    path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/s0-metric-api-value"
    query = {"labelSelector": f"scaledobject.keda.sh/name={name}"}
    await world.client.send(Request(method="GET", path=path, query=query, resource="externalmetrics"))
