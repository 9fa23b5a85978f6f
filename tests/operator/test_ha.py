"""Several replicas: every one serves, one writes, and the others ask it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.manifests import deployment, metrics_api, scaled_object
from tests.http_server import HttpServer
from tests.operator.replicas import INSIGHT, Replicas, build_replicas

METRIC = "s0-metric-api-value"


@pytest.fixture
async def replicas(tmp_path: Path, server: HttpServer) -> AsyncIterator[Replicas]:
    async with build_replicas(tmp_path, server) as replicas:
        yield replicas


async def cached(replicas: Replicas) -> None:
    """An object whose HPA is told what the last poll found, an hour ago at most."""
    trigger = metrics_api(f"{replicas.source.url}/jobs") | {"useCachedMetrics": True}
    await replicas.create(deployment(), scaled_object(trigger, pollingInterval=3600))
    await replicas.active()


async def test_a_replica_that_does_not_lead_answers_what_the_holder_knows(replicas: Replicas) -> None:
    replicas.jobs(7)
    leader = await replicas.start("one")
    await replicas.held_by("one")
    follower = await replicas.start("two")
    await cached(replicas)
    replicas.jobs(9)
    assert await leader.value(METRIC) == "7"
    assert await follower.value(METRIC) == "7"
    status, told = await follower.get(INSIGHT)
    assert (status, told["last"]["triggers"][0]["value"]) == (200, 7.0)


async def test_while_nobody_can_be_asked_a_replica_reads_by_itself(replicas: Replicas) -> None:
    replicas.jobs(7)
    leader = await replicas.start("one")
    await replicas.held_by("one")
    follower = await replicas.start("two")
    await cached(replicas)
    replicas.jobs(9)
    await replicas.kill(leader)
    assert await replicas.holder() == "one"
    assert await follower.value(METRIC) == "9"
