"""Ask over HTTPS as fast as answers come, with aiohttp: httpx tops out near 500 requests a second."""

import asyncio
import random
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import aiohttp

from tests.bench.lab.figures import Row, cpu_seconds, percentile

HEADROOM = 3.0
"""A client that could not have asked three times as fast measures itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one run came to; `cpu` seconds of the serving process."""

    clients: int
    seconds: float
    times: Sequence[float]
    failed: int
    cpu: float

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds

    def row(self, ceiling: "Load | None" = None) -> Row:
        found: dict[str, object] = {
            "clients": self.clients,
            "rps": round(self.rate),
            "p50_ms": round(percentile(self.times, 0.5) * 1e3, 2),
            "p99_ms": round(percentile(self.times, 0.99) * 1e3, 2),
            "cpu_ms_per_request": round(self.cpu / len(self.times) * 1e3, 3),
            "failed": self.failed,
        }
        if ceiling is not None:
            found["ceiling_rps"] = round(ceiling.rate)
            found["client_bound"] = ceiling.rate < HEADROOM * self.rate
        return found


async def ask(
    urls: Sequence[str],
    trust: ssl.SSLContext,
    clients: int,
    seconds: float,
    server: int,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Load:
    """`clients` ask for random ones of `urls`, each waiting for its answer; `server` is the pid whose CPU counts."""
    times: list[float] = []
    failed = 0
    connector = aiohttp.TCPConnector(limit=clients, ssl=trust)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        await _warm(session, urls[0], clients)
        used, began = cpu_seconds(server), time.perf_counter()

        async def one(chance: random.Random) -> None:
            nonlocal failed
            while (at := time.perf_counter()) - began < seconds:
                async with session.get(chance.choice(urls)) as answer:
                    await answer.read()
                    failed += answer.status != 200
                times.append(time.perf_counter() - at)

        await asyncio.gather(*(one(random.Random(number)) for number in range(clients)))
        took, cpu = time.perf_counter() - began, cpu_seconds(server) - used
    return Load(clients=clients, seconds=took, times=times, failed=failed, cpu=cpu)


async def _warm(session: aiohttp.ClientSession, url: str, clients: int) -> None:
    async def one() -> None:
        async with session.get(url) as answer:
            await answer.read()

    await asyncio.gather(*(one() for _ in range(clients)))
