"""A webhook process without clients costs nothing: it says nothing, wakes nobody up, and ends after a while."""

import asyncio
import gc
import logging
import os
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace

import pytest

from keda_py.clock import SystemClock
from keda_py.operator.admission.paths import KINDS_BY_PATH
from keda_py.operator.admission.webhook.idleness import BEAT_SECONDS, TIDY_SECONDS, Idleness
from keda_py.operator.admission.webhook.link import Message
from keda_py.operator.admission.webhook.orders import IDLE_SECONDS, give_orders, to_wire
from keda_py.operator.admission.webhook.process import SILENCE_SECONDS, WebhookProcess
from keda_py.serving.certificates import make_certificate
from keda_py.serving.ports.listening import listen
from keda_py.settings.settings import load_settings
from tests.operator.jumping import JumpingLoop
from tests.servers import LOOPBACK
from tests.waiting import eventually, turns

BEAT, IDLE = {"beat": True}, {"idle": True}


@dataclass
class Clients:
    """How many are connected to an `Idleness`, and what they were answered."""

    count: int = 0
    answered: int = 0


@pytest.fixture
def jumping() -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        yield runner
    gc.unfreeze()  # to tidy up freezes what lives, here the objects of other tests


async def _pass(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, JumpingLoop)
    loop.ahead += seconds
    await turns()


def test_a_process_that_nobody_calls_says_two_words_in_its_life(jumping: asyncio.Runner) -> None:
    async def live() -> list[Message]:
        told: list[Message] = []
        async with asyncio.TaskGroup() as tasks:
            life = tasks.create_task(Idleness(told.append, lambda: 0, lambda: 0, IDLE_SECONDS).run())
            for seconds in (0.0, BEAT_SECONDS, TIDY_SECONDS, IDLE_SECONDS - TIDY_SECONDS - 1):
                await _pass(seconds)
                assert not life.done()
            await _pass(1)
            assert life.done()
        return told

    assert jumping.run(live()) == [BEAT, IDLE]


@contextmanager
def collections() -> Iterator[list[int]]:
    """The generation of each look for garbage within the block."""
    seen: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            seen.append(info["generation"])

    gc.callbacks.append(note)
    try:
        yield seen
    finally:
        gc.callbacks.remove(note)


def test_memory_is_given_back_once_after_the_last_review_although_clients_stay_connected(
    jumping: asyncio.Runner,
) -> None:
    async def live() -> list[int]:
        clients, looks = Clients(count=32), list[int]()
        idleness = Idleness(lambda _: None, lambda: clients.count, lambda: clients.answered, IDLE_SECONDS)
        life = asyncio.get_running_loop().create_task(idleness.run())
        await _pass(0.0)
        for reviews in (9, 9, 0, 0, 0, 9, 0):
            clients.answered += reviews
            with collections() as seen:
                await _pass(BEAT_SECONDS)
            looks.append(seen.count(2))
        life.cancel()
        return looks

    assert jumping.run(live())[1:] == [0, 1, 0, 0, 0, 1]  # with the first beat all that it has is new


def test_a_process_beats_while_a_client_is_connected_and_when_one_comes_after_it_was_idle(
    jumping: asyncio.Runner,
) -> None:
    async def live() -> list[Message]:
        told, clients = list[Message](), Clients(count=1)
        idleness = Idleness(told.append, lambda: clients.count, lambda: clients.answered, IDLE_SECONDS)
        async with asyncio.TaskGroup() as tasks:
            life = tasks.create_task(idleness.run())
            for seconds in (0.0, BEAT_SECONDS, BEAT_SECONDS, BEAT_SECONDS):
                await _pass(seconds)
            clients.count = 0
            await _pass(BEAT_SECONDS)
            assert told == [*[BEAT] * 4, IDLE]
            await _pass(IDLE_SECONDS - 1)
            idleness.wake()
            for seconds in (0, BEAT_SECONDS, IDLE_SECONDS - 1):
                await _pass(seconds)
            assert not life.done()
            life.cancel()
        return told

    assert jumping.run(live())[5:] == [BEAT, IDLE]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A real webhook process behind `port`, and what it has said."""

    process: WebhookProcess
    heard: list[Message]
    port: int

    async def handshake(self) -> None:
        """As a client does; the connection is closed again."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        _, writer = await asyncio.open_connection(LOOPBACK, self.port, ssl=context)
        writer.close()
        await writer.wait_closed()

    async def idle(self) -> int:
        """The pid, once the process has said that it is idle."""
        await eventually(lambda: IDLE in self.heard)
        assert self.process.pid is not None
        return self.process.pid


@asynccontextmanager
async def a_process(idle_seconds: float) -> AsyncIterator[Running]:
    heard: list[Message] = []
    shown = make_certificate([LOOPBACK], SystemClock().now())
    texts = {"ca": shown.ca, "certificate": shown.certificate, "key": shown.key}
    listeners: list[socket.socket] = await listen(LOOPBACK, 0)
    descriptors = tuple(one.fileno() for one in listeners)
    orders = give_orders(load_settings({}, {}), KINDS_BY_PATH, descriptors, logging.WARNING)

    def greet() -> list[Message]:
        begin: Message = {"begin": to_wire(replace(orders, idle_seconds=idle_seconds))}
        return [begin, {"certificate": {name: text.decode() for name, text in texts.items()}}]

    process = WebhookProcess(greet, heard.append)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(process.run(listeners))
        await process.begun.wait()
        yield Running(process=process, heard=heard, port=listeners[0].getsockname()[1])
        await process.stop(1)
    for one in listeners:
        one.close()


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_process_without_clients_ends_and_the_next_client_is_answered_by_another() -> None:
    async with a_process(idle_seconds=0.5) as running:
        await running.handshake()
        first = await running.idle()
        await eventually(lambda: running.process.pid is None and not _exists(first))
        await running.handshake()
        assert running.process.pid not in (None, first)
    assert all(not ({"log"} & message.keys()) for message in running.heard), "nothing went wrong"


async def test_a_client_is_answered_though_the_idle_process_hangs() -> None:
    async with a_process(idle_seconds=IDLE_SECONDS) as running:
        await running.handshake()
        first = await running.idle()
        os.kill(first, signal.SIGSTOP)
        async with asyncio.timeout(2 * SILENCE_SECONDS):
            await running.handshake()
        assert running.process.pid not in (None, first)
        assert not _exists(first)


async def test_an_idle_process_answers_the_operators_ping() -> None:
    async with a_process(idle_seconds=IDLE_SECONDS) as running:
        await running.handshake()
        await running.idle()
        before = running.heard.count(BEAT)
        running.process.tell({"ping": True})
        await eventually(lambda: running.heard.count(BEAT) > before)
