"""What sleeping saves is told in the status, survives a restart, and costs no write of its own."""

from keda_py.kube.resources import SCALED_OBJECTS, Obj
from tests.builders import cron, deployment, scaled_object
from tests.operator.world import World

OPEN, AGAIN = cron("0 12 * * *", "30 12 * * *", 2), cron("10 14 * * *", "20 14 * * *", 2)
MINUTE = 60


def savings(world: World) -> Obj:
    return dict(world.status()["kedaPySavings"])


async def test_a_nap_is_accounted_without_a_write_and_over_a_restart(world: World) -> None:
    trigger = scaled_object(OPEN, AGAIN, cooldownPeriod=0, pollingInterval=600, minReplicaCount=3, idleReplicaCount=0)
    await world.create(deployment(replicas=0), trigger)
    await world.seconds(45 * MINUTE)
    assert world.replicas() == 0
    slept = savings(world)
    assert (slept["replicas"], slept["instead"]) == (0, 3)
    writes = world.writes_of(SCALED_OBJECTS)
    await world.seconds(45 * MINUTE)
    assert writes == []
    await world.stop()
    await world.seconds(20 * MINUTE)
    await world.start()
    await world.seconds(21 * MINUTE)
    assert world.replicas() == 3
    month = savings(world)["month"]
    assert month["name"] == "2026-11"
    assert abs(month["asleepSeconds"] - 100 * MINUTE) <= 5
    assert month["savedSeconds"] == 3 * month["asleepSeconds"]
    assert 0 <= month["replicaSeconds"] - 3 * 30 * MINUTE <= 3 * MINUTE  # and the first of the second window
    page = await world.client.get(SCALED_OBJECTS.named("default", "app"))
    assert page["status"]["kedaPySavings"]["totalSavedSeconds"] == month["savedSeconds"]


async def test_a_pause_at_zero_is_sleep(world: World) -> None:
    await world.create(deployment(replicas=0), scaled_object(OPEN, pollingInterval=600, cooldownPeriod=0))
    await world.seconds(10 * MINUTE)
    paused = {"metadata": {"annotations": {"autoscaling.keda.sh/paused-replicas": "0"}}}
    path = SCALED_OBJECTS.named("default", "app")
    await world.client.patch(path, paused)
    await world.seconds(5 * MINUTE)
    assert (savings(world)["replicas"], world.replicas()) == (0, 0)
    await world.client.patch(path, {"metadata": {"annotations": {"autoscaling.keda.sh/paused-replicas": None}}})
    await world.seconds(5)
    assert abs(savings(world)["month"]["asleepSeconds"] - 5 * MINUTE) <= 5
