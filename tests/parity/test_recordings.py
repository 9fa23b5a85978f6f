"""Every recorded ScaledObject becomes here what it became there: all cases in one cluster, 45 virtual seconds."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import a_namespace
from tests.parity.comparison import differences
from tests.parity.recordings import NAMES, RECORDED_REDIS, Picture, addresses, furnish, load, picture, play
from tests.parity.world import a_world, guarded_operator
from tests.servers import redis_command, running

CANNOT_MATCH = {
    # The same amount, written as the recordings of other fractions have it (prom-frac: 250m).
    "api-frac": ["hpa[0].spec.metrics[0].external.target.averageValue: '2.500' != '2500m'"],
}
"""All that differs, to the letter; COMPATIBILITY.md lists it, too."""

SECONDS = 45.0
AT_ONCE = 8


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The Redis without keys whose address the cases name."""
    folder, port = tmp_path_factory.mktemp("redis"), int(addresses()[RECORDED_REDIS].rpartition(":")[2])
    with running(redis_command(port, folder), port, folder / "log"):
        yield


@pytest.fixture(scope="session")
def cases() -> dict[str, Picture]:
    return {name: load(name) for name in NAMES}


@pytest.fixture(scope="session")
def ours(redis: None, cases: dict[str, Picture], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Picture]:
    """What all cases became, played once."""
    return asyncio.run(_play_all(cases, tmp_path_factory.mktemp("parity")))


@pytest.mark.parametrize("name", NAMES)
def test_a_scaled_object_becomes_what_it_became_under_keda(
    name: str, cases: dict[str, Picture], ours: dict[str, Picture]
) -> None:
    found = differences(cases[name], ours[name])
    if found != CANNOT_MATCH.get(name, []):
        pytest.fail("\n".join([f"{name}: recorded != ours", *found]), pytrace=False)


async def _play_all(cases: dict[str, Picture], directory: Path) -> dict[str, Picture]:
    async with a_world(directory) as world:
        await world.create(a_namespace("keda"))
        await asyncio.gather(*(furnish(world, name) for name in cases))
        await world.seconds(2)
        async with guarded_operator(world):
            refusals = {name: await play(world, case, name) for name, case in cases.items()}
            await world.seconds(SECONDS)
            return {name: picture(world, case, name, refusals[name]) for name, case in cases.items()}
