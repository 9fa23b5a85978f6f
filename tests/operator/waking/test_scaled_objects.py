"""A ScaledObject with a trigger `request`: it goes to 0 only once its Services lead to wakers, and a request wakes it."""

from keda_py.core.waking.rules import LABEL, WakeState, read_rules
from keda_py.environments.release import release_last
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from tests.builders import cron, deployment, scaled_object
from tests.operator.environments.builders import starting
from tests.operator.waking.stand_in import our_slices, service, two_wakers, waker_slice
from tests.operator.waking.test_environments import writes
from tests.operator.waking.test_requests import post
from tests.worlds.world import World


def on_request(*others: Obj, **metadata: str) -> Obj:
    trigger = {"type": "request", "metadata": {"activeFor": "5m", **metadata}}
    return scaled_object(trigger, *others, name="web", initialCooldownPeriod=0)


def requested_at(live: Obj) -> str:
    return str((live["metadata"].get("annotations") or {}).get("keda-py.dev/requested-at", ""))


def reason(world: World) -> str:
    return str(world.status("web")["kedaPy"]["reason"])


async def test_its_service_leads_to_wakers_before_the_workload_goes_to_zero(world: World) -> None:
    async with two_wakers(world) as wakers:
        await world.create(deployment("web", 2), service())
        told = writes(world)
        await world.create(on_request())
        await world.seconds(20)
        assert told == ["slice 0", "slice 2", "web 0"]
        (live,) = our_slices(world)
        assert live["metadata"]["ownerReferences"][0]["kind"] == "ScaledObject"
        rules = read_rules(live["metadata"]["annotations"][LABEL])
        assert (rules.state, rules.owner_name) == (WakeState.ASLEEP, "web")
        assert [port["port"] for port in live["ports"]] == list(wakers[0].servers)


async def test_nodes_get_five_seconds_to_follow_the_slice(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 2), service(), on_request())
        await world.seconds(4)
        (live,) = our_slices(world)
        assert len(live["endpoints"]) == 2
        assert (world.replicas("web"), reason(world)) == (2, "WakersPending")
        await world.seconds(6)
        assert world.replicas("web") == 0


async def test_a_request_wakes_it_for_as_long_as_its_trigger_says(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 1), service(), on_request())
        await world.seconds(20)
        assert world.replicas("web") == 0
        told = writes(world)
        assert await post(world) == 202
        await world.seconds(2)
        assert world.replicas("web") == 1
        await world.seconds(30)
        assert told[0] == "web 1"
        assert our_slices(world) == []
        assert ("Normal", "WokenByRequest") in [one[:2] for one in world.events("web", "ScaledObject")]
        await world.seconds(250)
        assert world.replicas("web") == 1
        await world.seconds(60)
        assert world.replicas("web") == 0
        assert len(our_slices(world)) == 1


async def test_requests_that_wait_keep_it_active_however_long_its_pods_take(world: World) -> None:
    async with two_wakers(world):
        await world.create(starting("web", 1, 460), service(), on_request())
        await world.seconds(20)
        assert world.replicas("web") == 0
        written = world.writes_of(SCALED_OBJECTS, "web")
        for _ in range(90):  # a waker repeats its report while it holds the request
            assert await post(world) == 202
            await world.seconds(5)
        assert (world.replicas("web"), len(our_slices(world))) == (1, 1)
        times = {requested_at(one) for one in written} - {""}
        assert len(times) == 15  # one for each tenth of activeFor, not one for each report
        await world.seconds(70)
        assert (world.replicas("web"), our_slices(world)) == (1, [])


async def test_without_a_ready_waker_it_stays_up_and_says_what_to_do(world: World) -> None:
    await world.create(deployment("web", 1), service(), on_request())
    await world.seconds(60)
    assert (world.replicas("web"), our_slices(world), reason(world)) == (1, [], "TriggersFail")
    (note,) = world.status("web")["kedaPy"]["notes"]
    assert "no waker is ready, so requests would be lost; look at the pods of the chart's waker" in note


