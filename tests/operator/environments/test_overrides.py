"""Overrides: what they say of themselves, that they end by themselves, and that nobody signs as somebody else."""

import asyncio
from collections import Counter

import pytest

from keda_py.core.admission.environments import check_requester
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import DEPLOYMENTS, OVERRIDES, Obj
from keda_py.localkube.store.subscriptions import Event
from keda_py.operator.environments.override_kind import Neighbours, OverrideMemory
from tests.builders import deployment, environment, metrics_api, override, scaled_object
from tests.operator.environments.builders import LUNCH, events, status, until
from tests.worlds.world import World

SHARED = pytest.mark.asyncio(loop_scope="module")
"""In the world of the file, where minutes pass in a test and not hours: it stays shortly after noon."""

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
    await world.operator.kill()
    await world.operator.start()
    await until(world, 23, "07:59")
    assert world.replicas("web") == 2
    await until(world, 23, "08:01")
    assert told(world)["phase"] == "Ended"
    await until(world, 23, "18:05")
    assert world.replicas("web") == 0
    await until(world, 24, "08:01")
    assert world.find(OVERRIDES, "evening") is None


async def test_an_edit_takes_effect_in_every_form_and_wakes_one_that_has_ended(world: World) -> None:
    await world.create(deployment("web", 2), environment())
    await world.create(override(state="Asleep", **{"for": "1h"}))
    await world.seconds(30)
    assert (world.replicas("web"), told(world)["ends"]) == (0, "2026-11-20T13:00:00Z")
    for spec, ends, phase in (
        ({"for": "2h"}, "2026-11-20T14:00:00Z", "Active"),
        ({"for": None, "until": "2026-11-20T15:00:00Z"}, "2026-11-20T15:00:00Z", "Active"),
        ({"until": "NextChange"}, "2026-11-20T18:00:00Z", "Active"),
        ({"from": "2026-11-20T12:30:00Z"}, "2026-11-20T18:00:00Z", "Pending"),
        ({"from": None, "until": None}, None, "Active"),
        ({"until": "2026-11-20T12:10:00Z"}, "2026-11-20T12:10:00Z", "Active"),
    ):
        await world.patch(OVERRIDES, {"spec": spec}, "evening")
        await world.seconds(30)
        assert (told(world).get("ends"), told(world)["phase"]) == (ends, phase)
        assert world.replicas("web") == (2 if phase == "Pending" else 0)
    await until(world, 20, "12:15")
    assert (told(world)["phase"], world.replicas("web")) == ("Ended", 2)
    await world.patch(OVERRIDES, {"spec": {"until": None, "for": "1h"}}, "evening")
    await world.seconds(30)
    assert (told(world)["phase"], world.replicas("web")) == ("Active", 0)
    await until(world, 20, "13:01")
    assert (told(world)["phase"], world.replicas("web")) == ("Ended", 2)


async def test_an_edit_of_its_reason_alone_moves_no_end_and_another_does(world: World) -> None:
    await world.create(deployment("web", 2), environment(calendar=LUNCH))
    await world.create(override(state="Awake", until="NextChange", reason="demo"))
    await until(world, 20, "12:05")
    ended = (told(world)["phase"], told(world)["ends"], world.replicas("web"))
    assert ended == ("Ended", "2026-11-20T12:04:00Z", 0)
    await world.patch(OVERRIDES, {"spec": {"reason": "a demo for sales"}}, "evening")
    await world.seconds(30)
    assert (told(world)["phase"], told(world)["ends"], world.replicas("web")) == ended
    await world.patch(OVERRIDES, {"spec": {"state": "Hold"}}, "evening")
    await world.seconds(30)
    assert (told(world)["phase"], told(world)["ends"]) == ("Active", "2026-11-20T12:10:00Z")


@SHARED
async def test_of_two_for_one_target_the_newer_rules_and_the_older_says_so(room: World) -> None:
    await room.create(deployment("web", 2), environment())
    await room.create(override("first", state="Asleep", **{"for": "10h"}))
    await room.seconds(60)
    assert room.replicas("web") == 0
    await room.create(override("second", state="Awake", **{"for": "5m"}))
    await room.seconds(60)
    assert room.replicas("web") == 2
    assert (told(room, "first")["phase"], told(room, "second")["phase"]) == ("Outranked", "Active")
    await room.seconds(400)
    assert (room.replicas("web"), told(room, "first")["phase"]) == (0, "Active")


@SHARED
async def test_one_member_alone_gets_a_count_and_has_its_own_back_afterwards(room: World) -> None:
    await room.create(deployment("web", 2), deployment("api", 2), environment())
    await room.create(override(target={"kind": "Deployment", "name": "api"}, replicas=5, **{"for": "5m"}))
    await room.seconds(60)
    assert (room.replicas("web"), room.replicas("api")) == (2, 5)
    await room.seconds(400)
    assert (room.replicas("web"), room.replicas("api")) == (2, 2)


@pytest.mark.parametrize("kind", ["ScaledObject", "Deployment"])
async def test_without_any_environment_it_rules_a_scaled_object(world: World, kind: str) -> None:
    world.jobs(10)
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=60))
    await world.seconds(70)
    assert world.replicas() >= 1
    await world.create(override(target={"kind": kind, "name": "app"}, state="Asleep", **{"for": "4m"}))
    await world.seconds(60)
    assert (world.replicas(), told(world)["phase"]) == (0, "Active")
    assert "by Override evening" in world.full_condition("Paused")[2]
    assert world.condition("Active") == ("False", "AsleepByOverride")
    counts = world.writes_of(DEPLOYMENTS)
    await world.operator.kill()
    await world.operator.start()
    await world.seconds(100)
    assert [one["spec"]["replicas"] for one in counts if one["spec"]["replicas"]] == []
    await world.seconds(160)
    assert world.replicas() >= 1
    assert told(world)["phase"] == "Ended"


