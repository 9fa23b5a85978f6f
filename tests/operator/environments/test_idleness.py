"""An Environment with `idleAfter` sleeps when it is not used, and a rollout or an Override wakes it."""

from typing import Any

from keda_py.kube.resources import DEPLOYMENTS
from tests.builders import deployment, environment, metrics_api, override, scaled_object
from tests.operator.environments.builders import condition, status, until
from tests.worlds.world import World

ALWAYS: dict[str, Any] = {"timeZone": "UTC", "hours": [{"from": "00:00", "to": "24:00"}]}


async def test_a_preview_sleeps_when_idle_and_a_new_commit_wakes_it(world: World) -> None:
    await world.create(deployment("web", 2), environment(calendar=ALWAYS, idleAfter="2h"))
    await until(world, 20, "13:50")
    assert world.replicas("web") == 2
    await until(world, 20, "14:05")
    assert (world.replicas("web"), status(world)["phase"]) == (0, "Asleep")
    assert condition(world, "Asleep") == ("True", "Idle")
    container = world.get(DEPLOYMENTS, "web")["spec"]["template"]["spec"]["containers"][0]
    change = {"spec": {"template": {"spec": {"containers": [{**container, "image": "web:2"}]}}}}
    await world.patch(DEPLOYMENTS, change, "web")
    await until(world, 20, "14:10")
    assert (world.replicas("web"), status(world)["phase"]) == (2, "Awake")
    await until(world, 20, "16:20")
    assert world.replicas("web") == 0


async def test_an_override_wakes_it_and_the_time_runs_from_its_end(world: World) -> None:
    await world.create(deployment("web", 2), environment(calendar=ALWAYS, idleAfter="2h"))
    await until(world, 20, "14:05")
    await world.create(override(state="Awake", target={"kind": "Environment", "name": "dev"}, **{"for": "1h"}))
    await until(world, 20, "14:30")
    assert world.replicas("web") == 2
    await until(world, 20, "16:55")
    assert world.replicas("web") == 2
    await until(world, 20, "17:15")
    assert world.replicas("web") == 0


async def test_a_new_operator_goes_on_counting(world: World) -> None:
    await world.create(deployment("web", 2), environment(calendar=ALWAYS, idleAfter="2h"))
    await until(world, 20, "13:00")
    await world.operator.stop()
    await world.operator.start()
    await until(world, 20, "14:05")
    assert world.replicas("web") == 0


async def test_work_wakes_an_idle_environment_and_its_absence_does_not(world: World) -> None:
    app = scaled_object(metrics_api(world.url), pollingInterval=10)
    await world.create(deployment("app"), app, deployment("web", 1))
    await world.create(environment(calendar=ALWAYS, idleAfter="5m"))
    await until(world, 20, "12:08")
    assert (world.replicas("web"), status(world)["phase"]) == (0, "Asleep")
    await until(world, 20, "12:20")
    assert (world.replicas("web"), condition(world, "Asleep")) == (0, ("True", "Idle"))
    world.jobs(10)
    await until(world, 20, "12:23")
    assert (world.replicas("web"), status(world)["phase"]) == (1, "Awake")
    assert world.replicas("app") > 0
    await until(world, 20, "12:32")
    assert world.replicas("web") == 1
