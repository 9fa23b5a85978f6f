"""The benches run; what they measure is nobody's verdict."""

import asyncio

import pytest

from tests.bench import decide
from tests.bench.__main__ import BENCHES, load_bench
from tests.bench.lab.figures import percentile
from tests.bench.lab.forwarder import Forwarder
from tests.bench.lab.load import Load
from tests.bench.lab.options import Options
from tests.bench.lab.processes import LOOPBACK

DRAWING = {"growth", "soak"}
"""They need a library of `make bench`; see test_charts.py."""


@pytest.mark.parametrize("name", sorted(set(BENCHES) - DRAWING))
def test_every_bench_says_what_it_measures(name: str) -> None:
    assert (load_bench(name).__doc__ or "").startswith(f"{name.capitalize()}: ")


async def test_decisions_are_measured() -> None:
    told: list[str] = []
    rows = [row async for row in decide.run(Options(), told.append)]
    assert [set(row) for row in rows] == [{f"{name}_us" for name in told}]


def test_the_99th_percentile_of_a_hundred_times_is_the_longest() -> None:
    assert percentile([float(number) for number in range(100)], 0.99) == 99.0


def test_a_run_near_the_ceiling_of_its_client_says_so() -> None:
    def load(requests: int) -> Load:
        return Load(clients=1, seconds=1.0, times=[0.001] * requests, failed=0, cpu=0.1)

    assert load(400).row(ceiling=load(1000))["client_bound"] is True
    assert load(300).row(ceiling=load(1000))["client_bound"] is False


async def test_a_forwarder_that_is_away_cuts_what_was_connected_and_comes_back_at_its_port() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await reader.read()
        writer.close()

    server = await asyncio.start_server(echo, LOOPBACK, 0)
    async with server, Forwarder(server.sockets[0].getsockname()[1]) as forwarder:
        reader, writer = await _say_hello(forwarder.port)
        async with forwarder.away():
            with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection(LOOPBACK, forwarder.port)
        writer.transport.abort()
        _, again = await _say_hello(forwarder.port)
        again.transport.abort()


async def _say_hello(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    writer.write(b"hello\n")
    assert await reader.readline() == b"hello\n"
    return reader, writer
