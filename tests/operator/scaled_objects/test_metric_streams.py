"""A scaler elsewhere that streams its metrics: the HPA follows, without a poll and without an edit of the object."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.builders import deployment, scaled_object
from tests.scalers.grpc.conftest import External, external_server
from tests.waiting import eventually
from tests.worlds.world import World

LONG = 3600


@pytest.fixture
async def external() -> AsyncIterator[External]:
    async with external_server() as external:
        external.tells_specs = True
        external.values["jobs"] = external.values["more"] = [{"metricValue": 3}]
        yield external


def targets(world: World) -> list[tuple[str, str]]:
    hpa: Any = world.hpa("keda-hpa-app")
    listed = hpa["spec"]["metrics"] if hpa else []
    return [(one["external"]["metric"]["name"], one["external"]["target"]["averageValue"]) for one in listed]


async def test_the_hpa_follows_targets_and_metrics_that_are_streamed(world: World, external: External) -> None:
    trigger = {"type": "external-push", "metadata": {"scalerAddress": external.address}}
    await world.create(deployment(), scaled_object(trigger, pollingInterval=LONG))
    await world.seconds(1)
    assert targets(world) == [("s0-jobs", "5")]
    now, asked = world.clock.monotonic(), len(external.asked)
    external.told_specs.put_nowait([{"metricName": "jobs", "targetSize": 8}])
    await eventually(lambda: targets(world) == [("s0-jobs", "8")])
    external.told_specs.put_nowait([{"metricName": "jobs", "targetSize": 8}, {"metricName": "more", "targetSize": 2}])
    await eventually(lambda: targets(world) == [("s0-jobs", "8"), ("s0-more", "2")])
    await eventually(lambda: world.status()["externalMetricNames"] == ["s0-jobs", "s0-more"])
    assert world.clock.monotonic() == now
    assert (
        len(external.asked) <= asked + 6
    )  # values and activities of what is new, and no GetMetricSpec for each change
    assert (external.streams, external.spec_streams) == (1, 1)
