"""A whole operator whose API server, or the way to it, fails; and what must be true of it afterwards.

Virtual time and the event loop's own time go on together: back-offs and time-outs cost no waiting. Every ordeal ends
with the same questions: does it still run, did anything crash, is anything left behind, did it shout?
"""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from keda_py.kube.resources import DEPLOYMENTS, Obj
from keda_py.localkube.cluster import ClusterOptions
from tests.builders import deployment, metrics_api, scaled_object
from tests.faults.faulty import FaultyApi, serve_faulty
from tests.http_server import http_server
from tests.operator.jumping import JumpingLoop
from tests.worlds.cable import Cable
from tests.worlds.world import World, open_world

PATIENCE, TURN_SECONDS, LEAP = 20, 0.001, 1.0
"""What has not come after so many turns of the loop is waited for in leaps of the loop's time. A machine that is busy
with something else takes longer for a turn, not more turns."""
LEFT_BEHIND = 10
"""So many tasks may come and go: connections of the pool, and the server's side of them."""


class Shouts(logging.Handler):
    """What an operator would be woken by: records of WARNING and above. A loop that jumps is no loop that is blocked."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != "keda_py.operator.process.watchdog":
            self.records.append(record)

    def said(self, words: str) -> list[logging.LogRecord]:
        return [record for record in self.records if words in record.getMessage()]


@dataclass
class Ordeal:
    """The world, the API server that the operator sees of it, and both kinds of time."""

    world: World
    api: FaultyApi
    loop: JumpingLoop
    shouts: Shouts = field(default_factory=Shouts)
    leap: float = LEAP
    """More where requests hang until they are given up: thirty leaps of a second each are work for nothing."""
    _tasks: int = 0
    _watchers: int = 0

    async def live(self, seconds: float, step: float = 1.0) -> None:
        """Both kinds of time pass, step by step; where virtual time waits for an answer, the loop's goes on alone."""
        while seconds > 0:
            self.loop.ahead += min(step, seconds)
            async with asyncio.TaskGroup() as tasks:
                passing = tasks.create_task(self.world.seconds(min(step, seconds)))
                while not await _comes(passing):
                    self.loop.ahead += self.leap
            seconds -= step

    async def until(self, look: Callable[[], bool], seconds: float = 120.0) -> float:
        """Live until it is so; how long that took."""
        lived = 0.0
        while not look():
            assert lived < seconds, f"not so after {seconds:g} s"
            await self.live(1.0)
            lived += 1.0
        return lived

    async def wake(self, **spec: object) -> list[Obj]:
        """An object that is active; every version of its workload from then on."""
        world = self.world
        world.jobs(1)
        wanted = {"cooldownPeriod": 30, "pollingInterval": 5} | spec
        await world.create(deployment(), scaled_object(metrics_api(world.url), **wanted))
        await self.until(lambda: world.replicas() == 1 and world.condition("Active")[0] == "True")
        await self.live(5)
        self.settle()
        return world.writes_of(DEPLOYMENTS)

    def settle(self) -> None:
        """What there is now is what may be left in the end."""
        self._tasks, self._watchers = len(asyncio.all_tasks()), self.world.cluster.store.watchers

    async def assert_sound(self) -> None:
        """Up and down once more, as if nothing had been; then nothing is left of what happened."""
        world = self.world
        world.jobs(1)
        await self.until(lambda: world.replicas() == 1 and world.condition("Active")[0] == "True")
        assert world.condition("Ready")[0] == "True"
        world.jobs(0)
        await self.live(20, step=5)
        assert world.replicas() == 1
        await self.until(lambda: world.replicas() == 0 and world.condition("Active")[0] == "False", 30)
        assert world.operator.process is not None
        assert not world.operator.process.task.done()
        assert [record.getMessage() for record in self.shouts.records if record.exc_info] == []
        assert len(asyncio.all_tasks()) <= self._tasks + LEFT_BEHIND
        assert world.cluster.store.watchers <= self._watchers


Scenario = Callable[[Ordeal], Awaitable[None]]


def go_through(scenario: Scenario, folder: Path, flags: Mapping[str, str] = MappingProxyType({})) -> None:
    """Run it with an operator that works, on a loop that jumps; `flags` are the operator's, over the usual ones."""
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(_go_through(scenario, folder, flags))


def ordeal(scenario: Scenario) -> Callable[[Path], None]:
    """Make a test of a scenario."""

    @functools.wraps(scenario)
    def test(tmp_path: Path) -> None:
        go_through(scenario, tmp_path)

    del test.__wrapped__  # type: ignore[attr-defined]  # pytest would take the scenario's parameter for a fixture
    return test


async def _comes(task: asyncio.Task[None]) -> bool:
    for _ in range(PATIENCE):
        if task.done():
            return True
        await asyncio.sleep(TURN_SECONDS)
    return task.done()


async def _go_through(scenario: Scenario, folder: Path, flags: Mapping[str, str]) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, JumpingLoop)
    options = ClusterOptions(enforce_rbac=True)
    async with http_server() as server, open_world(folder, server, options=options, tls=True) as world:
        api, url = await world.operator.stack.enter_async_context(serve_faulty(world.cluster))
        world.operator.cable = await world.operator.stack.enter_async_context(Cable(url))
        world.operator.flags = dict(flags)
        world.operator.source_seconds = 200.0  # the loop's: the source may be asked while time leaps
        one = Ordeal(world, api, loop)
        logger = logging.getLogger("keda_py")
        logger.addHandler(one.shouts)
        try:
            await world.operator.start()
            await scenario(one)
        finally:
            logger.removeHandler(one.shouts)
