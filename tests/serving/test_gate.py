"""A few requests inside at once, and the others in turns by address."""

import asyncio

import pytest

from keda_py.serving.ports.gate import Crowded, Gate
from tests.waiting import turns


class Visits:
    """Requests that stay inside until the test releases them by name."""

    def __init__(self, gate: Gate, tasks: asyncio.TaskGroup) -> None:
        self.gate, self.tasks = gate, tasks
        self.inside: list[str] = []
        self.refused: list[str] = []
        self.done: dict[str, asyncio.Event] = {}

    async def comes(self, name: str) -> asyncio.Task[None]:
        """Start a request; `name` is an address and a number: a1."""
        self.done[name] = asyncio.Event()
        task = self.tasks.create_task(self._visit(name))
        await turns()
        return task

    async def goes(self, name: str) -> None:
        self.done[name].set()
        await turns()

    async def _visit(self, name: str) -> None:
        try:
            async with self.gate.turn(name[0]):
                self.inside.append(name)
                try:
                    await self.done[name].wait()
                finally:
                    self.inside.remove(name)
        except Crowded:
            self.refused.append(name)


async def test_the_next_one_is_of_the_address_that_has_the_fewest_inside() -> None:
    async with asyncio.TaskGroup() as tasks:
        visits = Visits(Gate(2, 10), tasks)
        for name in ("a1", "a2", "a3", "a4", "b1"):
            await visits.comes(name)
        assert visits.inside == ["a1", "a2"]
        await visits.goes("a1")
        assert visits.inside == ["a2", "b1"]
        for name in ("a2", "b1", "a3", "a4"):
            await visits.goes(name)
        assert visits.inside == visits.refused == []


async def test_of_too_many_the_newest_of_the_most_numerous_is_refused() -> None:
    async with asyncio.TaskGroup() as tasks:
        visits = Visits(Gate(1, 2), tasks)
        for name in ("a1", "a2", "a3", "b1", "b2"):
            await visits.comes(name)
        assert visits.refused == ["a3", "b2"], "a gives way to b, then b to nobody"
        for name in ("a1", "b1", "a2"):
            await visits.goes(name)


@pytest.mark.parametrize("number", [0, 1])
async def test_one_that_is_cancelled_leaves_its_place(number: int) -> None:
    async with asyncio.TaskGroup() as tasks:
        visits = Visits(Gate(1, 2), tasks)
        visitors = [await visits.comes("a1"), await visits.comes("a2")]
        visitors[number].cancel()
        await turns()
        await visits.goes("a1")
        assert visits.inside == (["a2"] if number == 0 else [])
        assert visits.gate.waiting == 0
        await visits.goes("a2")


async def test_one_that_is_cancelled_while_it_is_let_in_lets_in_the_next() -> None:
    async with asyncio.TaskGroup() as tasks:
        visits = Visits(Gate(1, 3), tasks)
        await visits.comes("a1")
        second = await visits.comes("a2")
        await visits.comes("a3")
        await asyncio.sleep(0)
        visits.done["a1"].set()
        await asyncio.sleep(0)  # a1 leaves and admits a2, whose task has not run yet
        second.cancel()
        await turns()
        assert visits.inside == ["a3"]
        await visits.goes("a3")
