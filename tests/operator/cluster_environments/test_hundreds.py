"""Five hundred namespaces under one ClusterEnvironment: requests of the operator grow with them, and nothing faster."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from keda_py.core.environment.namespaces.report import state_of
from tests.faults.faulty import FaultyApi, serve_faulty
from tests.operator.cluster_environments.builders import counts, named, policy
from tests.operator.scaled_objects.test_growth import FEW as ADDED
from tests.operator.scaled_objects.test_growth import grown, noted
from tests.worlds.world import World

FEW, MANY = 20, 500
SUMMING_UP = {"core/environment/namespaces/report.py", "apis/foreign.py"}
"""The policy's status sums up all of its namespaces: once for all changes of a moment, not once for each."""
REPORTS = 3
STATUS_WRITES = 10
"""Of the policy, which sums up what happened in the meantime: some, however many namespaces there are."""


@contextmanager
def requests(api: FaultyApi) -> Iterator[Counter[str]]:
    """Count the operator's requests by method until the block ends; watches are none."""
    before, found = Counter(api.asked), Counter[str]()
    yield found
    found.update(api.asked - before)
    del found["WATCH"]


async def cover(world: World, first: int, end: int) -> None:
    """Create namespaces with these numbers, and wait until the policy covers them."""
    await world.cluster.apply([named(f"team-{number}") for number in range(first, end)])
    await world.seconds(10)
    assert counts(world)["covered"] == end


async def test_each_namespace_costs_the_same_few_requests_and_no_read(quiet_world: World) -> None:
    world = quiet_world
    async with serve_faulty(world.cluster) as (api, url):
        world.operator.api_server = url
        async with world.operator.running(cluster_environments="true"):
            await world.create(policy())
            await cover(world, 0, FEW)
            with noted() as few:
                await cover(world, FEW, FEW + ADDED)
            more = MANY - FEW - 2 * ADDED
            with requests(api) as asked:
                await cover(world, FEW + ADDED, MANY - ADDED)
            assert asked.pop("POST") == 2 * more  # an Environment, and its Event
            assert (
                0 < asked.pop("PATCH") - 2 * more <= STATUS_WRITES
            )  # its finalizer and first status, and the policy's
            assert asked == {}
            with noted() as many:
                await cover(world, MANY - ADDED, MANY)
            assert {code.co_filename.rpartition("keda_py/")[2] for code in grown(few, many)} <= SUMMING_UP
            assert many[state_of.__code__] <= REPORTS * MANY
