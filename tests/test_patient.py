"""The loop that most tests run on."""

import asyncio
import gc
import socket
import time
from contextlib import suppress

import pytest

from tests.patient import TURN_SECONDS, PatientLoop, TidyLoop

BUSY_SECONDS = 0.05
"""Five of it are more than the time-out."""


def test_what_a_busy_turn_takes_does_not_make_an_answer_late() -> None:
    async def scenario() -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.timeout(0.1):
            for _ in range(5):
                time.sleep(BUSY_SECONDS)  # noqa: ASYNC251 - the machine is busy with something else
                await asyncio.sleep(0)
        return loop.time() - began

    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        assert runner.run(scenario()) <= 10 * TURN_SECONDS


def test_what_never_comes_is_timed_out_as_ever() -> None:
    async def scenario() -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await asyncio.Event().wait()
        return loop.time() - began

    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        began = time.monotonic()
        assert 0.1 <= runner.run(scenario()) < 0.11
        assert time.monotonic() - began >= 0.1


async def test_time_never_goes_back() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, PatientLoop)
    seen: list[float] = []
    for pause in (0, 0.002, 0, 0.001, 0.003):
        seen += [loop.time() for _ in range(200)]
        await asyncio.sleep(pause)
    assert seen == sorted(seen)


@pytest.mark.parametrize("turns", range(5))
def test_a_connection_that_is_accepted_while_its_server_closes_is_closed(turns: int) -> None:
    async def scenario() -> None:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        with socket.create_connection(server.sockets[0].getsockname()) as client:
            client.setblocking(False)
            for _ in range(turns):
                await asyncio.sleep(0)
            server.close()
            async with asyncio.timeout(5):
                with suppress(ConnectionResetError):
                    assert await asyncio.get_running_loop().sock_recv(client, 1) == b""

    with asyncio.Runner(loop_factory=TidyLoop) as runner:
        runner.run(scenario())
    gc.collect()  # what is forgotten and open would be told of here
