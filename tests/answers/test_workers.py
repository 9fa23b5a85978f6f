"""Worker processes: within limits, killed at any moment, and shared between tenants."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from keda_py.answers.process import ParseJob, ParseLimits
from keda_py.answers.workers import Workers
from keda_py.errors import ScalerError
from tests.answers import texts

LIMITS = ParseLimits(cpu_seconds=10.0, memory=96 * texts.MIB)
"""Of the CPU more than anything but a loop takes, on a busy machine, too."""
BRIEF = ParseLimits(cpu_seconds=0.3, memory=96 * texts.MIB)
SOON = 200.0


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    workers = Workers(LIMITS)
    yield workers
    await workers.aclose()


@pytest.fixture
async def brief_workers() -> AsyncIterator[Workers]:
    workers = Workers(BRIEF)
    yield workers
    await workers.aclose()


def question(function: Callable[..., object], text: bytes | str = b"1", *arguments: object) -> ParseJob:
    return ParseJob(function=f"{function.__module__}:{function.__name__}", arguments=arguments, text=text)


async def ask(
    workers: Workers, function: Callable[..., object], text: bytes | str = b"1", *, of: str = "shop"
) -> object:
    return await workers.ask(of, question(function, text), SOON)


def is_running(process: object) -> bool:
    assert isinstance(process, int)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "times"),
    [(b"", 1), (b"abc", 1), ("abc", 1), ("žluť", 1), (b"x", 5_000_000)],
    ids=["none", "bytes", "text", "utf-8", "long"],
)
async def test_the_text_and_the_arguments_arrive_and_the_value_comes_back(
    workers: Workers, text: bytes | str, times: int
) -> None:
    text = text * times
    value = await workers.ask("shop", question(texts.length, text, "a", 2.5, None), SOON)
    assert value == [len(text), type(text).__name__, "a", 2.5, None]


async def test_a_process_is_started_for_the_first_question_and_kept_for_the_next(workers: Workers) -> None:
    assert workers.processes == 0
    first, second = await ask(workers, texts.process_id), await ask(workers, texts.process_id)
    assert first == second != os.getpid()
    assert workers.processes == 1


async def test_it_finds_compiled_modules_where_the_operator_has_them(workers: Workers, tmp_path: Path) -> None:
    assert await ask(workers, texts.bytecode_folder) == sys.pycache_prefix
    elsewhere = Workers(LIMITS, str(tmp_path))
    try:
        assert await ask(elsewhere, texts.bytecode_folder) == str(tmp_path)
    finally:
        await elsewhere.aclose()


async def test_what_the_function_refuses_is_refused_in_its_words_and_the_process_goes_on(workers: Workers) -> None:
    process = await ask(workers, texts.process_id)
    with pytest.raises(ScalerError, match="^it says nothing$"):
        await ask(workers, texts.refuse)
    with pytest.raises(ScalerError, match="^the answer cannot be read: unexpected RecursionError$"):
        await ask(workers, texts.stumble)
    assert await ask(workers, texts.process_id) == process


@pytest.mark.parametrize(
    ("function", "text", "words"),
    [
        pytest.param(texts.eat, b"500", "the answer took more than 96 MiB of memory to read", id="memory"),
        pytest.param(texts.crash, b"", r"the process that read it ended \(signal 11\)", id="crash"),
        pytest.param(texts.leave, b"", r"the process that read it ended \(exit code 3\)", id="exit"),
        pytest.param(texts.babble, b"", "it becomes a value of more than 65536 bytes", id="long value"),
    ],
)
async def test_what_ends_a_process_is_said_in_plain_words_and_the_next_question_gets_another(
    workers: Workers, function: Callable[..., object], text: bytes, words: str
) -> None:
    before = await ask(workers, texts.process_id)
    with pytest.raises(ScalerError, match=words):
        await ask(workers, function, text)
    assert await ask(workers, texts.process_id) != before


async def test_more_cpu_than_allowed_ends_the_process_and_the_next_question_gets_another(
    brief_workers: Workers,
) -> None:
    before = await ask(brief_workers, texts.process_id)
    with pytest.raises(ScalerError, match="^the answer took more than 0.3 s of CPU to read$"):
        await ask(brief_workers, texts.spin)
    assert await ask(brief_workers, texts.process_id) != before


async def test_a_question_that_is_not_answered_in_time_ends_its_process(workers: Workers) -> None:
    before = await ask(workers, texts.process_id)
    with pytest.raises(ScalerError, match="^the answer is large and could not be read for more than 0.1 s$"):
        await workers.ask("shop", question(texts.wait), 0.1)
    assert await ask(workers, texts.process_id) != before


async def test_a_caller_who_gives_up_ends_the_process_that_works_for_it(workers: Workers) -> None:
    before = await ask(workers, texts.process_id)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await ask(workers, texts.wait)
    assert await ask(workers, texts.process_id) != before


async def test_no_process_is_left_after_the_end_and_none_is_started_again() -> None:
    workers = Workers(LIMITS)
    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(ask(workers, texts.process_id, of=tenant)) for tenant in ("shop", "bank")]
    await workers.aclose()
    assert not any(is_running(one.result()) for one in asked)
    with pytest.raises(ScalerError, match="shutting down"):
        await ask(workers, texts.process_id)


async def test_a_process_that_goes_on_to_hold_much_memory_makes_room_for_another(workers: Workers) -> None:
    before = await ask(workers, texts.process_id)
    assert await ask(workers, texts.hoard, b"80") == 1
    assert await ask(workers, texts.process_id) != before


async def test_the_process_has_nothing_of_the_operators_and_what_it_prints_is_no_answer(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_TOKEN", "s3cret")
    environment, folder, files = await ask(workers, texts.surroundings)  # type: ignore[misc]
    assert set(environment) <= {"LD_LIBRARY_PATH", "LC_CTYPE"}
    assert folder == "/"
    assert len(files) <= 5  # three streams, the copy of one, and the folder being listed
    assert await ask(workers, texts.chatter) == "said"


async def test_a_tenant_whose_text_is_hard_to_read_holds_up_no_other(workers: Workers) -> None:
    async with asyncio.TaskGroup() as tasks:
        hostile = [tasks.create_task(ask(workers, texts.wait, of="hostile")) for _ in range(5)]
        assert await ask(workers, texts.length, b"abc", of="shop") == [3, "bytes"]
        assert workers.processes == 2
        for one in hostile:
            one.cancel()


async def test_of_those_who_wait_the_one_that_has_used_least_is_next(brief_workers: Workers) -> None:
    with pytest.raises(ScalerError, match="CPU"):
        await ask(brief_workers, texts.spin, of="hostile")
    order: list[str] = []

    async def note(tenant: str) -> None:
        await ask(brief_workers, texts.length, of=tenant)
        order.append(tenant)

    async with asyncio.TaskGroup() as tasks:
        occupied = [tasks.create_task(ask(brief_workers, texts.wait, of=tenant)) for tenant in ("a", "b")]
        waiting = [tasks.create_task(note(tenant)) for tenant in ("hostile", "shop")]
        await asyncio.sleep(0)  # all requests are queued
        occupied[0].cancel()
        await asyncio.wait(waiting)
        occupied[1].cancel()
    assert order == ["shop", "hostile"]


async def test_who_waits_too_long_is_told_so_and_takes_no_turn(workers: Workers) -> None:
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(ask(workers, texts.wait))
        await asyncio.sleep(0)  # its request is queued
        with pytest.raises(ScalerError, match="^the answer is large and had to wait for more than 0.05 s$"):
            await workers.ask("shop", question(texts.length), 0.05)
        waiting.cancel()
    assert await ask(workers, texts.length, b"ab") == [2, "bytes"]
