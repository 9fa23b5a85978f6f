"""Pause annotations in every order: what is held stays held, nothing bounces, and the way back is the same."""

import contextlib
import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from keda_py.core.spec import FORCE_ACTIVATION
from keda_py.core.values.pause import PAUSED, PAUSED_REPLICAS, PAUSED_SCALE_IN, PAUSED_SCALE_OUT
from tests.builders import hpa
from tests.parity.source import Source
from tests.parity.world import Counts, two_containers, unhurried
from tests.sweeps import WHOLE
from tests.worlds.world import World

NONE: Mapping[str, str | None] = dict.fromkeys(
    (PAUSED, PAUSED_REPLICAS, PAUSED_SCALE_IN, PAUSED_SCALE_OUT, FORCE_ACTIVATION)
)
PAUSES: dict[str, Mapping[str, str]] = {
    "nothing": {},
    "paused": {PAUSED: "true"},
    "paused-replicas": {PAUSED_REPLICAS: "3"},
    "both": {PAUSED: "true", PAUSED_REPLICAS: "3"},
    "scale-in": {PAUSED_SCALE_IN: "true"},
    "scale-out": {PAUSED_SCALE_OUT: "true"},
    "forced": {FORCE_ACTIVATION: "true"},
}
HPA = "keda-hpa-so"


async def switch(world: World, pause: str) -> None:
    """The annotations of `pause` and no others."""
    await world.annotate({**NONE, **PAUSES[pause]}, "so")


def is_stopped(pause: str) -> bool:
    return pause in ("paused", "paused-replicas", "both")


def check(world: World, pause: str) -> None:
    """What has to be so under any pause, whatever was before."""
    stopped, status = is_stopped(pause), world.status("so")
    assert (world.hpa(HPA) is None) == stopped
    assert world.full_condition("Paused", "so")[0] == ("False" if pause in ("nothing", "forced") else "True")
    message = "ScaledObject is paused" if stopped else "ScaledObject is defined correctly and is ready for scaling"
    assert world.full_condition("Ready", "so") == ("True", "ScaledObjectReady", message)
    assert status["originalReplicaCount"] == 1
    assert status.get("pausedReplicaCount") == (3 if "replicas" in pause or pause == "both" else None)
    if pause in ("paused-replicas", "both"):
        assert world.replicas("t") == 3
    if not stopped:
        behavior = world.hpa(HPA)["spec"].get("behavior") or {}
        assert (behavior.get("scaleDown", {}).get("selectPolicy") == "Disabled") == (pause == "scale-in")
        assert (behavior.get("scaleUp", {}).get("selectPolicy") == "Disabled") == (pause == "scale-out")


def round_trip(*, last: int | None = None) -> list[str]:
    """A way through the pauses, back to where it began, that takes each step from one to another once.

    Up to the stride `last` only some of them.
    """
    names = list(PAUSES)
    strides = range(1, len(names))[:last]  # as many names as a prime number: each stride meets all of them
    return names[:1] + [names[stride * turn % len(names)] for stride in strides for turn in range(1, len(names) + 1)]


def test_the_round_trip_has_every_order_of_two_pauses() -> None:
    assert sorted(itertools.pairwise(round_trip())) == sorted(itertools.permutations(PAUSES, 2))


@pytest.mark.parametrize("restart", [False, True], ids=["running", "restarted"])
async def test_every_order_of_two_pauses_ends_where_the_second_says(
    world: World, source: Source, restart: bool
) -> None:
    source.value = 20
    await world.create(two_containers(), unhurried(source.trigger()))
    async with contextlib.AsyncExitStack() as running:
        await running.enter_async_context(world.operator.running())
        await world.seconds(30)
        assert world.replicas("t") == 4
        for pause in round_trip(last=None if WHOLE or not restart else 1):
            if restart:
                await running.aclose()
            await switch(world, pause)
            if restart:
                await world.seconds(5)
                await running.enter_async_context(world.operator.running())
            await world.seconds(15)
            check(world, pause)


async def test_pausing_and_going_on_never_bounces(world: World, source: Source) -> None:
    source.value = 20
    await world.create(two_containers(replicas=4), unhurried(source.trigger()))
    async with world.operator.running():
        await world.seconds(30)
        counts = Counts(world, "t")
        for pause in ("paused", "nothing", "both", "paused", "nothing"):
            await switch(world, pause)
            await world.seconds(40)
    # Held at 3 by paused-replicas, and back to what the load asks for once nothing holds it.
    assert counts.seen == [4, 3, 4]


