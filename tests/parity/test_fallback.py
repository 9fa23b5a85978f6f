"""Fallback end to end: a source that fails, what the HPA is told instead, and what is told of it."""

from typing import Any

import pytest

from keda_py.kube.resources import SCALED_OBJECTS
from tests.parity.source import Source
from tests.parity.world import LONG_POLL_SECONDS, LONG_SYNC_SECONDS, Counts, two_containers, unhurried
from tests.sweeps import size
from tests.worlds.world import World

METRIC = "s0-metric-api-value"
ENTERED, LEFT = "ScaledObjectFallbackActivated", "ScaledObjectFallbackDeactivated"
EXISTS = ("True", "FallbackExists", "At least one trigger is falling back on this scaled object")
NONE = ("False", "NoFallbackFound", "No fallbacks are active on this scaled object")


def fallback(replicas: int = 6, behavior: str = "static", threshold: int = 2) -> dict[str, Any]:
    return {"failureThreshold": threshold, "replicas": replicas, "behavior": behavior}


async def fail(world: World, source: Source, seconds: float = 60) -> None:
    source.value = None
    await world.seconds(seconds)


WANTED = {
    ("static", 6): 6,
    ("static", 2): 2,
    ("currentReplicas", 6): 4,
    ("currentReplicas", 2): 4,
    ("currentReplicasIfHigher", 6): 6,
    ("currentReplicasIfHigher", 2): 4,
    ("currentReplicasIfLower", 6): 4,
    ("currentReplicasIfLower", 2): 2,
}
"""Of 4 replicas, by behavior and the fallback's own count."""


@pytest.mark.parametrize("kind", ["AverageValue", "Value"])
async def test_the_replicas_under_fallback(world: World, source: Source, kind: str) -> None:
    # A Value is compared as a whole: 5 for 4 replicas keeps them.
    source.value = 20 if kind == "AverageValue" else 5
    names = {f"{behavior}-{replicas}".lower(): (behavior, replicas) for behavior, replicas in WANTED}
    for name, (behavior, replicas) in names.items():
        trigger, target = source.trigger(metricType=kind), {"name": name}
        spec = unhurried(trigger, name=name, scaleTargetRef=target, fallback=fallback(replicas, behavior))
        await world.create(two_containers(name=name, replicas=4), spec)
    async with world.operator.running():
        await world.seconds(20)
        assert {name: world.replicas(name) for name in names} == dict.fromkeys(names, 4)
        await fail(world, source, size(120, 60))
        assert {case: world.replicas(name) for name, case in names.items()} == WANTED
        assert {name: world.full_condition("Fallback", name) for name in names} == dict.fromkeys(names, EXISTS)
        active = {name: world.full_condition("Active", name)[:2] for name in names}
        assert active == dict.fromkeys(names, ("True", "ScalerActive"))
        assert {name: world.full_condition("Ready", name)[0] for name in names} == dict.fromkeys(names, "True")


async def test_up_to_the_threshold_nothing_changes_and_the_hpa_hears_the_error(world: World, source: Source) -> None:
    source.value = 20
    await world.create(two_containers(replicas=4), unhurried(source.trigger(), fallback=fallback(threshold=1000)))
    async with world.operator.running():
        await world.seconds(20)
        await fail(world, source, size(300, 120))
        assert world.replicas("t") == 4
        assert world.full_condition("Fallback", "so") == NONE
        assert world.full_condition("Ready", "so")[0] == "True"
        assert world.full_condition("HPAActive", "so")[:2] == ("False", "FailedGetExternalMetric")
        assert world.status("so")["health"][METRIC]["status"] == "Failing"


