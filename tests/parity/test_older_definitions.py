"""CRDs that are not ours, or older: what they drop is said once, and not sent again and again."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from keda_py.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, SCALED_OBJECTS
from tests.parity.source import Source
from tests.parity.world import two_containers, unhurried, writes
from tests.worlds.world import World

Status = dict[str, Any]
NAME = "scaledobjects.keda.sh"


def without_kedapy(status: Status) -> None:
    """As KEDA's own."""
    del status["kedaPy"], status["kedaPyHistory"], status["kedaPySavings"]


def without_its_notes(status: Status) -> None:
    del status["kedaPy"]["properties"]["notes"]


async def install(world: World, change: Callable[[Status], None]) -> None:
    path = CUSTOM_RESOURCE_DEFINITIONS.named("", NAME)
    definition = orjson.loads(orjson.dumps(await world.client.get(path)))
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    change(schema["properties"]["status"]["properties"])
    await world.client.update(path, definition)


@pytest.mark.parametrize("change", [without_kedapy, without_its_notes], ids=["KEDA's CRD", "an older CRD of ours"])
async def test_a_status_that_the_cluster_cuts_is_written_once(
    change: Callable[[Status], None], world: World, source: Source, caplog: pytest.LogCaptureFixture
) -> None:
    await install(world, change)
    source.value = -5  # counts as 0, which is worth a note
    await world.create(two_containers(), unhurried(source.trigger()))
    async with world.operator.running():
        await world.seconds(60)
        written = writes(world, SCALED_OBJECTS)
        await world.seconds(600)
        assert writes(world, SCALED_OBJECTS) == written
        assert world.full_condition("Ready", "so")[0] == "True"
    assert sum("drops" in record.getMessage() for record in caplog.records) == 1
