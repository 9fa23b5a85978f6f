"""An Environment on the embedded cluster: its members sleep at night, and are as they were in the morning."""

from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS, STATEFUL_SETS, VALIDATING_WEBHOOK_CONFIGURATIONS
from tests.builders import cron_job, deployment, environment, workload
from tests.operator.environments.builders import LUNCH, condition, events, is_suspended, refusing, status, until
from tests.worlds.world import World


async def test_its_members_sleep_at_night_and_wake_with_the_counts_they_had(world: World) -> None:
    told = events(world)
    await world.create(deployment("web", 3), workload("StatefulSet", "db", 2), cron_job())
    await world.create(environment())
    await world.seconds(10)
    assert (status(world)["phase"], status(world)["ready"]) == ("Awake", "3/3")
    assert condition(world, "Ready") == ("True", "AllReady")
    await until(world, 20, "17:59")
    assert world.replicas("web") == 3
    await until(world, 20, "18:01")
    assert (world.replicas("web"), world.replicas("db", STATEFUL_SETS)) == (0, 0)
    assert is_suspended(world)
    assert status(world)["phase"] == "Asleep"
    assert status(world)["nextChange"]["at"] == "2026-11-23T08:00:00Z"
    await until(world, 23, "07:59")
    assert world.replicas("web") == 0
    await until(world, 23, "08:01")
    assert (world.replicas("web"), world.replicas("db", STATEFUL_SETS)) == (3, 2)
    assert not is_suspended(world)
    assert (status(world)["phase"], status(world).get("members", {})) == ("Awake", {})
    assert [reason for _, reason in told] == [
        *("EnvironmentAwake", "EnvironmentFallingAsleep", "EnvironmentAsleep"),
        *("EnvironmentWaking", "EnvironmentAwake"),
    ]


async def test_nothing_is_written_while_nothing_changes(world: World) -> None:
    await world.create(deployment("web", 3), cron_job(), environment())
    await until(world, 20, "18:05")
    written = [world.writes_of(ENVIRONMENTS, "dev"), world.writes_of(DEPLOYMENTS, "web")]
    await until(world, 20, "23:55")
    assert written == [[], []]


async def test_deleted_at_night_it_first_gives_every_count_back(world: World) -> None:
    await world.create(deployment("web", 3), cron_job(), environment())
    await until(world, 20, "18:05")
    assert world.replicas("web") == 0
    await world.delete(ENVIRONMENTS, "dev")
    await world.seconds(60)
    assert world.replicas("web") == 3
    assert not is_suspended(world)
    assert world.find(ENVIRONMENTS, "dev") is None


async def test_a_deletion_that_is_held_up_is_told_once_and_ends_when_the_way_is_free(world: World) -> None:
    told = events(world)
    await world.create(deployment("web", 3), environment(calendar=LUNCH))
    await until(world, 20, "12:06")
    await world.create(refusing("apps", "deployments/scale"))
    await world.delete(ENVIRONMENTS, "dev")
    await world.seconds(30)
    assert (condition(world, "Released"), world.replicas("web")) == (("False", "NotWritten"), 0)
    assert told.count(("Warning", "EnvironmentHeldUp")) == 1
    written = world.writes_of(ENVIRONMENTS, "dev")
    await world.seconds(60)
    assert written == []
    await world.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, "no", namespace="")
    await world.seconds(60)
    assert (world.replicas("web"), world.find(ENVIRONMENTS, "dev")) == (3, None)


async def test_a_boundary_at_which_nothing_could_be_stored_is_made_up_for_when_that_works_again(world: World) -> None:
    await world.create(deployment("web", 3), environment(calendar=LUNCH))
    await world.seconds(10)
    await world.create(refusing("keda-py.dev", "environments/status"))
    await until(world, 20, "12:06")
    assert world.replicas("web") == 3  # a count that is not remembered is not given up
    await world.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, "no", namespace="")
    await world.seconds(90)
    assert world.replicas("web") == 0


async def test_what_a_person_scales_up_at_night_stays_until_the_next_morning(world: World) -> None:
    await world.create(deployment("web", 3), deployment("api", 1), environment())
    await until(world, 20, "18:05")
    await world.patch(DEPLOYMENTS, {"spec": {"replicas": 1}}, "web")
    await until(world, 20, "23:00")
    assert (world.replicas("web"), world.replicas("api")) == (1, 0)


async def test_of_very_many_in_one_namespace_the_oldest_rule_and_the_others_say_what_to_do(world: World) -> None:
    await world.create(*(deployment(f"web-{number:02}", 1) for number in range(30)), environment("first"))
    await world.seconds(2)
    for number in range(40):
        await world.create(environment(f"more-{number:02}", selector={"matchLabels": {"tier": "none"}}))
        await world.seconds(1)
    assert condition(world, "Valid", "first") == ("True", "Valid")
    assert condition(world, "Valid", "more-18")[0] == "True"
    (valid,) = (one for one in status(world, "more-19")["conditions"] if one["type"] == "Valid")
    assert valid["message"].endswith(
        "has 20 older Environments, which is the most; delete some of them, and apply this one anew"
    )
    assert status(world, "first")["ready"] == "30/30"
