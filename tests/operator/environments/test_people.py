"""What the commands ask for, an operator does; and what `release` gives back, it leaves alone."""

from typing import Any

from keda_py.core.environment.overrides import OverrideState
from keda_py.environments.asking import read_environment
from keda_py.environments.overriding import Wish, request
from keda_py.environments.release import find, release_all
from keda_py.environments.words import ruled_by
from keda_py.kube.resources import ENVIRONMENTS, OVERRIDES
from keda_py.terminal.times import Times
from tests.builders import deployment
from tests.operator.environments.builders import cron_job, environment, is_suspended, until
from tests.operator.world import World


async def ask(world: World, state: OverrideState, **wish: Any) -> list[str]:
    times = Times(now=world.clock.now())
    sentences, _ = await request(world.client, "default", Wish(state=state, **wish), times)
    return sentences


async def test_an_evening_is_kept_up_by_a_user_put_to_sleep_again_and_given_back_by_hand(world: World) -> None:
    await world.create(deployment("web", 2), cron_job(), environment())
    await until(world, 20, "17:30")
    told = await ask(world, OverrideState.AWAKE, until="22:00", reason="release night")
    assert told[:2] == [
        "dev stays awake until 22:00 UTC, for 4 h 30 min from now",
        "without this Override it sleeps at 18:00 UTC, in 30 min",
    ]
    await until(world, 20, "21:59")
    assert world.replicas("web") == 2
    (made,) = world.all(OVERRIDES, "default")
    assert made["status"]["phase"] == "Active"
    await until(world, 20, "22:05")
    assert world.replicas("web") == 0
    rules = ruled_by(read_environment(world.get(ENVIRONMENTS, "dev")), Times(now=world.clock.now()))
    assert rules == "asleep by environment dev until Mon 23 Nov 08:00 UTC (its own hours)"
    done = await release_all(world.client, await find(world.client, "default", "dev"))
    assert [one.told for one in done] == ["runs again", "0 -> 2"]
    await until(world, 22, "12:00")
    assert (world.replicas("web"), is_suspended(world)) == (2, False)
    await until(world, 23, "18:05")
    assert (world.replicas("web"), is_suspended(world)) == (0, True)
