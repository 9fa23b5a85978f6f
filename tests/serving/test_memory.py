"""Server under requests for days, valid and invalid: its memory is bounded."""

import asyncio
import contextlib
import gc
import random
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass

import aiohttp

from tests.serving.conftest import HPA, QUESTION, ROOT, ServedMetrics, accepted
from tests.serving.test_https import exchange, malformed
from tests.sweeps import size
from tests.waiting import connections_closed

COUNT_PAUSE = 0.5
"""Between two counts of all memory, each of which takes long."""

REQUESTS, WARM_UP, AT_ONCE = size(5_000, 1_000), size(7_000, 1_000), 16
"""7 000 are enough to fill what is remembered of requests: 4 096 of them."""
USERS = 50


@dataclass
class Crowd:
    """Clients with all kinds of requests: the HPA controller, users without rights, unknown clients, attackers."""

    served: ServedMetrics
    proxy: aiohttp.ClientSession
    stranger: aiohttp.ClientSession
    chance: random.Random

    async def ask(self, count: int) -> dict[int, int]:
        """Send `count` requests, some at once; return how often each code was answered, 0 for malformed requests."""
        codes: dict[int, int] = {}
        left = iter(range(count))

        async def one() -> None:
            for number in left:
                code = await self._question(number)
                codes[code] = codes.get(code, 0) + 1

        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(one())
        return codes

    async def _question(self, number: int) -> int:
        unique = f"{number}-{self.chance.randrange(10**9)}"
        match number % 10:
            case 0 | 1 | 2 | 3:
                return await self._get(self.proxy, f"{ROOT}/namespaces/shop/s0-{number % 97}", HPA, f"so{number % 500}")
            case 4:
                return await self._get(self.proxy, QUESTION, f"user{number % USERS}")
            case 5:
                return await self._get(self.stranger, f"{ROOT}/namespaces/{unique}/{unique}")
            case 6:
                return await self._get(self.proxy, f"{ROOT}/namespaces/shop/{unique}", HPA, f"a,b notin ({unique}")
            case 7:
                return await self._get(self.proxy, f"/{unique}/" + "x" * 3000, HPA)
            case 8:
                headers = {f"X-Other-{unique}": "y" * 500, "X-Remote-User": HPA}
                async with self.proxy.post(f"{ROOT}/namespaces/shop/x", headers=headers, data="z") as answer:
                    return answer.status
            case _:
                await self._malformed()
                return 0

    async def _get(self, session: aiohttp.ClientSession, path: str, user: str = "", name: str = "") -> int:
        headers = {"X-Remote-User": user} if user else {}
        query = {"labelSelector": f"scaledobject.keda.sh/name={name}"} if name else {}
        async with session.get(path, headers=headers, params=query) as answer:
            await answer.read()
            return answer.status

    async def _malformed(self) -> None:
        with contextlib.suppress(OSError):
            context = self.served.context(self.chance.choice([None, self.served.cluster.identity.front_proxy]))
            reader, writer = await asyncio.open_connection("localhost", self.served.port, ssl=context)
            await exchange(reader, writer, malformed(self.chance), 0.02)
            writer.close()


async def blocks() -> int:
    """Return the blocks of memory in use once closing connections have closed."""
    await accepted()
    gc.collect()
    return sys.getallocatedblocks()


async def test_thousands_of_mixed_requests_leave_memory_as_it_was(served: ServedMetrics):
    async with AsyncExitStack() as stack:
        sessions = []
        for pair in (served.cluster.identity.front_proxy, None):
            connector = aiohttp.TCPConnector(ssl=served.context(pair), limit=AT_ONCE)
            session = aiohttp.ClientSession(f"https://localhost:{served.port}", connector=connector)
            sessions.append(await stack.enter_async_context(session))
        crowd = Crowd(served, *sessions, random.Random(7))
        await crowd.ask(WARM_UP)
        before = await blocks()
        codes = await crowd.ask(REQUESTS)
        async with asyncio.timeout(60):  # the last connections may still be closing
            while await blocks() - before > REQUESTS / 10:
                await asyncio.sleep(COUNT_PAUSE)
    assert set(codes) == {0, 200, 400, 403}
    assert codes[200] == REQUESTS * 4 // 10
    await connections_closed()
