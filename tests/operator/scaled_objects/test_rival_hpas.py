"""HPAs of other owners over the workload of a ScaledObject are told by name, whichever comes first."""

from pathlib import Path

import pytest

from keda_py.core.hpa.controller import ControllerOptions
from keda_py.localkube.cluster import ClusterOptions
from tests.builders import deployment, hpa, metrics_api, scaled_object
from tests.http_server import HttpServer
from tests.worlds.world import World, open_world

TARGET = {"type": "AverageValue", "averageValue": "5"}
METRIC = {"type": "External", "external": {"metric": {"name": "q"}, "target": TARGET}}
TOLD = (
    "HPA theirs scales Deployment app, too and goes to zero by itself: Kubernetes lets neither of two HPAs scale a "
    "workload; delete one of the two"
)


@pytest.mark.parametrize("comes", ["before", "after"])
async def test_a_native_hpa_that_goes_to_zero_is_told_apart_from_ours(
    tmp_path: Path, server: HttpServer, comes: str
) -> None:
    options = ClusterOptions(hpa=ControllerOptions(scale_to_zero=True))
    async with open_world(tmp_path, server, options=options) as world:
        await world.operator.start()
        theirs = hpa("theirs", minReplicas=0, maxReplicas=4, metrics=[METRIC])
        await world.create(deployment(), *([theirs] if comes == "before" else []))
        await world.create(scaled_object(metrics_api(world.url)))
        await world.seconds(5)
        if comes == "after":
            assert "ScaledObjectRivalHPA" not in world.reasons()
            await world.create(theirs)
        for touched in ("", "once", "twice"):
            await world.annotate({"touched": touched})
            await world.seconds(5)
            assert world.notes().count(("ScaledObjectRivalHPA", TOLD)) == 1
        assert world.condition("Ready")[0] == "True"


async def test_one_that_its_author_declares_to_be_no_rival_is_not_told(world: World) -> None:
    theirs = hpa("theirs", minReplicas=1, maxReplicas=4)
    theirs["metadata"]["annotations"] = {"validations.keda.sh/hpa-ownership": "false"}
    await world.create(deployment(), theirs, scaled_object(metrics_api(world.url)))
    await world.seconds(10)
    assert "ScaledObjectRivalHPA" not in world.reasons()
