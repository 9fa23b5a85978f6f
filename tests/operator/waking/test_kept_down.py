"""A workload that an Override of its own keeps at 0: no request ends that, and its owner's status says so."""

from keda_py.kube.resources import OVERRIDES, Obj
from tests.builders import deployment, environment, override
from tests.operator.environments.builders import LUNCH, condition, status, until
from tests.operator.waking.stand_in import our_slices, service, two_wakers
from tests.operator.waking.test_environments import writes
from tests.operator.waking.test_requests import post
from tests.operator.waking.test_scaled_objects import on_request
from tests.worlds.world import World

TARGET = {"kind": "Deployment", "name": "web"}


def led(world: World) -> list[str]:
    return sorted(one["metadata"]["labels"]["kubernetes.io/service-name"] for one in our_slices(world))


async def two_workloads(world: World, *more: Obj) -> None:
    await world.create(deployment("web", 1), service(), deployment("api", 1), service("api", "127.96.0.11"), *more)
    await world.create(environment(calendar=LUNCH, wakeOnRequest={}))


async def test_the_service_of_a_member_with_an_override_asleep_leads_to_no_waker_and_the_status_says_why(
    world: World,
) -> None:
    async with two_wakers(world):
        await two_workloads(world, override(state="Asleep", target=TARGET, reason="debugging"))
        await until(world, 20, "12:06")
        assert (world.replicas("web"), world.replicas("api"), led(world)) == (0, 0, ["api"])
        found = status(world)["wakeOnRequest"]
        assert found["services"] == ["api"]
        (told,) = found["notWoken"]
        assert (told["service"], told["reason"]) == ("web", "KeptDown")
        assert told["because"] == (
            "Override evening (Asleep): debugging keeps Deployment/web at 0, "
            "and requests end no Override of a workload; delete it, or wait for its end"
        )
        assert condition(world, "WakesOnRequest") == ("True", "SomeAreNot")


async def test_a_request_for_another_member_wakes_the_environment_without_that_one(world: World) -> None:
    async with two_wakers(world):
        await two_workloads(world, override(state="Asleep", target=TARGET))
        await until(world, 20, "12:06")
        assert await post(world) == 404
        assert await post(world, {"namespace": "default", "service": "api"}) == 202
        await world.seconds(60)
        assert (world.replicas("web"), world.replicas("api"), led(world)) == (0, 1, [])
        assert status(world)["wakeOnRequest"]["notWoken"][0]["reason"] == "KeptDown"


async def test_once_the_override_is_deleted_requests_for_the_member_wake_the_environment_again(world: World) -> None:
    async with two_wakers(world):
        await two_workloads(world, override(replicas=0, target=TARGET))
        await until(world, 20, "12:06")
        assert led(world) == ["api"]
        told = writes(world)
        await world.delete(OVERRIDES, "evening")
        await world.seconds(10)
        assert (led(world), world.replicas("web")) == (["api", "web"], 0)
        assert told == ["slice 0", "slice 2"]
        assert await post(world) == 202
        await world.seconds(30)
        assert (world.replicas("web"), world.replicas("api")) == (1, 1)


async def test_an_override_awake_of_a_member_changes_nothing_for_its_service(world: World) -> None:
    async with two_wakers(world):
        await two_workloads(world, override(state="Awake", target=TARGET))
        await until(world, 20, "12:06")
        assert (world.replicas("web"), world.replicas("api"), led(world)) == (1, 0, ["api", "web"])


async def test_a_scaled_object_with_an_override_asleep_says_that_no_request_wakes_it(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 1), service(), on_request())
        await world.seconds(20)
        assert led(world) == ["web"]
        await world.create(override(state="Asleep", target={"kind": "ScaledObject", "name": "web"}))
        await world.seconds(10)
        assert led(world) == []
        assert await post(world) == 404
        active = next(one for one in world.status("web")["conditions"] if one["type"] == "Active")
        assert active["reason"] == "AsleepByOverride"
        assert active["message"].endswith("no request wakes it until the Override is deleted or has ended")
        assert world.status("web")["kedaPy"]["ruledBy"].endswith("deleted or has ended")
        await world.delete(OVERRIDES, "evening")
        await world.seconds(20)
        assert led(world) == ["web"]
        assert await post(world) == 202
        await world.seconds(5)
        assert world.replicas("web") == 1
