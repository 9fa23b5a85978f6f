"""Parsing of text for scalers: short text in place, long text in a worker, and none above the limit."""

import asyncio
import os
from dataclasses import replace

import pytest

from keda_py.answers.bounds import MAX_BYTES, AnswerBounds
from keda_py.clock import SteppedClock
from keda_py.errors import ScalerError
from keda_py.net.http import HttpClientSpec
from keda_py.settings.settings import load_settings
from keda_py.testing import A_SATURDAY, EngineContext, shared_context
from tests.answers import texts


def context(lent, namespace="shop"):
    return EngineContext(shared_context=lent, namespace=namespace, scaled_object="app", trigger_index=0)


@pytest.mark.parametrize(("text", "here"), [(b"x" * 10, True), ("ž" * 5, True), (b"x" * 11, False), ("ž" * 6, False)])
async def test_text_of_more_bytes_than_said_is_read_in_another_process(text, here) -> None:
    async with shared_context() as lent:
        process = await context(lent).parse(texts.process_id, text, inline_bytes=10)
    assert (process == os.getpid()) is here


async def test_text_of_more_bytes_than_allowed_is_refused_with_the_setting_that_allows_it() -> None:
    async with shared_context(http=HttpClientSpec(answers=AnswerBounds(100))) as lent:
        assert await context(lent).parse(texts.length, "x" * 100, inline_bytes=10) == [100, "str"]
        words = "the answer is over 100 bytes: let the source say less, or set KEDA_HTTP_MAX_RESPONSE_BYTES higher"
        with pytest.raises(ScalerError, match=words):
            await context(lent).parse(texts.length, "x" * 101, inline_bytes=10)


async def test_reading_takes_no_longer_than_a_scalers_time_out() -> None:
    async with shared_context() as lent:
        with pytest.raises(ScalerError, match="could not be read for more than 0.2 s"):
            await context(lent).parse(texts.wait, b"x", inline_bytes=0, timeout=0.2)
        with pytest.raises(ScalerError, match="could not be read for more than 0.3 s"):
            await context(replace(lent, http_timeout=0.3)).parse(texts.wait, b"x", inline_bytes=0)


async def test_virtual_time_stands_still_while_another_process_reads() -> None:
    clock = SteppedClock(A_SATURDAY)
    async with shared_context(clock=clock) as lent, asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(context(lent).parse(texts.work, b"3000000", inline_bytes=0))
        await asyncio.sleep(0)
        await clock.advance(3600)
        assert reading.done()
    assert reading.result() == sum(range(3_000_000))


async def test_an_answer_that_waits_to_be_read_still_takes_room() -> None:
    async with shared_context() as lent, asyncio.TaskGroup() as tasks:
        ledger = lent.answers.ledger
        reading = [tasks.create_task(context(lent).parse(texts.wait, bytes(1000), inline_bytes=0)) for _ in range(5)]
        of_an_object = tasks.create_task(context(lent).parse(texts.wait, "x" * 1000, inline_bytes=0))
        await asyncio.sleep(0)
        assert ledger.held == 5000
        for one in (*reading, of_an_object):
            one.cancel()
    assert ledger.held == 0


def test_the_bounds_follow_the_setting() -> None:
    assert load_settings({}, {}).http.max_response_bytes == MAX_BYTES == 2**20
    assert load_settings({}, {"KEDA_HTTP_MAX_RESPONSE_BYTES": "2000000"}).http.max_response_bytes == 2_000_000
    assert load_settings({"http-max-response-bytes": ["5"]}, {}).http.max_response_bytes == 5
    assert AnswerBounds().ledger.room == 64 * 2**20
    assert AnswerBounds(16 * 2**20).ledger.room == 256 * 2**20
