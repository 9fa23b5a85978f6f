"""An Environment with `gitops.flux: DisableReconcile` sleeps under a Kustomization whose manifests have counts."""

from typing import Any

from keda_py.environments.release import find, release_all
from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS, Obj
from tests.builders import deployment, environment
from tests.operator.environments.builders import LUNCH, condition, until
from tests.operator.environments.killing import Kills
from tests.operator.gitops.flux import RECONCILE, applied, reconciling
from tests.worlds.world import World

GIT = {"web": 3, "api": 2}
PEACE = {"flux": "DisableReconcile"}
MARK = "keda-py.dev/flux-disabled"
WEEK: dict[str, Any] = {"timeZone": "UTC", "hours": [{"days": "Mon-Fri", "from": "08:00", "to": "18:00"}]}


async def populate(world: World, calendar: Obj, gitops: Obj | None = PEACE) -> None:
    await world.create(*(applied(name, count) for name, count in GIT.items()))
    extra: dict[str, Any] = {"gitops": gitops} if gitops else {}
    await world.create(environment(calendar=calendar, **extra))


def annotations(world: World, name: str = "web") -> dict[str, str]:
    found: dict[str, str] = world.get(DEPLOYMENTS, name)["metadata"].get("annotations") or {}
    return {key: value for key, value in found.items() if "flux" in key}


def counts(world: World) -> dict[str, int]:
    return {name: world.replicas(name) for name in GIT}


async def test_flux_makes_an_environment_give_in_where_nothing_is_said(world: World) -> None:
    await populate(world, WEEK, gitops=None)
    async with reconciling(world, GIT) as flux:
        await until(world, 20, "19:00")
    assert counts(world) == GIT
    assert condition(world, "Contested")[0] == "True"
    assert len(flux.put_backs) >= 2


async def test_a_week_of_intervals_puts_no_count_back(world: World) -> None:
    await populate(world, WEEK)
    async with reconciling(world, GIT) as flux:
        for day in range(20, 27):
            await until(world, day, "17:59")
            assert counts(world) == (dict.fromkeys(GIT, 0) if day in (21, 22) else GIT)
            await until(world, day, "18:10")
            await flux.sync()  # a commit in the evening
            await until(world, day, "23:00")
            assert counts(world) == dict.fromkeys(GIT, 0)
            assert annotations(world) == {MARK: RECONCILE, RECONCILE: "disabled"}
        await until(world, 27, "09:00")
        assert counts(world) == GIT
        assert flux.put_backs == []
    assert (annotations(world), annotations(world, "api")) == ({}, {})


async def test_an_annotation_of_a_user_stays(world: World) -> None:
    await populate(world, LUNCH)
    await world.patch(DEPLOYMENTS, {"metadata": {"annotations": {RECONCILE: "disabled"}}}, "web")
    for clock in ("12:06", "12:14"):
        await until(world, 20, clock)
        assert annotations(world) == {RECONCILE: "disabled"}
    assert counts(world) == GIT


async def test_an_object_that_flux_does_not_apply_gets_no_annotation(world: World) -> None:
    await world.create(deployment("web", 3), environment(calendar=LUNCH, gitops=PEACE))
    await until(world, 20, "12:06")
    assert (world.replicas("web"), annotations(world)) == (0, {})


async def test_the_annotations_go_with_the_environment_its_switch_or_the_operator(world: World) -> None:
    await populate(world, LUNCH)
    await until(world, 20, "12:06")
    await world.patch(ENVIRONMENTS, {"spec": {"gitops": None}}, "dev")
    await world.seconds(5)
    assert (annotations(world), counts(world)) == ({}, dict.fromkeys(GIT, 0))
    await world.patch(ENVIRONMENTS, {"spec": {"gitops": PEACE}}, "dev")
    await world.seconds(5)
    assert annotations(world) == {MARK: RECONCILE, RECONCILE: "disabled"}
    await world.operator.stop()
    await release_all(world.client, await find(world.client, "default", "dev"))
    assert (annotations(world), counts(world)) == ({}, GIT)


async def test_the_annotations_go_with_a_deleted_environment(world: World) -> None:
    await populate(world, LUNCH)
    await until(world, 20, "12:06")
    await world.delete(ENVIRONMENTS, "dev")
    await world.seconds(60)
    assert world.find(ENVIRONMENTS, "dev") is None
    assert (annotations(world), annotations(world, "api"), counts(world)) == ({}, {}, GIT)


async def open_shop(world: World) -> None:
    await populate(world, LUNCH)
    await until(world, 20, "12:03")


async def test_killed_at_any_write_the_next_process_takes_exactly_its_own_off(kills: Kills) -> None:
    async def noon(world: World) -> None:
        async with reconciling(world, GIT) as flux:
            await until(world, 20, "12:12")
            assert flux.put_backs == []

    async def given_back(world: World) -> None:
        await until(world, 20, "12:20")
        assert counts(world) == GIT
        assert (annotations(world), annotations(world, "api")) == ({}, {})

    assert await kills(open_shop, noon, given_back) > 4
