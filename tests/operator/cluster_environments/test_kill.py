"""Killed at any write, the next process finishes what the last one began, and no count of any namespace is lost."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from keda_py.kube.resources import CLUSTER_ENVIRONMENTS, ENVIRONMENTS
from tests.http_server import HttpServer
from tests.operator.cluster_environments.builders import (
    TEMPLATE,
    conditions,
    counts,
    of_namespace,
    own_environment,
    policy,
    populate,
    relabel,
    switch_on,
)
from tests.operator.environments.builders import until
from tests.operator.environments.killing import Kills
from tests.worlds.world import World

NAMES = ("shop", "blog", "bank")


@pytest.fixture
async def kills(tmp_path: Path, server: HttpServer) -> AsyncIterator[Kills]:
    async with asyncio.TaskGroup() as tasks:
        yield Kills(tmp_path, server, tasks)


async def before(world: World) -> None:
    await switch_on(world)
    await populate(world, *NAMES)


async def asleep(world: World) -> None:
    await before(world)
    await world.create(policy())
    await until(world, 20, "12:06")


def replicas(world: World) -> list[int]:
    return [world.replicas("web", namespace=name) for name in NAMES]


async def test_while_namespaces_are_covered_and_fall_asleep(kills: Kills) -> None:
    async def cover(world: World) -> None:
        await world.create(policy())
        await until(world, 20, "12:06")

    async def covered(world: World) -> None:
        await world.seconds(60)
        assert counts(world) == {"covered": 3, "asleep": 3}
        assert replicas(world) == [0, 0, 0]
        await until(world, 20, "12:12")
        assert replicas(world) == [3, 3, 3]
        assert conditions(world)["Healthy"] == "True"

    assert await kills(before, cover, covered) > 6


async def test_while_one_namespace_leaves_one_is_edited_and_one_gets_its_own(kills: Kills) -> None:
    async def change(world: World) -> None:
        await relabel(world, "shop", sleeps=None)
        await world.patch(ENVIRONMENTS, {"spec": {"grace": "9h"}}, "office", "blog")
        await world.create(own_environment("bank"))
        await world.seconds(30)

    async def changed(world: World) -> None:
        await world.seconds(60)
        assert [of_namespace(world, name) is None for name in NAMES] == [True, False, True]
        assert world.get(ENVIRONMENTS, "office", "blog")["spec"] == TEMPLATE
        assert (counts(world), replicas(world)) == ({"covered": 1, "asleep": 1, "own": 1}, [3, 0, 0])
        await until(world, 20, "12:13")
        assert replicas(world) == [3, 3, 3]

    assert await kills(asleep, change, changed) > 4


async def test_while_all_counts_are_given_back_at_the_end(kills: Kills) -> None:
    async def end(world: World) -> None:
        await world.delete(CLUSTER_ENVIRONMENTS, "office")
        await world.seconds(30)

    async def ended(world: World) -> None:
        await world.seconds(60)
        assert replicas(world) == [3, 3, 3]
        assert [of_namespace(world, name) for name in NAMES] == [None] * 3

    assert await kills(asleep, end, ended) > 6
