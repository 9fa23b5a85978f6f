"""What the sleep of workloads without a ScaledObject saves, as the Environment's status keeps it."""

from datetime import timedelta
from typing import Any

from keda_py.core.savings.statement import Prices, StatementPeriod
from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS
from keda_py.savings.pages import ClusterAccounts, document
from keda_py.savings.reading import indexed, read_accounts
from tests.builders import cron_job, deployment, environment
from tests.operator.environments.builders import status, until
from tests.worlds.world import World


def savings(world: World) -> dict[str, Any]:
    """Each object's hours asleep, and replica hours used and saved, as `keda-py savings` tells them now."""
    now = world.clock.now()
    workloads = indexed(world.all(DEPLOYMENTS), "Deployment")
    accounts = read_accounts([], workloads, world.all(ENVIRONMENTS), now)
    period = StatementPeriod(month=f"{now:%Y-%m}", until=now)
    told = document(ClusterAccounts(accounts=accounts), period, Prices())["objects"]
    return {one["name"]: tuple(round(one[f"{name}Hours{rest}"], 1) for name, rest in SUMS) for one in told}


SUMS = (("asleep", ""), ("replica", "Used"), ("replica", "Saved"))


async def test_a_night_is_saved_with_the_count_that_comes_back(world: World) -> None:
    await world.create(deployment("web", 3), deployment("off", 0), cron_job(), environment())
    await until(world, 20, "18:30")
    assert savings(world)["web"] == (0.5, 18.0, 1.5), "six hours up, since it was seen first at noon"
    await until(world, 23, "08:30")
    assert savings(world)["web"] == (62.0, 19.5, 186.0)
    assert savings(world)["off"][2] == 0, "what its owner has at 0 saves nothing here"
    assert set(status(world)["savings"]) == {"Deployment/web", "Deployment/off"}, "a CronJob has no replicas"


async def test_nothing_is_written_for_it_while_nothing_sleeps_or_wakes(world: World) -> None:
    await world.create(deployment("web", 3), environment())
    await until(world, 20, "18:05")
    written = world.writes_of(ENVIRONMENTS, "dev")
    await until(world, 20, "23:55")
    assert written == []


async def test_it_goes_on_after_a_restart_and_what_happened_meanwhile_is_not_known(world: World) -> None:
    await world.create(deployment("web", 3), environment())
    await until(world, 20, "19:00")
    await world.operator.stop()
    await until(world, 20, "21:00")
    await world.operator.start()
    await until(world, 20, "22:00")
    assert savings(world)["web"] == (4.0, 18.0, 12.0), "it slept before and after, and so in between"
    await world.operator.stop()
    await world.patch(DEPLOYMENTS, {"spec": {"replicas": 1}}, "web")
    await world.seconds(timedelta(hours=4).total_seconds())
    await world.operator.start()
    await until(world, 21, "03:00")
    assert savings(world)["web"][2] <= 12.0 + 3.3, "for four hours nobody saw whether it slept"


async def test_an_account_that_another_client_has_edited_begins_anew(world: World) -> None:
    await world.create(deployment("web", 3), environment())
    await until(world, 20, "19:00")
    edited = {"status": {"savings": {"Deployment/web": {"replicas": -5}}}}
    await world.client.patch(ENVIRONMENTS.named("default", "dev", "status"), edited)
    await until(world, 23, "08:30")
    assert savings(world)["web"][2] <= 186.0
    assert (status(world)["phase"], world.replicas("web")) == ("Awake", 3)