@SHARED
async def test_without_any_environment_it_gives_a_scaled_object_a_count_and_takes_it_back(room: World) -> None:
    await room.create(deployment(), scaled_object(metrics_api(room.url), pollingInterval=60))
    await room.create(override(target={"kind": "ScaledObject", "name": "app"}, replicas=3))
    await room.seconds(60)
    assert room.replicas() == 3
    await room.delete(OVERRIDES, "evening")
    await room.seconds(600)
    assert room.replicas() == 0


@SHARED
@pytest.mark.parametrize(
    ("kind", "name", "told_of"),
    [
        ("Deployment", "web", "Deployment 'web' is in no Environment, and nothing else would remember its count"),
        ("StatefulSet", "db", "there is no StatefulSet 'db'; create it, or correct the name"),
        ("ScaledObject", "queue", "there is no ScaledObject 'queue'"),
        ("Environment", "prod", "there is no Environment 'prod'"),
    ],
)
async def test_one_that_nothing_would_come_of_says_so(room: World, kind: str, name: str, told_of: str) -> None:
    await room.create(deployment("web", 2), override(target={"kind": kind, "name": name}, state="Asleep"))
    await room.seconds(5)
    assert (told(room)["phase"], room.replicas("web")) == ("Invalid", 2)
    assert told_of in told(room)["because"]
    assert told(room)["conditions"][0]["status"] == "False"


async def test_many_in_one_namespace_cost_a_write_each_and_the_oldest_rule(world: World) -> None:
    await world.create(deployment("web", 2), environment())
    await world.create(override("first", state="Awake", **{"for": "3h"}))
    await world.seconds(5)
    writes: Counter[str] = Counter()

    def count(event: Event) -> None:
        if event.resource.plural == "overrides" and event.previous is not None:
            writes[event.name] += 1

    world.listen(count)
    for number in range(60):
        await world.create(override(f"more-{number:03}", state="Awake", **{"for": "3h"}))
    await world.seconds(5)
    assert max(writes.values()) <= 3
    assert [told(world, name)["phase"] for name in ("first", "more-030", "more-059")] == [
        *("Outranked", "Outranked", "Active")
    ]
    writes.clear()
    await world.delete(OVERRIDES, "more-030")
    await world.seconds(1)
    assert sum(writes.values()) <= 6  # those that it had outranked
    await world.delete(OVERRIDES, "more-059")
    await world.seconds(1)
    assert told(world, "more-058")["phase"] == "Active"
    assert sum(writes.values()) <= 12


@SHARED
async def test_one_that_waits_for_its_target_rules_once_that_is_there(room: World) -> None:
    await room.create(deployment("web", 2), override(target={"kind": "Environment", "name": "dev"}, state="Asleep"))
    await room.seconds(5)
    assert told(room)["phase"] == "Invalid"
    await room.create(environment())
    await room.seconds(60)
    assert (told(room)["phase"], room.replicas("web")) == ("Active", 0)


@SHARED
async def test_one_that_cannot_be_read_rules_nothing_and_says_why(room: World) -> None:
    await room.create(deployment("web", 2), environment())
    await room.create(override(state="Asleep", until="tonight"))
    await room.seconds(60)
    assert room.replicas("web") == 2
    assert told(room)["phase"] == "Invalid"
    assert told(room)["because"].startswith("spec.until: 'tonight' is not a time")


def test_an_admission_refuses_an_author_who_is_another_user() -> None:
    def of(name: str) -> Obj:
        return {"metadata": {"annotations": {BY: name}}}

    assert list(check_requester(of("jana"), None, "jana")) == []
    assert list(check_requester({"metadata": {}}, None, "jana")) == []
    (denial,) = check_requester(of("pavel"), None, "jana")
    assert "'pavel' is another user" in getattr(denial, "message", "")
    assert list(check_requester(of("jana"), of("jana"), "pavel")) == []
    assert len(list(check_requester(of("pavel"), of("jana"), "pavel"))) == 1


async def test_of_a_crowd_that_goes_at_once_those_it_is_about_are_found_once() -> None:
    asked, due = list[str](), list[str]()

    def room(namespace: str) -> set[str]:
        asked.append(namespace)
        return {"uid-of-next"}

    phases = {"next": "Invalid", "after": "Invalid", "outranked": "Outranked", "rules": "Active"}
    states = {ObjectKey("Override", "default", name): memory(name, phase) for name, phase in phases.items()}
    neighbours = Neighbours(states, lambda state: due.append(state.key.name), room)
    for number in range(1000):
        gone = override(f"crowd-{number}", state="Awake")
        neighbours.hear(gone | {"metadata": {**gone["metadata"], "namespace": "default"}}, None)
    assert (asked, due) == ([], [])
    await asyncio.sleep(0)
    assert (asked, sorted(due)) == (["default"], ["next", "outranked"])


def memory(name: str, phase: str) -> OverrideMemory:
    because = "Override crowd-7 for the same target is newer" if phase == "Outranked" else ""
    key, stored = ObjectKey("Override", "default", name), {"phase": phase, "because": because}
    return OverrideMemory(key=key, uid=f"uid-of-{name}", resource=OVERRIDES, stored=stored)
