"""An Environment that a request may wake: its Services lead to wakers before anything sleeps, and no longer than that."""

from keda_py.core.waking.rules import LABEL, WakeState, read_rules
from keda_py.environments.release import release_all
from keda_py.kube.resources import DEPLOYMENTS, ENDPOINT_SLICES, ENVIRONMENTS, SERVICES
from keda_py.localkube.model.calls import ApiAnswer, Call
from keda_py.localkube.store.subscriptions import Event
from tests.builders import deployment, environment, override
from tests.faults.faulty import FaultyApi, Serve, delays_events, watches
from tests.operator.environments.builders import LUNCH, condition, status, until
from tests.operator.waking.stand_in import our_slices, service, two_wakers, waker_slice
from tests.worlds.world import World


def writes(world: World) -> list[str]:
    """What is written from now on, in order: slices with their endpoints, and counts."""
    told: list[str] = []

    def hear(event: Event) -> None:
        live, before = event.object, event.previous or {}
        if event.resource.kind == "EndpointSlice" and LABEL in (live["metadata"].get("labels") or {}):
            told.append(f"slice {len(live.get('endpoints') or ())}" if event.type != "DELETED" else "slice gone")
        elif event.resource.kind == "Deployment" and before.get("spec") != live["spec"]:
            told.append(f"{event.name} {live['spec']['replicas']}")

    world.listen(hear)
    return told


async def test_the_service_leads_to_wakers_before_the_first_pod_is_stopped(world: World) -> None:
    async with two_wakers(world) as wakers:
        await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:03")
        told = writes(world)
        assert our_slices(world) == []
        await until(world, 20, "12:06")
        assert told[:3] == ["slice 0", "slice 2", "web 0"]
        (live,) = our_slices(world)
        assert live["metadata"]["name"] == "web-keda-py-waker"
        assert {one["addresses"][0] for one in live["endpoints"]} == {one.address for one in wakers}
        assert [port["port"] for port in live["ports"]] == list(wakers[0].servers)
        assert live["metadata"]["ownerReferences"][0]["name"] == "dev"
        assert read_rules(live["metadata"]["annotations"][LABEL]).state is WakeState.ASLEEP
        found = status(world)["wakeOnRequest"]
        assert (found["services"], found["ready"]) == (["web"], 1)
        assert condition(world, "WakesOnRequest") == ("True", "AllAre")


async def test_it_goes_after_the_wake_once_pods_take_the_requests(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:09")
        told = writes(world)
        await until(world, 20, "12:11")
        await world.seconds(30)
        assert told[0] in ("web 2", "slice 2")
        assert "web 2" in told
        assert told[-1] == "slice gone"
        assert our_slices(world) == []
        before = len(told)
        await world.seconds(120)
        assert len(told) == before


async def test_without_a_waker_it_sleeps_and_says_so(world: World) -> None:
    await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
    await until(world, 20, "12:06")
    assert (world.replicas("web"), our_slices(world)) == (0, [])
    (told,) = status(world)["wakeOnRequest"]["notWoken"]
    assert told == {"service": "web", "reason": "NoWaker", "because": "no waker is ready"}
    assert condition(world, "WakesOnRequest") == ("False", "SomeAreNot")


async def test_without_a_waker_one_that_requires_it_stays_awake_and_says_why(world: World) -> None:
    await world.create(
        deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={"requireWaker": True})
    )
    await until(world, 20, "12:06")
    assert world.replicas("web") == 2
    assert "Service web: no waker is ready" in status(world)["because"]
    assert condition(world, "Ready") == ("True", "AllReady")


async def test_wakers_that_listen_nowhere_hold_it_up_for_some_seconds(world: World) -> None:
    async with two_wakers(world, deaf=True):
        await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:04")
        await world.seconds(10)
        assert world.replicas("web") == 2
        assert "no waker listens for it yet" in status(world)["because"]
        await world.seconds(15)
        assert world.replicas("web") == 0


async def test_a_waker_that_goes_leaves_the_slice_and_the_last_one_takes_it_along(world: World) -> None:
    async with two_wakers(world) as wakers:
        await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:06")
        await world.apply(waker_slice(wakers[:1]))
        await world.seconds(3)
        (live,) = our_slices(world)
        assert [one["addresses"] for one in live["endpoints"]] == [[wakers[0].address]]
        wakers[0].close()  # dead, and its node has not said so yet
        await world.seconds(5)
        (live,) = our_slices(world)
        assert live["endpoints"] == []
        await world.apply(waker_slice([]))
        await world.seconds(3)
        assert our_slices(world) == []
        assert status(world)["wakeOnRequest"]["notWoken"][0]["reason"] == "NoWaker"


