"""Connections are shared by namespaces: a namespace whose sources hang, or are a thousand, blocks no other one."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import pytest

from keda_py.answers.connections import Connections
from keda_py.answers.work_context import working
from keda_py.net.http import HttpClientSpec
from keda_py.net.http.sockets import Sockets
from keda_py.operator.process.loops import loop_factory
from keda_py.testing import shared_context

SECONDS = 20.0
SHARE, PER_HOST = 6, 2


@dataclass
class Source:
    """Source that answers only /value; at every address of this machine."""

    port: int = 0
    hanging: int = 0
    open: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def url(self, path: str, host: int = 1) -> str:
        return f"http://127.0.0.{host}:{self.port}{path}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._count(open=1)
        try:
            while b"/value" in await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")
            await self._count(hanging=1)
            await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            await self._count(open=-1)

    async def _count(self, *, open: int = 0, hanging: int = 0) -> None:
        async with self.changed:
            self.open, self.hanging = self.open + open, self.hanging + hanging
            self.changed.notify_all()

    async def until_hanging(self, count: int) -> None:
        async with asyncio.timeout(SECONDS), self.changed:
            await self.changed.wait_for(lambda: self.hanging == count)


@asynccontextmanager
async def source() -> AsyncIterator[Source]:
    made = Source()
    async with await asyncio.start_server(made.answer, "0.0.0.0", 0) as server:
        made.port = server.sockets[0].getsockname()[1]
        yield made


@asynccontextmanager
async def client() -> AsyncIterator[httpx.AsyncClient]:
    spec = HttpClientSpec(timeout=SECONDS, connections=Connections(share=SHARE, per_host=PER_HOST))
    async with shared_context(http=spec) as lent:
        yield lent.http
        assert spec.connections.held == 0


@asynccontextmanager
async def hanging(http: httpx.AsyncClient, *urls: str) -> AsyncIterator[None]:
    """Let the hostile namespace request all of these at once without an answer."""

    async def ask(url: str) -> None:
        with working("hostile"):
            await http.get(url, timeout=1000)

    async with asyncio.TaskGroup() as tasks:
        asking = [tasks.create_task(ask(url)) for url in urls]
        yield
        for one in asking:
            one.cancel()


async def ask_for(namespace: str, http: httpx.AsyncClient, url: str, seconds: float = SECONDS) -> int:
    with working(namespace):
        return (await http.get(url, timeout=seconds)).status_code


async def test_questions_of_one_namespace_that_hang_keep_no_other_from_the_same_host() -> None:
    async with source() as asked, client() as http, hanging(http, *[asked.url("/hang")] * 20):
        await asked.until_hanging(PER_HOST)
        assert await ask_for("shop", http, asked.url("/value")) == 200


async def test_a_namespace_whose_share_of_a_host_is_taken_is_told_so_in_time_and_asks_others_meanwhile() -> None:
    async with source() as asked, client() as http, hanging(http, *[asked.url("/hang")] * 20):
        await asked.until_hanging(PER_HOST)
        text = 'namespace "hostile" has 2 connections to one host already, and none was free in time: ask fewer sources'
        with pytest.raises(httpx.PoolTimeout, match=text):
            await ask_for("hostile", http, asked.url("/value"), 0.05)
        assert await ask_for("hostile", http, asked.url("/value", host=2)) == 200


async def test_a_thousand_hosts_that_hang_use_up_the_share_of_who_asks_them_alone() -> None:
    async with source() as asked, client() as http, hanging(http, *(asked.url("/hang", n) for n in range(1, 101))):
        await asked.until_hanging(SHARE)
        with pytest.raises(httpx.PoolTimeout, match='namespace "hostile" has 6 connections to sources already'):
            await ask_for("hostile", http, asked.url("/value", 200), 0.05)
        assert await ask_for("shop", http, asked.url("/value", 200)) == 200


async def test_several_namespaces_that_take_all_they_get_leave_a_connection_to_the_next() -> None:
    async with source() as asked, client() as http, asyncio.TaskGroup() as tasks:
        asking = [
            tasks.create_task(ask_for(f"hostile-{number}", http, asked.url("/hang", host), 1000))
            for number in range(3)
            for host in range(1, 51)
        ]
        await asked.until_hanging(6 + 4 + 2)
        assert await ask_for("shop", http, asked.url("/value", 200)) == 200
        for one in asking:
            one.cancel()


async def test_connections_that_are_kept_for_later_are_a_part_of_the_share() -> None:
    async with source() as asked, client() as http:
        for host in range(1, 51):
            assert await ask_for("hostile", http, asked.url("/value", host)) == 200
        async with asyncio.timeout(SECONDS), asked.changed:
            await asked.changed.wait_for(lambda: asked.open <= SHARE // 2)
        for _ in range(3):
            assert await ask_for("shop", http, asked.url("/value", 200)) == 200
        assert asked.open == SHARE // 2 + 1


@pytest.mark.parametrize("factory", [asyncio.new_event_loop, loop_factory()], ids=["asyncio", "the operator's"])
def test_a_socket_counts_until_its_connection_is_closed(factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def connect() -> None:
        sockets = Sockets(1)
        async with source() as asked:
            family, kind = socket.AF_INET, socket.SOCK_STREAM
            made = sockets.make((family, kind, 0, "", ("127.0.0.1", asked.port)))
            made.setblocking(False)
            await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", asked.port))
            _, writer = await asyncio.open_connection(sock=made)
            assert not sockets.keeps
            with working("shop"):
                assert sockets.keeps
            writer.close()
            await writer.wait_closed()
            async with asyncio.timeout(SECONDS):
                while not sockets.keeps:
                    await asyncio.sleep(0)

    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(connect())
