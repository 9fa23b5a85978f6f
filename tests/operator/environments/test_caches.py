"""Without their CRDs environments are off: one log line, and the operator does all else."""

import logging

import pytest

from keda_py.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from tests.builders import deployment, metrics_api, scaled_object
from tests.definitions import DEFINITIONS
from tests.operator.world import World


async def test_without_its_definitions_it_says_so_once_and_scales_as_ever(
    quiet_world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world = quiet_world
    for definition in DEFINITIONS:
        if definition["spec"]["group"] == "keda-py.dev":
            await world.delete(CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"])
    with caplog.at_level(logging.INFO):
        await world.start()
        world.jobs(10)
        await world.create(deployment(), scaled_object(metrics_api(world.url)))
        await world.seconds(30)
    assert world.replicas() >= 1
    assert [one for one in caplog.messages if "environments are off" in one] == [
        "environments are off: their crds are not installed; `keda-py crds` prints them"
    ]
    assert "watch failing" not in caplog.messages
