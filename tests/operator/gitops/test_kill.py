"""Killed at any write, the next process takes exactly its own lines back, and no count was put back meanwhile."""

from keda_py.kube.resources import APPLICATIONS
from tests.operator.environments.builders import LUNCH, status, until
from tests.operator.environments.killing import Kills
from tests.operator.gitops.argo import application, healing
from tests.operator.gitops.test_truces import GIT, PEACE, counts, populate, spec_of_application
from tests.worlds.world import World

OWN = {"group": "", "kind": "Secret", "jsonPointers": ["/data"]}
BEFORE = application(GIT, ignoreDifferences=[OWN])["spec"]


async def open_shop(world: World) -> None:
    await populate(world, gitops=PEACE, calendar=LUNCH, ignoreDifferences=[OWN])
    await until(world, 20, "12:03")


async def given_back(world: World) -> None:
    async with healing(world, GIT) as argo:
        await until(world, 20, "12:16")
        assert argo.put_backs == []
    assert counts(world) == GIT
    assert spec_of_application(world) == BEFORE
    assert "truces" not in status(world)


async def test_while_it_falls_asleep(kills: Kills) -> None:
    async def falling(world: World) -> None:
        async with healing(world, GIT) as argo:
            await until(world, 20, "12:06")
            assert argo.put_backs == []

    async def asleep_and_up_afterwards(world: World) -> None:
        async with healing(world, GIT) as argo:
            await until(world, 20, "12:09")
            assert argo.put_backs == []
        assert counts(world) == dict.fromkeys(GIT, 0)
        assert len(world.get(APPLICATIONS, "shop")["spec"]["ignoreDifferences"]) == 3
        await given_back(world)

    assert await kills(open_shop, falling, asleep_and_up_afterwards) > 4


async def test_while_it_wakes(kills: Kills) -> None:
    async def asleep(world: World) -> None:
        await open_shop(world)
        await until(world, 20, "12:09")

    async def waking(world: World) -> None:
        async with healing(world, GIT) as argo:
            await until(world, 20, "12:12")
            assert argo.put_backs == []

    assert await kills(asleep, waking, given_back) > 4
