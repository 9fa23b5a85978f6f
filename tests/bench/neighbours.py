"""Neighbours: slow queries beside quick ones on one PostgreSQL; how long each object is not Ready, and why.

Of `objects`, up to 30 take 0.2 s each; then 8 take 1 s each. Each is polled every 5 s, beside three quick ones.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

from keda_py.kube.resources import SCALED_OBJECTS, SECRETS, TRIGGER_AUTHENTICATIONS, Obj
from tests.bench.lab.figures import Row, cpu_seconds
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import LOOPBACK
from tests.bench.lab.stand import NAMESPACE, Stand, build_stand
from tests.builders import authentication, from_key, secret
from tests.certificates import Authority
from tests.scalers.servers.postgres import PASSWORD, USER, postgres

PHASES = ((30, 0.2), (8, 1.0))
"""How many slow queries, and the seconds of each."""
QUICK = 3
INTERVAL = 5
LOOK_SECONDS = 1.0


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """A row for each phase, on a stand of its own."""
    for count, seconds in PHASES:
        slow = min(count, options.objects)
        queries = [f"SELECT {number} + count(*) FROM pg_sleep({seconds})" for number in range(slow)]
        queries += [f"SELECT {number}" for number in range(QUICK)]
        async with build_stand(options) as stand:
            await stand.add_deployments(len(queries))
            async with _database(stand) as trigger:
                say(f"{slow} queries of {seconds:g} s")
                for number, query in enumerate(queries):
                    await stand.add_scaled_object(number, INTERVAL, trigger(query))
                row = await _measure(stand, options)
        yield {"slow": slow, "seconds": seconds, "quick": QUICK, **row}


async def _measure(stand: Stand, options: Options) -> Row:
    await asyncio.sleep(INTERVAL)
    used, failing = cpu_seconds(stand.operator), dict[str, float]()
    for _ in range(round(options.steady / LOOK_SECONDS)):
        await asyncio.sleep(LOOK_SECONDS)
        for live in await stand.client.list(SCALED_OBJECTS, NAMESPACE):
            if not _is_ready(live):
                name = live["metadata"]["name"]
                failing[name] = failing.get(name, 0.0) + LOOK_SECONDS
    minutes = options.steady / 60
    cpu = round((cpu_seconds(stand.operator) - used) / minutes, 2)
    longest = max(failing.values(), default=0.0)
    return {"watched_s": options.steady, "not_ready": len(failing), "longest_s": longest, "cpu_s_per_min": cpu}


@asynccontextmanager
async def _database(stand: Stand) -> AsyncIterator[Callable[[str], Obj]]:
    """A server, and the trigger of a query."""
    with postgres(Authority().leaf("postgres")) as server:
        place = {"host": LOOPBACK, "port": str(server.port), "userName": USER, "dbName": "postgres"}

        def trigger(query: str) -> Obj:
            keys = {**place, "sslmode": "disable", "query": query, "targetQueryValue": "5"}
            return {"type": "postgresql", "metadata": keys, "authenticationRef": {"name": "postgres"}}

        await stand.client.create(SECRETS, secret("postgres", NAMESPACE, password=PASSWORD))
        reference = authentication("postgres", namespace=NAMESPACE, secretTargetRef=[from_key("password", "postgres")])
        await stand.client.create(TRIGGER_AUTHENTICATIONS, reference)
        yield trigger


def _is_ready(live: Obj) -> bool:
    conditions = live.get("status", {}).get("conditions", [])
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)
