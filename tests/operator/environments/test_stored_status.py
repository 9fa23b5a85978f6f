"""What another client has put into an Environment's status stops neither its members nor its deletion."""

import logging
from collections.abc import Mapping

import orjson
import pytest

from keda_py.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, ENVIRONMENTS, Obj
from tests.builders import deployment, environment
from tests.operator.environments.builders import LUNCH, condition, status, until
from tests.worlds.world import World

YEAR_ONE = "0001-01-01T00:00:00Z"
NAPPING = {"stage": "Napping", "replicas": 2, "since": "2026-11-20T12:05:00Z"}
"""Of a stage that another version may know."""


async def forge(world: World, change: Mapping[str, object]) -> None:
    path = ENVIRONMENTS.named("default", "dev", "status")
    await world.client.patch(path, {"status": change})


async def asleep(world: World) -> None:
    """Both members sleep, at a time when the calendar is closed."""
    await world.create(deployment("web", 3), deployment("api", 2), environment(calendar=LUNCH))
    await until(world, 20, "12:06")
    assert (world.replicas("web"), world.replicas("api")) == (0, 0)


async def allow_any_member(world: World) -> None:
    """A CRD of a version that knows other stages."""
    path = CUSTOM_RESOURCE_DEFINITIONS.named("", "environments.keda-py.dev")
    definition = orjson.loads(orjson.dumps(await world.client.get(path)))
    properties = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    properties["members"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    await world.client.update(path, definition)


def notes(world: World, reason: str) -> list[str]:
    return [note for _, told, note in world.events("dev", "Environment") if told == reason]


def message(world: World, kind: str) -> str:
    return str(next(one["message"] for one in status(world)["conditions"] if one["type"] == kind))


@pytest.mark.parametrize(
    "forged",
    [
        {"members": {"Deployment/web": {"since": YEAR_ONE}}},
        {"members": {"Deployment/web": {"workload": "x"}}},
        {"members": {"Deployment/none": {"stage": "Down", "since": YEAR_ONE, "workload": "a/b"}}},
        {"phaseSince": YEAR_ONE, "lastWake": {"started": YEAR_ONE}},
        {"transition": {"to": "Asleep", "started": YEAR_ONE}},
    ],
    ids=["a time", "a workload", "a member that there is not", "times of phases", "a time of a transition"],
)
async def test_the_counts_are_given_back_and_what_could_not_be_read_is_told(
    world: World, caplog: pytest.LogCaptureFixture, forged: Mapping[str, object]
) -> None:
    await asleep(world)
    with caplog.at_level(logging.WARNING):
        await forge(world, forged)
        await until(world, 20, "12:11")
    assert (world.replicas("web"), world.replicas("api"), status(world)["phase"]) == (3, 2, "Awake")
    told = [record for record in caplog.records if "stored status cannot be read" in record.getMessage()]
    assert told
    assert notes(world, "EnvironmentInvalid")[0].startswith("status.")


async def test_a_member_whose_entry_cannot_be_read_is_left_alone_and_its_entry_stays(world: World) -> None:
    await asleep(world)
    await allow_any_member(world)
    await forge(world, {"members": {"Deployment/api": NAPPING}})
    await until(world, 20, "12:11")
    assert (world.replicas("web"), world.replicas("api")) == (3, 0)
    assert status(world)["members"] == {"Deployment/api": NAPPING}
    assert condition(world, "Valid") == ("False", "StatusUnreadable")
    assert message(world, "Valid").startswith('status.members.Deployment/api.stage: "Napping" is unknown; use ')
    assert notes(world, "EnvironmentInvalid") == [message(world, "Valid")]
    written = world.writes_of(ENVIRONMENTS, "dev")
    await world.seconds(120)
    assert written == []
    await forge(world, {"members": {"Deployment/api": {"stage": "Down"}}})
    await world.seconds(70)
    assert (world.replicas("api"), condition(world, "Valid")) == (2, ("True", "Valid"))


@pytest.mark.parametrize("entry", [NAPPING, {"since": YEAR_ONE}, "x"], ids=["a stage", "a time", "no map"])
async def test_it_can_be_deleted_and_gives_back_what_can_be_read(world: World, entry: object) -> None:
    await asleep(world)
    await allow_any_member(world)
    await forge(world, {"members": {"Deployment/api": entry}})
    await world.delete(ENVIRONMENTS, "dev")
    await world.seconds(30)
    assert world.find(ENVIRONMENTS, "dev") is None
    assert world.replicas("web") == 3
    (note,) = notes(world, "EnvironmentReleased")
    is_known = isinstance(entry, dict) and "since" in entry and "stage" not in entry
    assert (world.replicas("api") == 2, "scale that by hand" in note) == (is_known, not is_known)


async def test_the_next_process_begins_with_what_can_be_read(world: World) -> None:
    await asleep(world)
    await world.operator.kill()
    await allow_any_member(world)
    forged: Obj = {"members": {"Deployment/api": NAPPING}, "nextChange": None, "phaseSince": YEAR_ONE}
    await forge(world, forged)
    await world.operator.start()
    await until(world, 20, "12:11")
    assert (world.replicas("web"), world.replicas("api")) == (3, 0)
