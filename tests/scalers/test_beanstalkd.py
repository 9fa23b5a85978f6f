"""`beanstalkd` against a real beanstalkd."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.testing import EngineContext, check_scaler
from scalers.beanstalkd import BeanstalkdScaler
from tests.scalers.servers.beanstalkd import beanstalkd


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with beanstalkd(tmp_path_factory.mktemp("beanstalkd")) as port:
        yield port


async def put(port: int, tube: str, *delays: int, reserve: int = 0) -> asyncio.StreamWriter:
    """A job for each delay, of which `reserve` are held until the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    commands = [f"use {tube}", f"watch {tube}", *(f"put 0 {delay} 60 1\r\nx" for delay in delays)]
    for command in [*commands, *["reserve-with-timeout 0"] * reserve]:
        writer.write(f"{command}\r\n".encode())
        if (await reader.readline()).startswith(b"RESERVED"):
            await reader.readline()
    return writer


def on(port: int, tube: str, **more: str) -> dict[str, str]:
    return {"server": f"127.0.0.1:{port}", "tube": tube, "value": "5", **more}


async def test_ready_and_reserved_jobs_count_and_delayed_ones_where_asked_for(bench: Any, port: int) -> None:
    holding = await put(port, "mails", 0, 0, 0, 1000, reserve=1)
    plain = await bench.opened("beanstalkd", on(port, "mails"))
    delayed = await bench.opened("beanstalkd", on(port, "mails", includeDelayed="true"))
    assert [one.value for one in await plain.read_batch([plain, delayed])] == [3, 4]
    holding.close()


async def test_a_missing_tube_has_no_jobs(bench: Any, port: int) -> None:
    scaler = await bench.opened("beanstalkd", on(port, "gone"))
    reading = await scaler.read()
    assert (reading.value, reading.note) == (0, "tube gone is missing and counts as 0")


async def test_five_hundred_tubes_are_one_question(bench: Any, port: int) -> None:
    writer = await put(port, "t7", 0)
    scalers = [await bench.opened("beanstalkd", on(port, f"t{number}")) for number in range(500)]
    assert len({scaler.batch_key for scaler in scalers}) == 1
    readings = await scalers[0].read_batch(scalers)
    assert [one.value for one in readings] == [float(number == 7) for number in range(500)]
    assert bench.lent.connections.held == 1
    writer.close()


async def test_a_name_with_a_line_break_is_no_other_command(bench: Any, port: int) -> None:
    scalers = [await bench.opened("beanstalkd", on(port, name)) for name in ("a\r\npause-tube b 9", "b")]
    wrong, right = await scalers[0].read_batch(scalers)
    assert isinstance(wrong, ScalerError)
    assert right.value == 0
    assert "no tube can be called" in scalers[0].cautions[0]


@pytest.mark.parametrize("tube", ["-x", "a!b", "ü", "x" * 201])
async def test_a_name_that_the_server_refuses_fails_alone(bench: Any, port: int, tube: str) -> None:
    good = f"beside-{len(tube)}"
    writer = await put(port, good, 0)
    scalers = [await bench.opened("beanstalkd", on(port, name)) for name in (good, tube, good)]
    first, wrong, last = await scalers[0].read_batch(scalers)
    assert (first.value, last.value) == (1, 1)
    assert isinstance(wrong, ScalerError)
    assert "no tube can be called" in scalers[1].cautions[0]
    writer.close()


async def test_a_question_that_the_server_refuses_fails_alone(bench: Any) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            while name := (await reader.readline()).strip().rpartition(b" ")[2]:
                writer.write(b"OUT_OF_MEMORY\r\n" if name == b"bad" else b"NOT_FOUND\r\n")

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listener:
        place = listener.sockets[0].getsockname()[1]
        scalers = [await bench.opened("beanstalkd", on(place, name)) for name in ("a", "bad", "b")]
        first, wrong, last = await scalers[0].read_batch(scalers)
    assert (first.value, str(wrong), last.value) == (0, "beanstalkd answers OUT_OF_MEMORY", 0)


async def test_a_restarted_server_is_read_at_once(bench: Any, tmp_path: Path) -> None:
    with beanstalkd(tmp_path) as port:
        scaler = await bench.opened("beanstalkd", on(port, "mails"))
        assert (await scaler.read()).value == 0
    with pytest.raises(ScalerError, match=f"beanstalkd 127.0.0.1:{port}: "):
        await scaler.read()
    with beanstalkd(tmp_path, port):
        assert (await scaler.read()).value == 0


async def test_a_server_that_never_answers_is_given_up(bench: Any, silent_port: int) -> None:
    scaler = await bench.opened("beanstalkd", on(silent_port, "mails", timeout="200"))
    with pytest.raises(ScalerError, match="no answer in time"):
        await scaler.read()
    assert bench.lent.connections.held == 0


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n", b"OK 999999999\r\n", b"OK x\r\n", b"x" * 100_000])
async def test_a_server_that_is_no_beanstalkd_is_an_error(bench: Any, said: bytes) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listener:
        scaler = await bench.opened("beanstalkd", on(listener.sockets[0].getsockname()[1], "mails"))
        with pytest.raises(ScalerError, match=r"beanstalkd 127\.0\.0\.1"):
            await scaler.read()


async def test_an_address_without_a_port_that_is_one_is_refused(bench: Any) -> None:
    with pytest.raises(ConfigError, match="server: is not host:port"):
        await bench.opened("beanstalkd", {"server": "bs:x", "tube": "mails", "value": "5"})


async def test_the_contract_is_kept(bench: Any, port: int) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(BeanstalkdScaler, Trigger(type="beanstalkd", metadata=on(port, "mails")), context)
