"""Annotations that cannot be read do no harm: an Event says so once, on the object that carries them."""

import pytest

from keda_py.kube.resources import DEPLOYMENTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.operator.downscaler.builders import NIGHT, mark_namespace, marked, obeying
from tests.operator.environments.builders import until
from tests.worlds.world import World

INVALID = "DownscalerAnnotationInvalid"
WINDOW = "Mon-Fri 08:00-08:00 UTC"
BAD = {
    "zone": ("Mon-Fri 08:00-18:00 Middle/Earth", "'Middle/Earth' is not a known time zone; write for example"),
    "long": ("x" * 250_000, "a time spec has at most 4096 characters; write fewer"),
    "windows": (",".join([WINDOW] * 1000), "a time spec has at most 4096 characters; write fewer"),
    "days": ("Mon-Fry 08:00-18:00 UTC", "'Fry' is not a day of the week; write Mon to Sun"),
}


def told(world: World, name: str, kind: str = "Deployment") -> list[str]:
    return [note for _, reason, note in world.events(name, kind) if reason == INVALID]


async def test_what_cannot_be_read_is_said_once_on_its_object_and_others_sleep_all_the_same(quiet_world: World) -> None:
    world = quiet_world
    for name, (text, _) in BAD.items():
        await world.create(marked(deployment(name, 2), downtime=text))
    await world.create(
        marked(deployment("web", 2), **NIGHT), marked(deployment("odd", 2), downtime_replicas="-3", **NIGHT)
    )
    await obeying(world)
    await until(world, 20, "12:35")
    assert [world.replicas(name) for name in (*BAD, "odd", "web")] == [2, 2, 2, 2, 2, 0]
    for name, (_, what) in BAD.items():
        (note,) = told(world, name)
        assert note.startswith("downscaler/downtime: ")
        assert what in note
    (note,) = told(world, "odd")
    assert "downscaler/downtime-replicas: '-3' is not a number of replicas; write for example 1" in note
    await world.patch(DEPLOYMENTS, {"metadata": {"annotations": {"downscaler/downtime": NIGHT["downtime"]}}}, "days")
    await world.seconds(2)
    assert world.replicas("days") == 0


async def test_a_mistake_in_a_namespace_is_said_on_the_namespace_and_not_on_all_that_is_in_it(
    quiet_world: World,
) -> None:
    world = quiet_world
    await world.create(*(deployment(f"app-{number}", 2) for number in range(3)))
    await obeying(world)
    await mark_namespace(world, uptime="always-ish")
    await until(world, 20, "12:35")
    (note,) = told(world, "default", "Namespace")
    assert note.startswith("downscaler/uptime: 'always-ish' ")
    assert [told(world, f"app-{number}") for number in range(3)] == [[], [], []]


async def test_a_scaled_object_whose_annotation_breaks_at_night_stays_as_it_is(quiet_world: World) -> None:
    world = quiet_world
    world.jobs(10)
    await world.create(deployment(), marked(scaled_object(metrics_api(world.url), pollingInterval=60), **NIGHT))
    await obeying(world, "scaledobjects")
    await until(world, 20, "12:32")
    assert world.replicas() == 0
    await world.annotate({"downscaler/downtime": "whenever"})
    await world.seconds(120)
    assert world.replicas() == 0
    assert len(told(world, "app", "ScaledObject")) == 1


async def test_a_mistake_on_a_workload_is_said_there_and_not_on_its_scaled_object_or_namespace(
    quiet_world: World,
) -> None:
    world = quiet_world
    await world.create(marked(deployment(), downtime="whenever"), scaled_object(metrics_api(world.url)))
    await obeying(world)
    await mark_namespace(world, exclude="false")
    await world.seconds(70)
    kinds = ("Deployment", "ScaledObject", "Namespace")
    assert [len(told(world, "default" if kind == "Namespace" else "app", kind)) for kind in kinds] == [1, 0, 0]


@pytest.mark.parametrize("reader", [{"downtime_replicas": "9" * 250_000}, {"exclude_until": "x" * 250_000}])
async def test_no_annotation_is_kept_longer_than_it_can_be_read(quiet_world: World, reader: dict[str, str]) -> None:
    world = quiet_world
    await world.create(marked(deployment("web", 2), **reader, **NIGHT))
    await obeying(world)
    await world.seconds(1)
    assert world.operator.assembly is not None
    assert world.operator.assembly.downscaler is not None
    (live,) = world.operator.assembly.downscaler.caches.workloads["deployments"].objects()
    assert max(map(len, live["metadata"]["annotations"].values())) == 4097
