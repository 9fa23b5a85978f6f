"""What a new object costs does not depend on how many there are: no function is called once for each of the others."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from tests.builders import deployment, metrics_api, scaled_object
from tests.places import ROOT
from tests.worlds.world import World

FEW, MANY = 10, 40
LOG = 6
"""A heap of 40 has two levels more than one of 10, which may be passed a few times for each object."""


async def test_no_function_is_called_for_all_objects_with_each_that_is_new(world: World) -> None:
    few = await calls_of(world, range(FEW))
    await calls_of(world, range(FEW, MANY))
    assert grown(few, await calls_of(world, range(MANY, MANY + FEW))) == {}


async def test_no_function_is_called_for_all_objects_with_each_workload_that_is_new(world: World) -> None:
    await calls_of(world, range(FEW))
    few = await calls_of_workloads(world, "early")
    await calls_of(world, range(FEW, MANY))
    assert grown(few, await calls_of_workloads(world, "later")) == {}


def grown(few: Counter[CodeType], many: Counter[CodeType]) -> Mapping[CodeType, int]:
    return {code: count - few[code] for code, count in many.items() if count - few[code] > LOG * FEW}


async def calls_of(world: World, numbers: range) -> Counter[CodeType]:
    """How often each function of keda_py is called, the embedded cluster's too, while so many objects become Ready."""
    await world.create(*(deployment(f"app-{number}", 0) for number in numbers))
    await world.seconds(2)
    with noted() as calls:
        for number in numbers:
            name = f"app-{number}"
            target = {"scaleTargetRef": {"name": name}, "pollingInterval": 300}
            await world.create(scaled_object(metrics_api(world.url), name=name, **target))
        await world.seconds(2)
    return calls


async def calls_of_workloads(world: World, name: str) -> Counter[CodeType]:
    """The same while Deployments are made that no object scales."""
    with noted() as calls:
        await world.create(*(deployment(f"{name}-{number}", 0) for number in range(FEW)))
        await world.seconds(2)
    return calls


@contextmanager
def noted() -> Iterator[Counter[CodeType]]:
    calls: Counter[CodeType] = Counter()
    ours = f"{ROOT / 'keda_py'}/"

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ours):
            calls[frame.f_code] += 1

    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)
