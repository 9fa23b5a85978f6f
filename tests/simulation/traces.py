"""The recorded scenarios of tests/golden/traces.json as plans, and the comparison that its readMe states."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from keda_py.core.hpa.controller import ControllerOptions
from keda_py.errors import ScalerError
from keda_py.replay.engine.setting import Cluster, Setting
from keda_py.replay.engine.source import Source
from keda_py.replay.engine.subject import Subject
from keda_py.sdk.offline import shared_context
from keda_py.simulation.runs.run import Plan
from keda_py.simulation.sources import Column, OwnReading, Row, Rows, SimulatedClock
from keda_py.simulation.subject import SimulatedObject, build_object
from tests.places import GOLDEN

Json = dict[str, Any]
RECORDING = json.loads((GOLDEN / "traces.json").read_text())
SCENARIOS: dict[str, Json] = RECORDING["scenarios"]
SECONDS: int = RECORDING["seconds"]
ORIGIN = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
SYNC_SECONDS, SLACK = 5.0, 1.0
CREATED_BEFORE = -30.0
NAMES = ("one", "two")
Path = Sequence[tuple[float, int]]


def recorded_object(
    name: str,
    annotations: Json,
    *,
    url: str = "http://127.0.0.1",
    origin: datetime = ORIGIN,
    scenario: Json | None = None,
) -> Json:
    """Second 0 is `origin`; the triggers ask `url`/NAME/0, /1."""
    scenario = scenario or SCENARIOS[name]
    fields = {"targetValue": scenario["target"], **scenario["triggerFields"]}
    outside = {key: fields.pop(key) for key in ("metricType", "useCachedMetrics") if key in fields}
    polled = [
        {
            "type": "metrics-api",
            "name": NAMES[index],
            "metadata": {"url": f"{url}/{name}/{index}", "valueLocation": "v" if index == 0 else "w", **fields},
            **outside,
        }
        for index in range(len(scenario["traces"]))
    ]
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": annotations,
        },
        "spec": {
            "scaleTargetRef": {"name": name},
            "triggers": [*polled, *(window_trigger(window, origin) for window in scenario.get("cron", ()))],
            **scenario["spec"],
        },
    }


def window_trigger(window: Sequence[int], origin: datetime) -> Json:
    start, end, replicas = window
    at = [
        f"{moment.minute} {moment.hour} * * *" for moment in (origin + timedelta(minutes=one) for one in (start, end))
    ]
    metadata = {"start": at[0], "end": at[1], "timezone": "UTC", "desiredReplicas": str(replicas)}
    return {"type": "cron", "metadata": metadata}


def dated(body: Json, created: float) -> Json:
    """Date the object as the API server would, created that many seconds after the origin."""
    moment = ORIGIN + timedelta(seconds=created)
    return {**body, "metadata": {**body["metadata"], "uid": "u", "creationTimestamp": moment.isoformat()}}


def begins_early(scenario: Json) -> bool:
    """Return whether the object is created before second 0."""
    return scenario["startReplicas"] == 0 or scenario["spec"].get("minReplicaCount", 0) > 0


async def plan_of(name: str, *, created: float = CREATED_BEFORE, scenario: Json | None = None) -> Plan:
    scenario, clock = scenario or SCENARIOS[name], SimulatedClock(ORIGIN)
    created = created if begins_early(scenario) else 0.0
    versions: list[tuple[float, Subject]] = []
    built: list[SimulatedObject] = []
    annotations = dict(scenario["annotations"])
    async with shared_context(clock=clock) as lent:
        for at, change in [(created, {}), *scenario["edits"]]:
            annotations = {key: value for key, value in {**annotations, **change}.items() if value is not None}
            built.append(build_object(dated(recorded_object(name, annotations, scenario=scenario), created), lent))
            versions.append((at, built[-1].subject))
    scalers = built[0].scalers
    sources: dict[int, Source] = {index: Column(Rows(rows(trace)), 0) for index, trace in enumerate(scenario["traces"])}
    for index in range(len(scenario["traces"]), len(scalers)):
        sources[index] = OwnReading(scalers[index], clock, ORIGIN)
    return Plan(
        versions=versions,
        setting=Setting(
            sources=sources,
            origin=ORIGIN,
            replicas=scenario["startReplicas"],
            cluster=Cluster(
                ready_after=float(scenario["readyAfter"]),
                sync_seconds=SYNC_SECONDS,
                options=ControllerOptions(downscale_stabilization=timedelta(seconds=10)),
            ),
        ),
        end=float(SECONDS),
    )


def rows(trace: Sequence[tuple[float, Any]]) -> Iterator[Row]:
    return ((float(at), (ScalerError("500") if value == "500" else float(value),)) for at, value in trace)


def recorded(name: str) -> Path:
    found = SCENARIOS[name]["replicas"]
    return [(at, count) for i, (at, count, _) in enumerate(found) if i == 0 or found[i - 1][1] != count]


def count_at(path: Path, at: float) -> int:
    return next((count for when, count in reversed(path) if when <= at), path[0][1])


def outside(a: Path, b: Path, tolerance: float) -> float:
    """Count seconds at which b has no count that a has within the tolerance, nor one between two such counts."""
    seconds = 0.0
    for half in range(2 * SECONDS):
        at = half / 2
        near = [count for when, count in a if at - tolerance < when <= at + tolerance] + [count_at(a, at - tolerance)]
        seconds += 0.0 if min(near) <= count_at(b, at) <= max(near) else 0.5
    return seconds


def apart(name: str, ours: Path) -> float:
    """Count seconds outside, in the worse of both directions; up to one is equal."""
    theirs = recorded(name)
    tolerance = SCENARIOS[name]["spec"].get("pollingInterval", 5) + SYNC_SECONDS + SLACK
    return max(outside(theirs, ours, tolerance), outside(ours, theirs, tolerance))
