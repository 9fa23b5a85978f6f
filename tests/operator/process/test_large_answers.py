"""An answer that is large or hard to read is read beside the operator: objects go on, and nothing is left at the end."""

from pathlib import Path

from keda_py.kube.resources import SCALED_OBJECTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.worlds.world import World


def children() -> set[str]:
    """Process ids."""
    return {child for task in Path("/proc/self/task").glob("*/children") for child in task.read_text().split()}


async def test_a_large_answer_scales_and_its_reader_ends_with_the_operator(world: World) -> None:
    before = children()
    many = ",".join(f'{{"id":{number}}}' for number in range(20_000))
    world.server.answers["/large"] = f'{{"jobs":[{many}],"value":7}}'
    large = metrics_api(f"{world.server.url}/large")
    await world.create(deployment(), scaled_object(large))
    await world.seconds(60)
    assert world.condition("Active") == ("True", "ScalerActive")
    assert len(children() - before) == 1
    await world.operator.stop()
    assert children() <= before


async def test_an_answer_that_is_too_long_is_told_with_the_setting_and_a_shorter_one_heals(world: World) -> None:
    world.server.answers["/jobs"] = f'{{"value":7,"more":"{"x" * 2**20}"}}'
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(60)
    assert world.condition("Ready") == ("False", "TriggerError")
    assert any("KEDA_HTTP_MAX_RESPONSE_BYTES" in note for _, note in world.notes())
    world.jobs(7)
    await world.seconds(60)
    assert world.condition("Ready") == ("True", "ScaledObjectReady")
    assert world.get(SCALED_OBJECTS)["status"]