async def test_what_cannot_be_woken_is_said(world: World) -> None:
    async with two_wakers(world):
        headless = service("headless", "None", selector={"app": "web"})
        await world.create(deployment("web", 2), service(), headless, service("other", "127.96.0.11"))
        await world.create(environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:06")
        found = status(world)["wakeOnRequest"]
        assert found["services"] == ["web"]
        assert [(one["service"], one["reason"]) for one in found["notWoken"]] == [("headless", "Headless")]


async def test_an_environment_that_is_deleted_asleep_gives_counts_back_and_its_slices_go(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:06")
        await world.delete(ENVIRONMENTS, "dev")
        await world.seconds(30)
        assert (world.replicas("web"), our_slices(world)) == (2, [])


async def test_an_uninstall_leaves_no_slice_that_points_at_dead_wakers(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:06")
        await world.operator.stop()
        done = await release_all(world.client, [world.get(ENVIRONMENTS, "dev")], last=True)
        assert [(one.member, one.outcome) for one in done] == [
            ("Deployment/web", "0 -> 2"),
            ("EndpointSlice/web-keda-py-waker", "is deleted: requests go to pods alone"),
        ]
        assert (our_slices(world), world.get(ENVIRONMENTS, "dev")["metadata"].get("finalizers")) == ([], None)


async def test_a_service_that_is_deleted_takes_its_slice_along(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:06")
        await world.delete(SERVICES, "web")
        await world.seconds(3)
        assert our_slices(world) == []


async def test_a_slice_that_was_edited_or_deleted_comes_back(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:06")
        before = our_slices(world)
        await world.patch(ENDPOINT_SLICES, {"endpoints": [{"addresses": ["10.9.9.9"]}]}, "web-keda-py-waker")
        await world.seconds(3)
        assert our_slices(world)[0]["endpoints"] == before[0]["endpoints"]
        await world.delete(ENDPOINT_SLICES, "web-keda-py-waker")
        await world.seconds(3)
        assert our_slices(world)[0]["endpoints"] == before[0]["endpoints"]


async def test_a_leader_that_takes_over_keeps_what_it_finds(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:06")
        before = our_slices(world)
        await world.operator.stop()
        told = writes(world)
        await world.operator.start()
        await world.seconds(60)
        assert (told, our_slices(world)) == ([], before)


async def test_a_slice_whose_environment_went_while_no_operator_ran_is_removed(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:06")
        await world.operator.stop()
        await world.patch(ENVIRONMENTS, {"spec": {"wakeOnRequest": None}}, "dev")
        await world.operator.start()
        await world.seconds(3)
        assert our_slices(world) == []
        assert world.replicas("web") == 0


async def test_nothing_is_watched_or_written_without_wakers(quiet_world: World) -> None:
    world = quiet_world
    await world.operator.start()
    await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
    await until(world, 20, "12:06")
    assert (world.replicas("web"), our_slices(world)) == (0, [])
    assert condition(world, "WakesOnRequest") == ("False", "NoWakers")
    assert world.get(DEPLOYMENTS, "web")


async def test_a_service_that_is_named_and_selects_no_member_is_left_alone(world: World) -> None:
    async with two_wakers(world):
        other = deployment("other", 1)
        other["metadata"]["annotations"] = {"keda-py.dev/exclude": "true"}
        await world.create(deployment("web", 2), other, service(), service("other", "127.96.0.11"))
        names = {"services": {"names": ["web", "other", "gone"]}}
        await world.create(environment(calendar=LUNCH, wakeOnRequest=names))
        await until(world, 20, "12:06")
        found = status(world)["wakeOnRequest"]
        assert [one["metadata"]["name"] for one in our_slices(world)] == ["web-keda-py-waker"]
        assert {one["service"]: one["reason"] for one in found["notWoken"]} == {"other": "NoMember", "gone": "NotFound"}


def port_moves(world: World) -> list[str]:
    """Slices from now on that get other ports than those that wakers have begun to listen on."""
    moves: list[str] = []

    def hear(event: Event) -> None:
        if event.resource.kind == "EndpointSlice" and event.type == "MODIFIED":
            before, after = (
                {one["port"] for one in live["ports"] or ()} for live in (event.previous or {}, event.object)
            )
            if before != after:
                moves.append(f"{event.name}: {before - after} to {after - before}")

    world.listen(hear)
    return moves


async def test_a_namespace_cannot_take_the_ports_of_all_others(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 1))
        for number in range(13):
            ports = [{"name": f"p{port}", "port": port} for port in range(8000, 8020)]
            await world.create(service(f"web-{number}", f"127.96.1.{number + 1}", selector={"app": "web"}, ports=ports))
        moves = port_moves(world)
        await world.create(environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:06")
        assert moves == []
        claimed = {port["port"] for one in our_slices(world) for port in one["ports"]}
        assert len(claimed) == 240
        told = {one["because"] for one in status(world)["wakeOnRequest"]["notWoken"]}
        assert told == {"the namespace has 250 ports of wakers, which is the most"}
        assert world.replicas("web") == 0


async def test_it_writes_no_slice_before_the_watch_has_shown_the_last_one(quiet_world: World, api: FaultyApi) -> None:
    """A watch event may come some time after the answer, and the API server refuses what is written meanwhile."""
    world, refused = quiet_world, list[str]()

    async def note(call: Call, serve: Serve) -> ApiAnswer:
        answer = await serve(call)
        if answer.status >= 400:
            refused.append(f"{call.method} {call.path}: {answer.status}")
        return answer

    def is_about_slices(call: Call) -> bool:
        return "endpointslices" in call.path

    with (
        api.failing(note, lambda call: is_about_slices(call) and not watches(call)),
        api.failing(delays_events(0.1), lambda call: is_about_slices(call) and watches(call)),
    ):
        async with two_wakers(world), world.operator.running():
            await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
            await until(world, 20, "12:15")
            assert world.replicas("web") == 2
            await world.create(override(state="Asleep", target={"kind": "Environment", "name": "dev"}))
            await world.seconds(30)
            assert (world.replicas("web"), len(our_slices(world))) == (0, 1)
    assert refused == []
