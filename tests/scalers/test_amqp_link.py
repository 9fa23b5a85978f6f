"""AMQP's one question by a client of our own: a broker may refuse, fall silent or flood, and only its question fails."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from pamqp import commands
from pamqp.frame import marshal, unmarshal
from pamqp.heartbeat import Heartbeat

from keda_py.errors import ScalerError
from tests.waiting import eventually

Reply = Callable[[int], bytes]
"""Bytes for the question of that number, which counts from 1."""

DECLARED = marshal(commands.Queue.DeclareOk(queue="jobs", message_count=7, consumer_count=0), 1)
BEAT = Heartbeat().marshal()
GONE = marshal(commands.Channel.Close(404, "NOT_FOUND - no queue", 50, 10), 1)
BLOCKED = marshal(commands.Connection.Blocked("memory"), 0)


@dataclass
class Broker:
    """What it was told, by name of the method."""

    heartbeat: int = 60
    port: int = 0
    told: list[Any] = field(default_factory=list)
    connected: int = 0
    open_now: int = 0

    def names(self) -> list[str]:
        return [one.name for one in self.told]


@asynccontextmanager
async def broker(reply: Reply, heartbeat: int = 60) -> AsyncIterator[Broker]:
    """Shake hands with each client, and reply to each declaration."""
    ours = Broker(heartbeat=heartbeat)
    answers = {
        "Connection.StartOk": marshal(commands.Connection.Tune(2047, 131072, heartbeat), 0),
        "Connection.Open": marshal(commands.Connection.OpenOk(), 0),
        "Channel.Open": marshal(commands.Channel.OpenOk(), 1),
    }

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ours.connected += 1
        ours.open_now += 1
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                assert await reader.readexactly(8) == b"AMQP\x00\x00\x09\x01"
                writer.write(marshal(commands.Connection.Start(), 0))
                while True:
                    head = await reader.readexactly(7)
                    _, _, said = unmarshal(head + await reader.readexactly(int.from_bytes(head[3:], "big") + 1))
                    ours.told.append(said)
                    if said.name == "Queue.Declare":
                        writer.write(reply(ours.names().count("Queue.Declare")))
                    writer.write(answers.get(said.name, b""))
                    await writer.drain()
        finally:
            ours.open_now -= 1
            writer.transport.abort()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
        ours.port = listener.sockets[0].getsockname()[1]
        yield ours


def at(port: int, queue: str = "jobs") -> dict[str, str]:
    place = f"amqp://ann:s3cret@127.0.0.1:{port}/shop"
    return {"host": place, "queueName": queue, "mode": "QueueLength", "value": "5"}


async def test_one_connection_and_one_channel_serve_all_questions(bench: Any) -> None:
    async with broker(lambda _: BEAT + BLOCKED + DECLARED) as server:
        scaler = await bench.opened("rabbitmq", at(server.port))
        assert [(await scaler.read()).value for _ in range(100)] == [7] * 100
    assert server.names().count("Channel.Open") == server.connected == 1
    begin, opening = server.told[0], next(one for one in server.told if one.name == "Connection.Open")
    assert (begin.mechanism, begin.response, opening.virtual_host) == ("PLAIN", "\0ann\0s3cret", "shop")


async def test_a_missing_queue_costs_its_channel_and_no_connection(bench: Any) -> None:
    async with broker(lambda number: GONE if number == 1 else DECLARED) as server:
        scaler = await bench.opened("rabbitmq", at(server.port))
        with pytest.raises(ScalerError, match='queue "jobs": NOT_FOUND - no queue'):
            await scaler.read()
        assert (await scaler.read()).value == 7
        assert (server.connected, server.names().count("Channel.CloseOk")) == (1, 1)


async def test_heartbeats_keep_a_connection_that_asks_nothing(bench: Any) -> None:
    async with broker(lambda _: DECLARED, heartbeat=1) as server:
        scaler = await bench.opened("rabbitmq", at(server.port))
        await scaler.read()
        await eventually(lambda: server.names().count("Heartbeat") >= 2)


async def test_a_broker_that_says_nothing_for_two_heartbeats_is_left(bench: Any) -> None:
    async with broker(lambda _: DECLARED, heartbeat=1) as server:
        scaler = await bench.opened("rabbitmq", at(server.port))
        await scaler.read()
        await eventually(lambda: server.open_now == 0)
        assert (await scaler.read()).value == 7
        assert server.connected == 2


async def test_a_connection_that_is_no_longer_used_says_goodbye(bench: Any) -> None:
    async with broker(lambda _: DECLARED) as server:
        scaler = await bench.opened("rabbitmq", at(server.port))
        await scaler.read()
        await scaler.aclose()
        await scaler.context.aclose()
        await eventually(lambda: "Connection.Close" in server.names())
        assert bench.lent.connections.held == 0


REFUSED: dict[str, bytes] = {
    "CONNECTION_FORCED - bye": marshal(commands.Connection.Close(320, "CONNECTION_FORCED - bye", 0, 0), 0),
    "a frame that is longer than any answer": b"\x01\0\x01\xff\xff\xff\xff" + bytes(100_000),
    "frames that no question asked for": BEAT * 5000 + DECLARED,
    "what was not asked": DECLARED * 2,
    "something that is no answer": b"\x02\0\x01\0\0\0\x01x\xce",
    "the server answered with Channel.FlowOk": marshal(commands.Channel.FlowOk(True), 1),
}


@pytest.mark.parametrize("words", REFUSED)
async def test_a_broker_that_breaks_a_bound_is_cut_off_and_asked_anew(bench: Any, words: str) -> None:
    async with broker(lambda number: REFUSED[words] if number == 2 else DECLARED) as server:
        scaler = await bench.opened("rabbitmq", at(server.port))
        assert (await scaler.read()).value == 7
        try:
            await scaler.read()
        except ScalerError as error:
            said = str(error)
            assert said.startswith(f"error establishing rabbitmq connection to 127.0.0.1:{server.port}: ")
            assert words in said
        else:
            assert words == "what was not asked", "the first of its answers counts"
        await eventually(lambda: server.open_now == 0)
        assert (await scaler.read()).value == 7
        assert server.connected == 2
