"""Previews are judged by the operator: on the embedded cluster it keeps them to the second, the HPA to a sync.

The night is one on which Prague's clocks go forward. Windows, bounds, cooldowns and stabilisation are drawn by lot;
`PREVIEWS=20` draws that many nights.
"""

import os
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from keda_py.kube.resources import DEPLOYMENTS, Obj
from keda_py.localkube.store.subscriptions import Event
from keda_py.replay.timeline import Step, Timeline
from tests.builders import GROUP, cron, deployment, obj, scaled_object
from tests.preview.builders import look, the
from tests.worlds.world import World

BEGINS = datetime(2027, 3, 28, 0, 30, tzinfo=UTC)
"""Half past one in Prague; at 01:00Z it is three o'clock there."""
LENGTH = timedelta(minutes=64)
SECOND, SYNC = timedelta(seconds=1), timedelta(seconds=15)
NIGHTS = int(os.environ.get("PREVIEWS", "1"))
NAMES = ["plain", "formula", "held", "bounded", *(f"lot-{number}" for number in range(4))]


def drawn(lot: Random, name: str) -> Obj:
    """A ScaledObject whose window opens and closes in the night."""
    opens = BEGINS + timedelta(minutes=lot.randint(3, 30))
    closes = opens + timedelta(minutes=lot.randint(5, 25))
    zone = lot.choice(["UTC", "Asia/Seoul"])
    window = cron(*(at_in(at, zone) for at in (opens, closes)), lot.randint(1, 6), zone)
    minimum = lot.choice([0, 1, 2])
    spec: dict[str, Any] = {
        "pollingInterval": lot.choice([10, 30, 60]),
        "cooldownPeriod": lot.choice([0, 45, 300, 400]),
        "minReplicaCount": minimum,
        "idleReplicaCount": 0 if minimum and lot.random() < 0.5 else None,
        "maxReplicaCount": lot.choice([3, 10]),
    }
    if lot.random() < 0.5:
        down = {"stabilizationWindowSeconds": lot.choice([0, 60, 200])}
        spec["advanced"] = {"horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": down}}}
    return scaled_object(window, name=name, **spec)


def at_in(at: datetime, zone: str) -> str:
    local = at + timedelta(hours=9 if zone == "Asia/Seoul" else 0)
    return f"{local.minute} {local.hour} * * *"


def fixed() -> list[Obj]:
    """Objects that no lot would draw: in the skipped hour, under a formula, held at a count, above a minimum."""
    skipped = cron("30 2 * * *", "20 3 * * *", 3, "Europe/Prague")
    named = {**cron("40 0 * * *", "0 1 * * *", 2), "name": "a"}
    formula = {"scalingModifiers": {"formula": "a * 2", "target": "1"}}
    paused = {"autoscaling.keda.sh/paused-replicas": "2"}
    return [
        scaled_object(skipped, name="plain", pollingInterval=60, cooldownPeriod=120),
        scaled_object(named, name="formula", pollingInterval=30, advanced=formula, maxReplicaCount=10),
        scaled_object(named, name="held", annotations=paused),
        scaled_object(cron("40 0 * * *", "0 1 * * *", 4), name="bounded", pollingInterval=30, minReplicaCount=1),
    ]


class Done:
    """The steps of each Deployment, as they were written."""

    def __init__(self, world: World) -> None:
        self.steps: dict[str, list[Step]] = {name: [] for name in NAMES}
        self._clock = world.clock
        world.listen(self._hear)

    def _hear(self, event: Event) -> None:
        if event.resource.plural != DEPLOYMENTS.plural or event.previous is None:
            return
        before, after = event.previous["spec"]["replicas"], event.object["spec"]["replicas"]
        if before != after:
            step = Step(at=self._clock.now(), before=before, replicas=after, reason="", because="")
            self.steps[event.name].append(step)

    def timeline(self, name: str, first: int) -> Timeline:
        return Timeline(begins=BEGINS, ends=BEGINS + LENGTH, replicas=first, steps=tuple(self.steps[name]))


@pytest.mark.parametrize("night", range(NIGHTS))
async def test_what_was_previewed_is_what_the_operator_does(quiet_world: World, night: int) -> None:
    world, lot = quiet_world, Random(night)
    written = [*fixed(), *(drawn(lot, name) for name in NAMES[4:])]
    found = look(*(in_namespace(one) for one in written), begins=BEGINS, length=LENGTH)
    firsts = {name: the(f"ScaledObject/{name}", found).timeline.replicas for name in NAMES}
    world.clock.step(BEGINS - world.clock.now() - timedelta(minutes=1))
    await world.operator.start()
    await world.create(*(deployment(name, firsts[name]) for name in NAMES), *written)
    await world.seconds((BEGINS - world.clock.now()).total_seconds())
    assert {name: world.replicas(name) for name in NAMES} == firsts
    done = Done(world)
    await world.seconds(LENGTH.total_seconds())
    for name in NAMES:
        told = the(f"ScaledObject/{name}", found).timeline.moves
        did = done.timeline(name, firsts[name]).moves
        assert [(step.before, step.replicas) for step in did] == [(step.before, step.replicas) for step in told], name
        for was, will in zip(did, told, strict=True):
            assert abs(was.at - will.at) <= (SYNC if will.reason == "Scaled" else SECOND), (name, was, will)
    assert sum(len(steps) for steps in done.steps.values()) > len(NAMES)


def in_namespace(body: Obj) -> Obj:
    return {**body, "metadata": {**body["metadata"], "namespace": "default"}}


ENVIRONMENT = {
    "grace": "0s",
    "calendar": {"timeZone": "UTC", "hours": [{"from": "00:40", "to": "01:10"}]},
    "waves": [{"name": "first", "pause": "30s", "selector": {"matchLabels": {"wave": "first"}}}],
}


async def test_an_environment_does_what_was_previewed(quiet_world: World) -> None:
    """Within the seconds that pods take to go, which a preview does not know."""
    world = quiet_world
    first = deployment("plain", 3)
    first["metadata"]["labels"] = {"wave": "first"}
    late = obj(GROUP, "Override", "late", spec={"state": "Awake", "from": "2027-03-28T01:20:00Z", "for": "10m"})
    written = [
        obj(GROUP, "Environment", "dev", spec=ENVIRONMENT),
        first,
        scaled_object(cron("35 0 * * *", "50 0 * * *", 2), name="held", pollingInterval=30, cooldownPeriod=60),
        scaled_object(cron("0 0 * * *", "0 3 * * *", 1), name="bounded", pollingInterval=30, minReplicaCount=1),
    ]
    found = look(*(in_namespace(one) for one in (*written, late)), begins=BEGINS, length=LENGTH)
    world.clock.step(BEGINS - world.clock.now() - timedelta(minutes=1))
    await world.operator.start()
    await world.create(deployment("held", 0), deployment("bounded", 1), *written, late)
    await world.seconds((BEGINS - world.clock.now()).total_seconds())
    done = Done(world)
    await world.seconds(LENGTH.total_seconds())
    for kind, name in (("Deployment", "plain"), ("ScaledObject", "held"), ("ScaledObject", "bounded")):
        told = the(f"{kind}/{name}", found).timeline.moves
        did = done.timeline(name, 0).moves
        assert [(step.before, step.replicas) for step in did] == [(step.before, step.replicas) for step in told], name
        for was, will in zip(did, told, strict=True):
            assert abs(was.at - will.at) <= SYNC, (name, was, will)
