"""Answers are cached briefly, requested once, and bounded in number."""

import asyncio

import pytest

from keda_py.serving.reviews import Recent

SHORT_SECONDS = 0.02
"""So long an answer is remembered; one and a half of it is too late."""


class Oracle:
    """Source that answers once it is released, and counts its requests."""

    def __init__(self) -> None:
        self.asked, self.may = 0, asyncio.Event()

    async def ask(self) -> int:
        self.asked += 1
        await self.may.wait()
        return self.asked


async def test_many_who_wait_are_one_question():
    recent, oracle = Recent(60, 10), Oracle()
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(recent.get("key", oracle.ask)) for _ in range(50)]
        await asyncio.sleep(0)
        oracle.may.set()
    assert {task.result() for task in waiting} == {1}
    assert (await recent.get("key", oracle.ask), oracle.asked) == (1, 1)


async def test_an_answer_is_forgotten_after_its_time_and_the_oldest_when_there_are_too_many():
    short, small, oracle = Recent(SHORT_SECONDS, 10), Recent(60, 3), Oracle()
    oracle.may.set()
    assert await short.get("key", oracle.ask) == 1
    await asyncio.sleep(1.5 * SHORT_SECONDS)
    assert await short.get("key", oracle.ask) == 2
    for key in range(100):
        await small.get(key, oracle.ask)
    assert len(small) == 3
    assert small.peek(0) is None


async def test_an_error_reaches_all_who_wait_and_is_not_remembered():
    recent = Recent(60, 10)

    async def fail() -> int:
        await asyncio.sleep(0)
        raise ValueError("away")

    results = await asyncio.gather(*(recent.get("key", fail) for _ in range(3)), return_exceptions=True)
    assert [str(error) for error in results] == ["away"] * 3
    with pytest.raises(ValueError, match="away"):
        await recent.get("key", fail)


async def test_when_the_one_who_asks_is_cancelled_the_next_one_asks():
    recent, oracle = Recent(60, 10), Oracle()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(recent.get("key", oracle.ask))
        await asyncio.sleep(0)
        second = tasks.create_task(recent.get("key", oracle.ask))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        oracle.may.set()
    assert (second.result(), oracle.asked) == (2, 2)
