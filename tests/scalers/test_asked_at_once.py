"""Several questions for one reading: answers in order, and nothing is left of them when one fails."""

import asyncio
import gc
from weakref import WeakSet

import pytest

from keda_py.errors import ScalerError
from scalers.shared.concurrent_reads import each
from tests.waiting import forever


async def test_answers_come_in_order_and_not_more_are_asked_at_once() -> None:
    under_way, most = 0, 0

    async def ask(number: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return number * 10

    assert await each(range(7), ask, at_once=3) == [0, 10, 20, 30, 40, 50, 60]
    assert most == 3
    assert await each((), ask, at_once=3) == []


async def test_the_first_failure_ends_the_other_questions() -> None:
    asked: list[int] = []

    async def ask(number: int) -> int:
        asked.append(number)
        if number == 2:
            raise ScalerError("no")
        return await forever()

    before = asyncio.all_tasks()
    with pytest.raises(ScalerError, match="no"):
        await each(range(9), ask, at_once=3)
    assert (asked, asyncio.all_tasks()) == ([0, 1, 2], before)


class Line:
    """A connection of a question."""


async def test_what_was_asked_through_goes_with_the_error(request: pytest.FixtureRequest) -> None:
    lines, all_ask = WeakSet[Line](), asyncio.Event()

    async def ask(number: int) -> int:
        line = Line()
        lines.add(line)
        if len(lines) == 3:
            all_ask.set()
        await all_ask.wait()
        raise ScalerError("no")

    request.addfinalizer(gc.enable)
    gc.disable()  # a circle is what must not be
    with pytest.raises(ScalerError, match="no") as failed:
        await each(range(3), ask, at_once=3)
    assert (all_ask.is_set(), len(lines) > 0) == (True, True)
    del failed
    assert len(lines) == 0
