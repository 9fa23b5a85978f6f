"""`keda_py_asleep`, by which alerts about a namespace are inhibited: from falling asleep until all members are ready."""

from keda_py.kube.resources import ENVIRONMENTS
from tests.builders import environment
from tests.operator.environments.builders import LUNCH, labelled, starting, status, until
from tests.worlds.world import World


def quiet(world: World, namespace: str = "default") -> float | None:
    assert world.operator.assembly is not None
    registry = world.operator.assembly.parts.shared.instruments.registry
    return registry.get_sample_value("keda_py_asleep", {"namespace": namespace})


async def test_a_namespace_is_quiet_from_when_it_falls_asleep_until_it_is_ready(world: World) -> None:
    await world.create(starting("web", 3, 40), environment(calendar=LUNCH))
    await until(world, 20, "12:03")
    assert quiet(world) == 0
    await until(world, 20, "12:06")
    assert (quiet(world), status(world)["phase"]) == (1, "Asleep")
    await until(world, 20, "12:10")
    await world.seconds(30)
    assert (world.replicas("web"), quiet(world), status(world)["phase"]) == (3, 1, "Waking")
    await world.seconds(30)
    assert (quiet(world), status(world)["ready"]) == (0, "1/1")
    await world.delete(ENVIRONMENTS, "dev")
    await world.seconds(10)
    assert quiet(world) is None


async def test_it_is_not_quiet_while_one_of_its_environments_is_awake(world: World) -> None:
    always = {"timeZone": "UTC", "hours": [{"from": "00:00", "to": "24:00"}]}
    await world.create(labelled(starting("web", 1, 1), tier="web"), labelled(starting("db", 1, 1), tier="db"))
    await world.create(environment("day", calendar=LUNCH, selector={"matchLabels": {"tier": "web"}}))
    await world.create(environment("always", calendar=always, selector={"matchLabels": {"tier": "db"}}))
    await until(world, 20, "12:06")
    assert (world.replicas("web"), quiet(world)) == (0, 0)
    await world.delete(ENVIRONMENTS, "always")
    await world.seconds(10)
    assert quiet(world) == 1


async def test_a_wake_that_does_not_get_ready_in_time_is_no_longer_quiet(world: World) -> None:
    waves = [{"name": "all", "selector": {}, "timeout": "1m"}]
    await world.create(starting("web", 1, 3600), environment(calendar=LUNCH, waves=waves))
    await until(world, 20, "12:06")
    assert quiet(world) == 1
    await until(world, 20, "12:17")
    assert (quiet(world), status(world)["ready"]) == (0, "0/1")
