"""Scenarios drawn by lot: the simulator and the operator on the embedded cluster scale alike.

Nothing is recorded of them; each judges the other, within one polling interval and one HPA sync. `make fuzz` draws other
ones each time, and ten times as many.
"""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import settings

from keda_py.simulation.runs.run import simulate
from tests.http_server import HttpServer
from tests.operator.test_traces import RECORDED, play
from tests.properties import EXAMPLES
from tests.simulation.test_traces import CREATED, Counts
from tests.simulation.traces import SECONDS, SLACK, SYNC_SECONDS, Json, begins_early, outside, plan_of
from tests.simulation.traces import Path as Steps
from tests.worlds.world import open_world

EXPLORES = settings().max_examples > EXAMPLES
COUNT = int(os.environ.get("DRAWN", "60" if EXPLORES else "4"))
SEED = os.environ.get("DRAWN_SEED") or (str(Random().randrange(10**6)) if EXPLORES else "4")
AS_GOOD_SECONDS = 4.0
"""A pause may cut off a step that another phase would have taken just before."""
PHASES = (*CREATED, -21.3, -24.8, -28.4, -31.7)
JOINED = (0.0, 0.01, *(step / 20 for step in range(1, 20)))
"""Of a polling interval after its creation: the operator polls an object when it polls the others of that source."""
READY_AT_ONCE = (0.0, 0.1)
"""Seconds until pods are ready where a scenario has none: a sync of the HPA may come before."""


def drawn(lot: Random) -> Json:
    """A scenario of the form of tests/golden/traces.json."""
    minimum = lot.choice([0, 0, 0, 1, 2])
    spec = bounds_and_times(lot, minimum)
    fails = lot.random() < 0.4
    traces = [
        trace(lot, fails=fails),
        *([trace(lot, fails=fails and lot.random() < 0.3)] if lot.random() < 0.3 else []),
    ]
    advanced = {}
    fields = {"metricType": lot.choice(["AverageValue", "AverageValue", "Value"])}
    if lot.random() < 0.3:
        fields["activationTargetValue"] = str(lot.choice([2, 4]))
    if lot.random() < 0.2:
        fields["useCachedMetrics"] = True
    if len(traces) == 2 and lot.random() < 0.5:
        advanced["scalingModifiers"] = {"formula": lot.choice(["one + two", "max([one, two])"]), "target": "5"}
        fields = {"activationTargetValue": "0"}
    if lot.random() < 0.5:
        rules = {side: rule(lot) for side in ("scaleUp", "scaleDown") if lot.random() < 0.7}
        advanced["horizontalPodAutoscalerConfig"] = {"behavior": rules} if rules else {}
    if advanced:
        spec["advanced"] = advanced
    if fails and lot.random() < 0.7 and fields.get("metricType") != "Value":
        spec["fallback"] = fallback(lot)
    starts = lot.choice([0, minimum, max(minimum, 1), 3])
    return {
        "traces": traces,
        "startReplicas": starts,
        "readyAfter": lot.choice([0, 0, 12]),
        "annotations": {},
        "edits": edits(lot),
        "target": lot.choice(["5", "2.5"]),
        "triggerFields": fields,
        "spec": spec,
        "cron": [[1, 3, lot.choice([1, 3])]] if lot.random() < 0.2 and "scalingModifiers" not in advanced else [],
    }


def bounds_and_times(lot: Random, minimum: int) -> dict[str, Any]:
    """Of a ScaledObject's spec."""
    found: dict[str, Any] = {
        "pollingInterval": lot.choice([2, 5, 5, 10]),
        "cooldownPeriod": lot.choice([0, 10, 20, 40]),
        "maxReplicaCount": lot.choice([3, 6, 10]),
        "minReplicaCount": minimum,
    }
    if minimum and lot.random() < 0.4:
        found["idleReplicaCount"] = 0
    if lot.random() < 0.2:
        found["initialCooldownPeriod"] = lot.choice([0, 30, 60])
    return found


def fallback(lot: Random) -> dict[str, Any]:
    kinds = ["static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"]
    return {
        "failureThreshold": lot.choice([1, 3]),
        "replicas": lot.choice([1, 4]),
        "behavior": lot.choice(kinds),
    }


def trace(lot: Random, *, fails: bool) -> list[list[Any]]:
    """Steps that last: what changes faster than it is looked at would be chance."""
    found: list[list[Any]] = [[0, lot.choice([0, 0, 7])]]
    at = lot.randint(12, 40)
    while at < SECONDS - 20:
        found.append([at, "500" if fails and lot.random() < 0.3 else lot.choice([0, 0, 1, 3, 7, 12, 18, 31, 60])])
        at += lot.randint(30, 70)
    return found


def rule(lot: Random) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if lot.random() < 0.5:
        found["stabilizationWindowSeconds"] = lot.choice([0, 15, 40])
    if lot.random() < 0.6:
        kinds = [("Pods", 1), ("Pods", 3), ("Percent", 50), ("Percent", 100)]
        chosen = lot.sample(kinds, lot.choice([1, 2]))
        found["policies"] = [
            {"type": kind, "value": value, "periodSeconds": lot.choice([10, 30])} for kind, value in chosen
        ]
        found["selectPolicy"] = lot.choice(["Max", "Min", "Disabled"])
    if lot.random() < 0.2:
        found["tolerance"] = lot.choice(["0", "0.3"])
    return found


def edits(lot: Random) -> list[list[Any]]:
    """Paused for a while, or held at a count."""
    if lot.random() < 0.8:
        return []
    name = "autoscaling.keda.sh/paused" + lot.choice(["", "-replicas"])
    begins = lot.randint(40, 90)
    return [
        [begins, {name: "2" if name.endswith("replicas") else "true"}],
        [begins + lot.randint(20, 60), {name: None}],
    ]


def as_good(scenario: Json) -> Iterator[tuple[float, Json]]:
    """When it is created, and what is played then: all that the operator may make of it, to a fraction of a second."""
    phases = PHASES if begins_early(scenario) else (0.0,)
    for created, part, at_once in itertools.product(phases, JOINED, READY_AT_ONCE):
        anew = [[created + part * scenario["spec"]["pollingInterval"], {}]]  # an edit of nothing begins the polls anew
        edits = [*anew, *scenario["edits"]] if part else scenario["edits"]
        yield created, {**scenario, "edits": edits, "readyAfter": scenario["readyAfter"] or at_once}


async def apart(name: str, scenario: Json, ours: Steps) -> float:
    """Seconds at which the operator is where no simulation is, of the one that fits best."""
    tolerance, least = scenario["spec"]["pollingInterval"] + SYNC_SECONDS + SLACK, float("inf")
    for created, played in as_good(scenario):
        counts = Counts(scenario["startReplicas"])
        simulate(await plan_of(name, created=created, scenario=played), counts)
        found = max(outside(counts.path, ours, tolerance), outside(ours, counts.path, tolerance))
        least = min(least, found)
        if least <= AS_GOOD_SECONDS:
            break
    return least


@pytest.mark.hypothesis
async def test_the_operator_scales_as_is_simulated(tmp_path: Path, server: HttpServer) -> None:
    lot = Random(SEED)
    scenarios = {f"lot-{number}": drawn(lot) for number in range(COUNT)}
    async with open_world(tmp_path, server, options=RECORDED) as world:
        await world.operator.start()
        counts = await play(world, scenarios)
    different = {
        f"DRAWN_SEED={SEED} {name}": (scenarios[name], path)
        for name, path in counts.items()
        if await apart(name, scenarios[name], path) > AS_GOOD_SECONDS
    }
    assert different == {}