async def test_wakers_that_listen_nowhere_never_let_it_go_to_zero(world: World) -> None:
    async with two_wakers(world, deaf=True):
        await world.create(deployment("web", 1), service(), on_request())
        await world.seconds(120)
        assert (world.replicas("web"), reason(world)) == (1, "WakersPending")
        active = next(one for one in world.status("web")["conditions"] if one["type"] == "Active")
        assert active["message"] == "Scaling to 0 waits: Service web does not lead to wakers yet"


async def test_a_service_that_nothing_can_wake_keeps_it_up(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 1), service("web", "None"), on_request(services="web"))
        await world.seconds(30)
        assert (world.replicas("web"), reason(world)) == (1, "TriggersFail")
        assert "Service web cannot wake it: clients of a headless" in world.status("web")["kedaPy"]["notes"][0]


async def test_another_trigger_keeps_it_up_without_any_slice(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 1), service())
        told = writes(world)
        await world.create(on_request(cron("0 0 * * *", "59 23 * * *", desired=1)))
        await world.seconds(60)
        assert (told, reason(world)) == ([], "Active")


async def test_activity_during_the_wait_takes_the_slice_away_and_the_next_wait_begins_anew(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 1), service(), on_request())
        await world.seconds(4)
        assert len(our_slices(world)) == 1
        assert await post(world) == 202
        await world.seconds(20)
        assert (world.replicas("web"), our_slices(world), reason(world)) == (1, [], "Active")
        told = writes(world)
        await world.seconds(320)
        assert told == ["slice 0", "slice 2", "web 0"]


async def test_it_stays_asleep_when_the_last_waker_goes_and_its_slice_goes_along(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 1), service(), on_request())
        await world.seconds(20)
        assert world.replicas("web") == 0
        await world.apply(waker_slice([]))
        await world.seconds(20)
        assert (our_slices(world), world.replicas("web"), reason(world)) == ([], 0, "TriggersFail")


async def test_its_slices_go_with_it_and_with_its_trigger(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 1), service(), on_request())
        await world.seconds(20)
        assert len(our_slices(world)) == 1
        await world.apply(scaled_object(cron(), name="web"))
        await world.seconds(10)
        assert our_slices(world) == []
        await world.apply(on_request())
        await world.seconds(20)
        assert len(our_slices(world)) == 1
        await world.delete(SCALED_OBJECTS, "web")
        await world.seconds(10)
        assert our_slices(world) == []


async def test_an_operator_that_starts_anew_knows_the_last_request(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 1), service(), on_request())
        await world.seconds(20)
        await post(world)
        await world.seconds(30)
        await world.operator.stop()
        await world.operator.start()
        await world.seconds(200)
        assert (world.replicas("web"), reason(world)) == (1, "Active")
        await world.seconds(120)
        assert world.replicas("web") == 0


async def test_the_slices_stay_over_a_restart_while_it_is_at_zero(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 1), service(), on_request())
        await world.seconds(20)
        told = writes(world)
        await world.operator.stop()
        await world.operator.start()
        await world.seconds(30)
        assert (told, len(our_slices(world))) == ([], 1)
        assert await post(world) == 202
        await world.seconds(5)
        assert world.replicas("web") == 1


async def test_a_paused_object_leads_no_request_to_wakers(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 1), service(), on_request())
        await world.seconds(20)
        await world.annotate({"autoscaling.keda.sh/paused": "true"}, "web")
        await world.seconds(10)
        assert our_slices(world) == []


async def test_an_uninstall_leaves_no_slice_that_points_at_dead_wakers(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 1), service(), on_request())
        await world.seconds(20)
        assert len(our_slices(world)) == 1
        await world.operator.stop()
        (done,) = await release_last(world.client, "")
        assert (done.environment, done.outcome) == ("default/web", "is deleted: requests go to pods alone")
        assert our_slices(world) == []
