"""An Environment says that it is asleep when its last member sleeps, and until then what is up and why."""

from datetime import datetime, timedelta

from keda_py.apis.foreign import map_at, text_at
from keda_py.core.values.times import write_time
from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS
from keda_py.localkube.store.subscriptions import Event
from tests.builders import deployment, environment, override
from tests.operator.environments.builders import LUNCH, condition, events, status, until
from tests.operator.environments.test_week import notes
from tests.worlds.world import World


async def test_a_member_that_was_created_just_now_keeps_it_from_saying_asleep(world: World) -> None:
    told, said = events(world), notes(world)
    await world.create(deployment("web", 2), environment(calendar=LUNCH, grace="3m"))
    await until(world, 20, "12:03")
    await world.create(deployment("new", 1))
    created = world.clock.now()
    await until(world, 20, "12:05")
    assert (world.replicas("web"), world.replicas("new")) == (0, 1)
    found = status(world)
    assert (found["phase"], found["up"], found["ready"]) == ("FallingAsleep", "1/2", "1/2")
    assert found["stillUp"] == [
        {
            "member": "Deployment/new",
            "reason": "Young",
            "because": "grace 3 min",
            "since": write_time(created),
            "until": write_time(created + timedelta(minutes=3)),
        }
    ]
    assert condition(world, "Asleep") == ("False", "MembersStillUp")
    assert [reason for _, reason in told] == ["EnvironmentAwake", "EnvironmentFallingAsleep", "MembersStillUp"]
    assert f"1 still up: Deployment/new: created at {write_time(created)}, left alone until" in said[-1]
    await until(world, 20, "12:09")
    found = status(world)
    assert (world.replicas("new"), found["phase"], found["up"], found.get("stillUp")) == (0, "Asleep", "0/2", None)
    assert (
        created + timedelta(minutes=3) <= datetime.fromisoformat(found["phaseSince"]) <= created + timedelta(minutes=4)
    )
    assert told[-1] == ("Normal", "EnvironmentAsleep")


async def test_an_override_puts_to_sleep_what_was_created_just_now(world: World) -> None:
    await world.create(environment(grace="1h"), deployment("web", 2))
    await world.seconds(10)
    await world.create(override(state="Asleep", target={"kind": "Environment", "name": "dev"}, **{"for": "1h"}))
    await world.seconds(60)
    assert (world.replicas("web"), status(world)["phase"]) == (0, "Asleep")


async def test_what_a_person_scales_up_at_night_ends_that_it_is_asleep_until_it_is_down_again(world: World) -> None:
    told = events(world)
    await world.create(deployment("web", 2), environment(calendar=LUNCH))
    await until(world, 20, "12:05")
    first = status(world)
    await world.patch(DEPLOYMENTS, {"spec": {"replicas": 1}}, "web")
    await world.seconds(30)
    assert (first["phase"], status(world)["phase"], status(world)["up"]) == ("Asleep", "FallingAsleep", "1/1")
    (up,) = status(world)["stillUp"]
    assert (up["member"], up["reason"]) == ("Deployment/web", "KeptUp")
    assert up["because"].endswith("scaled it up; it stays up until the next wake")
    assert [reason for _, reason in told][-2:] == ["EnvironmentAsleep", "MemberKeptUp"]
    await world.patch(DEPLOYMENTS, {"spec": {"replicas": 0}}, "web")
    await world.seconds(30)
    assert (status(world)["phase"], status(world)["up"]) == ("Asleep", "0/1")
    assert status(world)["phaseSince"] > first["phaseSince"]


async def test_asleep_is_never_said_while_a_pod_has_yet_to_end(world: World) -> None:
    await world.create(deployment("web", 2), environment(calendar=LUNCH))
    said: list[tuple[str, str]] = []

    def hear(event: Event) -> None:
        if event.resource.kind == "Environment":
            found = map_at(event.object, "status")
            said.append((text_at(found, "phase"), text_at(found, "up")))

    world.listen(hear)
    await until(world, 20, "12:06")
    assert ("FallingAsleep", "1/1") in said
    assert {up for phase, up in said if phase == "Asleep"} == {"0/1"}


async def test_nothing_is_written_while_a_young_member_is_waited_for(world: World) -> None:
    await world.create(deployment("web", 2), environment(calendar=LUNCH, grace="6m"))
    await until(world, 20, "12:04")
    await world.seconds(10)
    written = [world.writes_of(DEPLOYMENTS, "web"), world.writes_of(ENVIRONMENTS, "dev")]
    await world.seconds(60)
    assert (written, status(world)["phase"]) == ([[], []], "FallingAsleep")
