"""Polls of a server that refuses or cuts, again and again, by each client library: nothing becomes more."""

import asyncio
import gc
import os
from collections import Counter
from collections.abc import Mapping

import pytest

from tests.scalers.contract.bad_servers import bad_server, close_at_once, closed_port
from tests.scalers.contract.polls import Address, lending, poll
from tests.scalers.contract.samples import samples
from tests.scalers.recorded.stage import Papers
from tests.sweeps import size
from tests.waiting import eventually

SAMPLES = samples()
TIMEOUT = 0.3
AT_ONCE = 20
CLOSED_WITHIN = 30.0
POLLS: Mapping[str, int] = {
    "prometheus": 1000,
    "redis": 400,
    "redis-cluster": 400,
    "postgresql": 1000,
    "mysql": 1000,
    "cassandra": 1000,
    "clickhouse": 1000,
    "mongodb": 100,
    "kafka": 1000,
    "rabbitmq by AMQP": 1000,
    "beanstalkd": 1000,
    "etcd": 1000,
    "external": 200,
    "aws-sqs-queue": 60,
    "azure-eventhub": 200,
}
"""By sample, one of each client library; fewer where building a client, or its own wait, is slow.

What stays of each poll shows after some dozens as well; the rest is for what stays of one in a hundred.
"""
SOME_DOZENS = 60


@pytest.mark.parametrize("name", POLLS)
async def test_polls_of_a_server_that_refuses_or_cuts_leave_nothing(name: str, papers: Papers) -> None:
    sample = SAMPLES[name]
    at = (f"127.77.{os.getpid() % 250}.1", sample.port)
    tls = papers.of_host(at[0]) if sample.is_secured else None
    async with (
        closed_port() as closed,
        bad_server(close_at_once, sample.greeting, tls, at=at) as cutting,
        lending(papers, TIMEOUT) as lent,
    ):
        refusing = Address(ip="127.0.0.1", port=closed.port)
        places = (refusing, Address(ip=at[0], port=cutting.port))

        async def ask(count: int) -> Counter[str]:
            for number in range(0, count, AT_ONCE):
                place = places[number // AT_ONCE % 2]
                for outcome in await asyncio.gather(*(poll(sample, place, lent, papers) for _ in range(AT_ONCE))):
                    assert outcome.error
            await eventually(lambda: not cutting.open_now)
            gc.collect()
            return _ours()

        objects, tasks, descriptors = await ask(2 * AT_ONCE), len(asyncio.all_tasks()), _descriptors()
        assert await ask(size(POLLS[name], SOME_DOZENS)) - objects == Counter()
        await eventually(lambda: len(asyncio.all_tasks()) <= tasks and _descriptors() <= descriptors, CLOSED_WITHIN)


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _ours() -> Counter[str]:
    """Count this project's objects by type."""
    kinds = (type(one) for one in gc.get_objects())
    return Counter(kind.__qualname__ for kind in kinds if str(kind.__module__).startswith(("keda_py.", "scalers.")))
