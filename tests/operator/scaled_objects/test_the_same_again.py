"""Looks that see what the one before saw come to nothing at once; whatever changes between two of them is seen."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from keda_py.core.fallback import FallbackState
from keda_py.core.reading import Reading
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import DEPLOYMENTS, SCALED_OBJECTS
from keda_py.localkube.plane import SYNC_SECONDS
from keda_py.operator.controller.fast_path import FastPath
from keda_py.operator.decisions.history import PAUSE_SECONDS
from keda_py.operator.scaled_objects.kind import ScaledObjects
from tests.builders import cron, deployment, metrics_api, scaled_object
from tests.worlds.world import World

POLL = 10


async def test_whatever_changes_after_many_looks_at_the_same_is_found_by_the_next(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=POLL, cooldownPeriod=0))
    status = SCALED_OBJECTS.named("default", "app", "status")
    await _idle(world)

    await world.patch(DEPLOYMENTS, {"spec": {"replicas": 3}})
    await _becomes(world, lambda: world.replicas() == 0)

    await world.client.patch(status, {"status": {"conditions": None, "kedaPy": None}})
    await _becomes(world, lambda: world.condition("Active") == ("False", "ScalerNotActive"))
    assert world.status()["kedaPy"]["reason"] == "Inactive"

    world.server.answers["/jobs"] = "no number"
    await _becomes(world, lambda: world.condition("Ready") == ("False", "TriggerError"))
    world.jobs(0)
    await _becomes(world, lambda: world.condition("Ready") == ("True", "ScaledObjectReady"))

    await world.patch(SCALED_OBJECTS, {"spec": {"minReplicaCount": 2}})
    await _becomes(world, lambda: world.replicas() == 2)
    await world.patch(SCALED_OBJECTS, {"spec": {"minReplicaCount": 0}})
    await _becomes(world, lambda: world.replicas() == 0)

    world.jobs(1)
    await _becomes(world, lambda: world.replicas() == 1)


async def test_a_count_changed_by_hand_is_seen_before_the_hpa_notices(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=1, cooldownPeriod=0))
    await world.seconds(SYNC_SECONDS + 1)
    await world.patch(DEPLOYMENTS, {"spec": {"replicas": 3}})
    await world.seconds(1.5)
    assert world.replicas() == 0


async def test_what_is_told_of_the_last_look_and_of_sleep_goes_on_while_nothing_changes(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=POLL))
    await _idle(world)
    assert world.operator.assembly is not None
    instruments, record = world.operator.assembly.parts.shared.instruments, world.operator.assembly.parts.shared.record

    def saved() -> float:
        labels = {"namespace": "default", "kind": "ScaledObject", "name": "app"}
        return instruments.registry.get_sample_value("keda_py_saved_replica_seconds", labels) or 0.0

    writes, before = world.writes_of(SCALED_OBJECTS), saved()
    await world.seconds(20 * POLL)
    assert (saved() - before, writes) == (20 * POLL, [])
    last = record.last(ObjectKey("ScaledObject", "default", "app"))
    assert last is not None
    assert world.clock.now() - last.at < timedelta(seconds=POLL)


async def test_changes_that_wait_to_be_written_are_not_forgotten_while_nothing_changes(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=POLL, cooldownPeriod=0))
    for jobs in (1, 0) * 5:
        world.jobs(jobs)
        await world.seconds(POLL + 1)
    began = world.clock.now()
    flapped = world.status()["kedaPyHistory"]
    await world.seconds(PAUSE_SECONDS - 5 * POLL)
    told = world.status()["kedaPyHistory"]
    assert len(told) > len(flapped)
    assert datetime.fromisoformat(told[-1]["time"]) <= began + timedelta(seconds=2 * POLL)


async def test_whatever_a_look_was_made_of_has_to_be_the_same_for_the_next_to_come_to_nothing(world: World) -> None:
    fallback = {"failureThreshold": 3, "replicas": 1}
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=POLL, fallback=fallback))
    await _idle(world)
    assert world.operator.assembly is not None
    parts, (state,) = world.operator.assembly.parts, world.operator.assembly.scaled_objects.states.values()
    seen, snapshot, spec = await parts.shared.readings.poll(state.key), state.snapshot, state.spec
    assert seen is not None
    assert snapshot is not None
    assert spec is not None
    *others, workload, hpa = snapshot.inputs
    assert isinstance(workload, dict)
    changes: dict[str, dict[str, Any]] = {
        "another version of the spec": {"spec": replace(spec)},
        "a status written by another": {"stored": dict(state.stored)},
        "a status that is still to be written": {"staged": {"health": {}}},
        "a reason that is held back": {"reason_fields": {}},
        "five minutes": {"snapshot": replace(snapshot, until=parts.shared.clock.monotonic())},
        "another version of the workload": {"snapshot": replace(snapshot, inputs=(*others, {**workload}, hpa))},
        "a count of our own that is on its way": {"written": (1, 0)},
        "an HPA that has gone": {"snapshot": replace(snapshot, inputs=(*others, workload, {}))},
        "another reading": {"snapshot": replace(snapshot, outcomes=(Reading(value=1.0, active=True),))},
        "failures that are counted": {"snapshot": replace(snapshot, health={"s0-app": FallbackState(failures=1)})},
    }
    fast_path, now = FastPath(parts.shared, ScaledObjects(parts), {}), parts.shared.clock.monotonic()
    assert fast_path.same_round(state, snapshot, now) == seen
    changed = {what: replace(state, **change) for what, change in changes.items()}
    same = [what for what, one in changed.items() if one.snapshot and fast_path.same_round(one, one.snapshot, now)]
    assert same == []


async def _idle(world: World) -> None:
    """Until several looks have seen the same."""
    await world.seconds(4 * POLL)


async def _becomes(world: World, holds: Callable[[], bool]) -> None:
    """Within one poll, and so it stays."""
    await world.seconds(POLL + 1)
    assert holds()
    await _idle(world)
    assert holds()


async def test_what_was_seen_counts_no_longer_than_the_decision_stands(world: World) -> None:
    opens = world.clock.now() + timedelta(minutes=3)
    window = cron(f"{opens.minute} {opens.hour} * * *", f"{opens.minute} {(opens.hour + 1) % 24} * * *", 1)
    await world.create(deployment(), scaled_object(window, pollingInterval=POLL, cooldownPeriod=0))
    await _idle(world)
    assert world.operator.assembly is not None
    (state,) = world.operator.assembly.scaled_objects.states.values()
    assert state.snapshot is not None
    assert state.snapshot.look_again_at is not None
    left = (state.snapshot.look_again_at - world.clock.now()).total_seconds()
    assert state.snapshot.until - world.clock.monotonic() <= left