async def test_a_pause_holds_what_is_there_while_the_load_goes_away(world: World, source: Source) -> None:
    source.value = 20
    await world.create(two_containers(), unhurried(source.trigger()))
    async with world.operator.running():
        await world.seconds(30)
        counts = Counts(world, "t")
        await switch(world, "paused")
        source.value = 0
        await world.seconds(300)
        assert counts.seen == [4]
    async with world.operator.running():
        await world.seconds(300)
        assert counts.seen == [4]
        await switch(world, "nothing")
        await world.seconds(60)
    assert counts.seen[-1] == 0


@pytest.mark.parametrize("annotations", [{PAUSED: "true"}, {PAUSED_REPLICAS: "0"}], ids=["paused", "at zero"])
async def test_an_object_without_replicas_is_held_too(
    world: World, source: Source, annotations: Mapping[str, str]
) -> None:
    await world.create(two_containers(replicas=0), unhurried(source.trigger(), annotations=annotations))
    source.value = 20
    async with world.operator.running():
        counts = Counts(world, "t")
        await world.seconds(60)
        assert (counts.seen, world.hpa(HPA)) == ([0], None)
        await switch(world, "nothing")
        await world.seconds(60)
    assert counts.seen[:2] == [0, 1]
    assert counts.seen[-1] == 4


async def test_scale_in_paused_keeps_the_last_replica_and_scale_out_paused_the_last_zero(
    world: World, source: Source
) -> None:
    await world.create(two_containers(), unhurried(source.trigger(), annotations={PAUSED_SCALE_IN: "true"}))
    async with world.operator.running():
        await world.seconds(120)
        assert world.replicas("t") == 1
        await switch(world, "nothing")
        await world.seconds(60)
        assert world.replicas("t") == 0
        await switch(world, "scale-out")
        source.value = 20
        await world.seconds(120)
        assert world.replicas("t") == 0
        assert world.full_condition("Active", "so")[:2] == ("True", "ScalerActive")


async def test_forced_activation_lifts_from_zero_and_lasts_as_long_as_the_annotation(
    world: World, source: Source
) -> None:
    await world.create(two_containers(replicas=0), unhurried(source.trigger()))
    async with world.operator.running():
        await world.seconds(20)
        await switch(world, "forced")
        await world.seconds(120)
        assert world.replicas("t") == 1
        assert "because activation is being forced by annotation" in world.full_condition("Active", "so")[2]
        await switch(world, "nothing")
        await world.seconds(15)
        assert world.replicas("t") == 1, "the cooldown begins when the force ends"
        await world.seconds(30)
        assert world.replicas("t") == 0


@pytest.mark.parametrize("written", ["two", "", "-1", "1.5", "99999999999"])
async def test_a_count_that_is_none_is_refused_by_name(world: World, source: Source, written: str) -> None:
    await world.create(two_containers(), unhurried(source.trigger(), annotations={PAUSED_REPLICAS: written}))
    async with world.operator.running():
        await world.seconds(5)
        status, reason, message = world.full_condition("Ready", "so")
        assert (status, reason) == ("False", "ScaledObjectCheckFailed")
        assert f'{PAUSED_REPLICAS}: "{written}" is not a number' in message
        assert message.startswith("failed to scale target to paused replica count: ")
        assert world.replicas("t") == 1


async def test_pausing_is_told_once_and_so_is_going_on(world: World, source: Source) -> None:
    await world.create(two_containers(), unhurried(source.trigger()))
    async with world.operator.running():
        for pause in ("paused", "scale-in", "both", "nothing"):
            await switch(world, pause)
            await world.seconds(15)
    async with world.operator.running():
        await world.seconds(15)
    told = [reason for reason in world.reasons("so") if "aused" in reason]
    assert told == ["ScaledObjectPaused", "ScaledObjectUnpaused"]


async def test_an_autoscaler_that_appears_under_a_pause_goes_away_again(world: World, source: Source) -> None:
    await world.create(two_containers(), unhurried(source.trigger()))
    async with world.operator.running():
        await world.seconds(5)
        ours = world.hpa(HPA)
        await switch(world, "paused")
        await world.seconds(5)
        await world.create({key: ours[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": _bare(ours)})
        await world.seconds(5)
        assert world.hpa(HPA) is None


async def test_somebody_elses_autoscaler_survives_a_pause(world: World, source: Source) -> None:
    await world.create(hpa(HPA, "other"), two_containers(), unhurried(source.trigger(), annotations={PAUSED: "true"}))
    async with world.operator.running():
        await world.seconds(30)
        assert world.hpa(HPA) is not None


def _bare(hpa: dict[str, Any]) -> dict[str, Any]:
    return {key: hpa["metadata"][key] for key in ("name", "ownerReferences")}
