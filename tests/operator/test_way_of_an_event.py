"""One change of an object's spec, followed from file to file: it is reconciled, looked at and written down, once."""

from keda_py.kube.resources import HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.operator.way import returns, watched_way
from tests.worlds.world import HPA, World

MOST_FILES, MOST_RETURNS = 69, 166
PARSING = "apis/parsing.py"


async def test_a_change_of_a_spec_passes_few_files_and_returns_to_few(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(42)
    with watched_way() as way:
        await world.patch(SCALED_OBJECTS, {"spec": {"cooldownPeriod": 7}})
        await world.clock.settle()
    files = way.of("work ScaledObject/default/app")
    assert len(set(files)) <= MOST_FILES
    assert returns(files) <= MOST_RETURNS


async def test_a_change_that_is_written_to_the_hpa_is_reconciled_once(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(42)
    with watched_way() as way:
        await world.patch(SCALED_OBJECTS, {"spec": {"maxReplicaCount": 7}})
        await world.clock.settle()
    assert world.get(HORIZONTAL_POD_AUTOSCALERS, HPA)["spec"]["maxReplicas"] == 7
    assert way.of("work ScaledObject/default/app").count(PARSING) == 1
