"""Overrides: what they say of themselves, that they end by themselves, and that nobody signs as somebody else."""

from keda_py.core.admission.environments import check_requester
from keda_py.kube.resources import OVERRIDES, Obj
from tests.builders import deployment
from tests.operator.environments.builders import environment, events, override, status, until
from tests.operator.world import World

BY = "keda-py.dev/requested-by"


def told(world: World, name: str = "evening") -> Obj:
    found: Obj = world.get(OVERRIDES, name)["status"]
    return found


async def test_it_rules_until_the_next_change_and_is_gone_a_day_later(world: World) -> None:
    heard = events(world)
    await world.create(deployment("web", 2), environment())
    await until(world, 20, "19:00")
    await world.create(override(state="Awake", until="NextChange", reason="release"))
    await world.seconds(30)
    assert world.replicas("web") == 2
    assert (told(world)["phase"], told(world)["ends"]) == ("Active", "2026-11-23T08:00:00Z")
    assert status(world)["override"]["reason"] == "release"
    assert ("Normal", "OverrideBegan") in heard
    await world.kill()
    await world.start()
    await until(world, 23, "07:59")
    assert world.replicas("web") == 2
    await until(world, 23, "08:01")
    assert told(world)["phase"] == "Ended"
    await until(world, 23, "18:05")
    assert world.replicas("web") == 0
    await until(world, 24, "08:01")
    assert world.find(OVERRIDES, "evening") is None


async def test_of_two_for_one_target_the_newer_rules_and_the_older_says_so(world: World) -> None:
    await world.create(deployment("web", 2), environment())
    await world.create(override("first", state="Asleep", **{"for": "10h"}))
    await world.seconds(60)
    assert world.replicas("web") == 0
    await world.create(override("second", state="Awake", **{"for": "1h"}))
    await world.seconds(60)
    assert world.replicas("web") == 2
    assert (told(world, "first")["phase"], told(world, "second")["phase"]) == ("Outranked", "Active")
    await world.seconds(3700)
    assert (world.replicas("web"), told(world, "first")["phase"]) == (0, "Active")


async def test_one_member_alone_gets_a_count_and_has_its_own_back_afterwards(world: World) -> None:
    await world.create(deployment("web", 2), deployment("api", 2), environment())
    await world.create(override(target={"kind": "Deployment", "name": "api"}, replicas=5, **{"for": "1h"}))
    await world.seconds(60)
    assert (world.replicas("web"), world.replicas("api")) == (2, 5)
    await world.seconds(3700)
    assert (world.replicas("web"), world.replicas("api")) == (2, 2)


async def test_one_that_cannot_be_read_rules_nothing_and_says_why(world: World) -> None:
    await world.create(deployment("web", 2), environment())
    await world.create(override(state="Asleep", until="tonight"))
    await world.seconds(60)
    assert world.replicas("web") == 2
    assert told(world)["phase"] == "Invalid"
    assert told(world)["because"].startswith("spec.until: 'tonight' is not a time")


def test_an_admission_refuses_an_author_who_is_another_user() -> None:
    def of(name: str) -> Obj:
        return {"metadata": {"annotations": {BY: name}}}

    assert list(check_requester(of("jana"), None, "jana")) == []
    assert list(check_requester({"metadata": {}}, None, "jana")) == []
    (denial,) = check_requester(of("pavel"), None, "jana")
    assert "'pavel' is another user" in getattr(denial, "message", "")
    assert list(check_requester(of("jana"), of("jana"), "pavel")) == []
    assert len(list(check_requester(of("pavel"), of("jana"), "pavel"))) == 1
