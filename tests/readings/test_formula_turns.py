"""Costly formulas: one per turn of the loop, and a share of the time for each namespace."""

import asyncio
from collections.abc import AsyncIterator
from time import thread_time

import pytest

from keda_py.readings.formula_turns import CREDIT_SECONDS, REMEMBERED, SHARE, FormulaTurns


@pytest.fixture
async def passes() -> AsyncIterator[list[int]]:
    """Count the turns of the loop, in the list's only element."""
    count = [0]

    async def run() -> None:
        while True:
            count[0] += 1
            await asyncio.sleep(0)

    task = asyncio.get_running_loop().create_task(run())
    yield count
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def work(seconds: float) -> None:
    """Keep the CPU busy."""
    until = thread_time() + seconds
    while thread_time() < until:
        pass


async def test_between_two_costly_formulas_everything_else_has_its_turn(passes: list[int]) -> None:
    turns, seen = FormulaTurns(), list[int]()

    async def evaluate(namespace: str) -> None:
        async with turns.turn(namespace):
            work(0.003)
            seen.append(passes[0])

    async with asyncio.TaskGroup() as tasks:
        for number in range(12):
            tasks.create_task(evaluate(f"tenant-{number % 3}"))
    assert len(set(seen)) == len(seen) == 12


async def test_a_namespace_that_has_had_its_share_waits_and_no_other_does() -> None:
    turns, loop = FormulaTurns(), asyncio.get_running_loop()

    async def evaluate(namespace: str) -> None:
        async with turns.turn(namespace):
            pass

    began = loop.time()
    async with turns.turn("hostile"):
        work((CREDIT_SECONDS + 0.5) * SHARE)
    waiting = [loop.create_task(evaluate("hostile")) for _ in range(100)]
    for _ in range(100):
        await evaluate("innocent")
    assert not any(task.done() for task in waiting)
    await asyncio.gather(*waiting)
    assert loop.time() - began >= 0.5


async def test_one_that_gives_up_waiting_holds_up_nothing() -> None:
    turns = FormulaTurns()
    async with turns.turn("hostile"):
        work((CREDIT_SECONDS + 0.2) * SHARE)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01), turns.turn("hostile"):
            pytest.fail("it was not to have a turn")
    async with asyncio.timeout(30), turns.turn("hostile"):
        pass


async def test_namespaces_that_have_paid_are_forgotten() -> None:
    turns = FormulaTurns()
    for number in range(3 * REMEMBERED):
        async with turns.turn(f"n{number}"):
            pass
    assert len(turns) <= REMEMBERED
