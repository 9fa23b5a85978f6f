"""Every recorded ScaledObject becomes here what it became there: all cases in one cluster, 45 virtual seconds."""

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parity.comparison import differences
from tests.parity.recordings import NAMES, REDIS, Picture, furnish, load, picture, play
from tests.parity.world import a_world

CANNOT_MATCH = {
    # The same amount, written as the recordings of other fractions have it (prom-frac: 250m).
    "api-frac": ["hpa[0].spec.metrics[0].external.target.averageValue: '2.500' != '2500m'"],
}
"""All that differs, to the letter; the README lists it, too."""

SECONDS = 45.0
AT_ONCE = 8


@pytest.fixture(scope="session")
def redis() -> Iterator[None]:
    """The Redis without keys whose address the cases name."""
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.skip("redis-server is not installed (apt: redis-server)")
    host, _, port = REDIS.partition(":")
    if _listens(host, int(port)):
        pytest.skip(f"{REDIS} is taken; the recorded cases name that address")
    process = subprocess.Popen([binary, "--bind", host, "--port", port, "--save", "", "--loglevel", "warning"])
    try:
        _wait_until_it_listens(host, int(port))
        yield
    finally:
        process.terminate()
        process.wait(10)


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
        await world.create_namespace("keda")
        await asyncio.gather(*(furnish(world, name) for name in cases))
        await world.seconds(2)
        async with world.operator():
            refusals = {name: await play(world, case, name) for name, case in cases.items()}
            await world.seconds(SECONDS)
            return {name: picture(world, case, name, refusals[name]) for name, case in cases.items()}


def _listens(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


def _wait_until_it_listens(host: str, port: int) -> None:
    deadline = time.monotonic() + 10
    while not _listens(host, port):
        assert time.monotonic() < deadline, f"redis-server does not listen on {host}:{port}"
        time.sleep(0.02)
