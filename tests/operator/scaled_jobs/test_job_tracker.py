"""Counts of Jobs while no watch shows our own writes."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_job import ScaledJob
from keda_py.core.jobs.counts import Tally
from keda_py.core.jobs.spec import build_job_spec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import Invalid, KubeError, Unavailable
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import JOBS, SCALED_JOBS
from keda_py.operator.scaled_jobs.caches import JobCaches
from keda_py.operator.scaled_jobs.job_tracker import ASK_AFTER_SECONDS, AT_ONCE, JobTracker
from keda_py.operator.scaled_jobs.state import ScaledJobState
from tests.builders import scaled_job
from tests.waiting import eventually
from tests.worlds.world import World

WORK = SCALED_JOBS.named("default", "work")
MANIFEST = scaled_job({"type": "redis", "metadata": {}}, namespace="default")


@dataclass
class Books:
    """A ledger whose cache sees nothing until `look`."""

    world: World
    client: KubeClient
    caches: JobCaches
    ledger: JobTracker
    state: ScaledJobState

    async def create(self, count: int, **job: object) -> list[KubeError | None]:
        """Create Jobs and return the refusal of each; `job` is added to their spec."""
        spec = build_job_spec(parse_object(ScaledJob, await self.world.client.get(WORK)))
        return await self.ledger.create(self.state, replace(spec, job={**spec.job, **job}), count)

    def tally(self) -> Tally:
        return self.ledger.tally(self.state, build_job_spec(parse_object(ScaledJob, MANIFEST)))

    async def stored(self) -> set[str]:
        return {job["metadata"]["name"] for job in await self.world.client.list(JOBS, "default")}

    async def look(self) -> None:
        """Let the caches catch up with all that we did."""
        async with asyncio.TaskGroup() as tasks, asyncio.timeout(20):
            running = tasks.create_task(self.caches.run())
            await self.caches.synced()
            await eventually(lambda: not (self.state.expected or self.state.removed), 20)
            running.cancel()


@pytest.fixture
async def books(quiet_world: World) -> AsyncIterator[Books]:
    quiet_world.operator.log_in(quiet_world.operator.cable.url)
    async with KubeClient(quiet_world.clock, str(quiet_world.operator.kubeconfig)) as client:
        caches = JobCaches(client, ())
        ledger = JobTracker(client, caches)
        live = await quiet_world.client.create(SCALED_JOBS, MANIFEST)
        state = ScaledJobState(
            resource=SCALED_JOBS, key=ObjectKey("ScaledJob", "default", "work"), uid=live["metadata"]["uid"]
        )
        caches.jobs.subscribe(lambda old, new: ledger.note(state, new or old or {}, gone=new is None))
        yield Books(quiet_world, client, caches, ledger, state)


async def test_jobs_count_from_the_moment_they_are_created(books: Books) -> None:
    assert await books.create(AT_ONCE + 3) == [None] * (AT_ONCE + 3)
    assert books.tally() == Tally(running=AT_ONCE + 3, pending=AT_ONCE + 3)
    await books.look()
    assert books.tally().running == AT_ONCE + 3


async def test_a_deleted_job_no_longer_counts_although_the_cache_still_shows_it(books: Books) -> None:
    await books.create(2)
    await books.look()
    name = books.ledger.jobs(books.state)[0]["metadata"]["name"]
    await books.ledger.delete(books.state, name)
    assert books.tally().running == 1
    await books.look()
    assert books.tally().running == 1
    assert len(books.caches.jobs) == 1


async def test_a_job_that_nobody_ever_sees_is_asked_for_and_then_forgotten(books: Books) -> None:
    await books.create(2)
    gone, kept = sorted(books.state.expected)
    await books.world.client.delete(JOBS.named("default", gone))
    await books.ledger.settle(books.state)
    assert books.tally().running == 2
    await books.world.seconds(ASK_AFTER_SECONDS)
    await books.ledger.settle(books.state)
    assert set(books.state.expected) == {kept}


async def test_a_creation_without_an_answer_counts_until_it_is_known_not_to_have_happened(books: Books) -> None:
    books.world.operator.cut()
    assert [type(error) for error in await books.create(1)] == [Unavailable]
    assert books.tally().running == 1
    with pytest.raises(Unavailable):
        await books.ledger.settle(books.state)
    assert books.tally().running == 1
    books.world.operator.cable.plug()
    await books.ledger.settle(books.state)
    assert books.tally().running == 0
    assert await books.stored() == set()


async def test_a_refused_job_does_not_count_and_the_rest_is_not_tried(books: Books) -> None:
    tried = await books.create(3 * AT_ONCE, parallelism=-1)
    assert [type(error) for error in tried] == [Invalid] * AT_ONCE
    assert books.tally().running == 0