async def test_an_object_at_zero_is_lifted_by_its_fallback_and_told_of_by_events(world: World, source: Source) -> None:
    await world.create(two_containers(replicas=0), unhurried(source.trigger(), fallback=fallback(3)))
    async with world.operator.running():
        await world.seconds(5)
        counts = Counts(world, "t")
        # Only the polls ask while there are no replicas, so a poll finds out.
        await fail(world, source)
        assert counts.seen == [0, 1, 3]
        assert world.reasons("so").count(ENTERED) == 1
        assert world.full_condition("Fallback", "so") == EXISTS
        source.value = 0
        await world.seconds(120)
        assert counts.seen[-1] == 0
        assert world.full_condition("Fallback", "so") == NONE
        assert world.status("so")["health"][METRIC] == {"numberOfFailures": 0, "status": "Happy"}


async def test_a_manifest_that_becomes_wrong_does_not_end_a_fallback(world: World, source: Source) -> None:
    await world.create(two_containers(replicas=1), unhurried(source.trigger(), fallback=fallback()))
    async with world.operator.running():
        await fail(world, source, 120)
        assert world.full_condition("Fallback", "so") == EXISTS
        await world.patch(SCALED_OBJECTS, {"spec": {"triggers": [{"type": "nothing", "metadata": {}}]}}, "so")
        await world.seconds(5)
        assert world.full_condition("Ready", "so")[1] == "ScaledObjectCheckFailed"
        assert world.full_condition("Fallback", "so") == EXISTS
        await world.patch(SCALED_OBJECTS, {"spec": {"fallback": None}}, "so")
        await world.seconds(5)
        assert world.full_condition("Fallback", "so") == NONE


async def test_a_poll_that_finds_the_source_well_again_says_so(world: World, source: Source) -> None:
    spec = unhurried(source.trigger(), fallback=fallback(3), pollingInterval=2)
    await world.create(two_containers(replicas=0), spec)
    async with world.operator.running():
        await fail(world, source, 30)
        assert world.full_condition("Fallback", "so") == EXISTS
        source.value = 0
        await world.seconds(60)
    assert [reason for reason in world.reasons("so") if "Fallback" in reason] == [ENTERED, LEFT]


async def test_a_fallback_to_zero_lets_the_replicas_go(world: World, source: Source) -> None:
    await world.create(two_containers(), unhurried(source.trigger(), fallback=fallback(0, threshold=1000)))
    async with world.operator.running():
        await fail(world, source, 60)
        assert world.replicas("t") == 0


async def test_without_ready_pods_a_value_has_no_fallback(world: World, source: Source) -> None:
    never_ready = two_containers(replicas=4)
    never_ready["spec"]["template"]["metadata"]["annotations"]["local.keda-py.dev/startup-seconds"] = "3600"
    spec = unhurried(source.trigger(metricType="Value"), fallback=fallback(6))
    await world.create(never_ready, spec)
    async with world.operator.running():
        await fail(world, source, 60)
        assert world.replicas("t") == 4
        assert world.full_condition("Ready", "so")[0] == "True"
        assert any("no ready pods" in note for _, _, note in world.events("so"))


async def test_a_restart_neither_ends_nor_repeats_a_fallback(world: World, source: Source) -> None:
    await world.create(two_containers(replicas=0), unhurried(source.trigger(), fallback=fallback(3)))
    async with world.operator.running():
        await fail(world, source)
        counts = Counts(world, "t")
    async with world.operator.running():
        await world.seconds(60)
        assert world.full_condition("Fallback", "so") == EXISTS
    assert counts.seen == [3]
    assert world.reasons("so").count(ENTERED) == 1


@pytest.mark.parametrize("hpa_sync_seconds", [LONG_SYNC_SECONDS], ids=["long"])
async def test_a_long_outage_is_not_written_at_every_poll(world: World, source: Source) -> None:
    spec = unhurried(source.trigger(), fallback=fallback(6), pollingInterval=LONG_POLL_SECONDS)
    await world.create(two_containers(replicas=4), spec)
    async with world.operator.running():
        await fail(world, source, size(120, 300))
        assert world.full_condition("Fallback", "so") == EXISTS
        before = world.get(SCALED_OBJECTS, "so")
        await world.seconds(3600)
        assert world.get(SCALED_OBJECTS, "so") == before
