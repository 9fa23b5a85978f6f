"""The recordings of tests/golden/hpa_zero.json: 23 HPAs of the real controller with HPAScaleToZero on, second by second.

A replay writes a `Trace`: what is seen of the HPA and its workload, at each change. A sync may fall anywhere within
its 5 s, so a replay is tried with its first sync at each quarter of a second of the first one recorded.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import orjson

from keda_py.core.hpa.controller import ControllerOptions
from tests.places import GOLDEN

Json = dict[str, Any]
Seen = tuple[float, int, int | None, dict[str, list[str]]]
"""Second, spec.replicas, status.desiredReplicas (None: there is no HPA), and [status, reason] by condition."""
Trace = list[Seen]

SCENARIOS: Mapping[str, Json] = orjson.loads(GOLDEN.joinpath("hpa_zero.json").read_bytes())["scenarios"]
SYNC_SECONDS = 5.0
OPTIONS = ControllerOptions(downscale_stabilization=timedelta(seconds=10), scale_to_zero=True)
PHASES = tuple(number / 4 for number in range(-4, 5))
PERIODS = (SYNC_SECONDS, SYNC_SECONDS + 0.01, SYNC_SECONDS + 0.02)
"""Seconds from sync to sync: the real controller queues an HPA anew during its sync, or when that is over."""
_SLACK = SYNC_SECONDS + 1.0
"""Seconds. A recommendation that is two syncs old is as old as the window of 10 s: whether it still counts is decided
by milliseconds, and falls out both ways in the recording. What is recorded was looked at once a second."""


def recorded(scenario: Json) -> Trace:
    return [(second, count, desired, conditions) for second, count, desired, conditions in scenario["seen"]]


def metrics_of(scenario: Json) -> list[Json]:
    """All metrics of the HPA, as autoscaling/v2 has them."""
    kind = scenario["targetKind"]
    field = "value" if kind == "Value" else "averageValue"
    own = [("queue", scenario["target"], kind, field)]
    others = [(extra["name"], extra["target"], "AverageValue", "averageValue") for extra in scenario["extra"]]
    return [
        {"type": "External", "external": {"metric": {"name": name}, "target": {"type": kind, field: target}}}
        for name, target, kind, field in (*own, *others)
    ]


def values_of(scenario: Json) -> dict[str, list[tuple[float, float | None]]]:
    """The values of each metric: from which second on, and what; None: the source fails."""
    extra = {one["name"]: one["values"] for one in scenario["extra"]}
    return {
        name: [(float(second), value) for second, value in values]
        for name, values in {"queue": scenario["values"], **extra}.items()
    }


def first_sync(scenario: Json) -> float:
    """The second of the first sync recorded."""
    return float(scenario["seen"][1][0])


def differences(found: Trace, scenario: Json) -> list[str]:
    """What differs from the recording, or comes more than a sync earlier or later."""
    wanted = recorded(scenario)
    told = [
        f"{mine} is not {theirs}"
        for mine, theirs in zip(found, wanted, strict=False)
        if mine[1:] != theirs[1:] or abs(mine[0] - theirs[0]) > _SLACK
    ]
    return told + ([f"{len(found)} changes, not {len(wanted)}"] if len(found) != len(wanted) else [])


def closest(traces: Sequence[Trace], scenario: Json) -> list[str]:
    """The differences of the replay that has the fewest."""
    return min((differences(trace, scenario) for trace in traces), key=len)


def note(trace: Trace, seen: Seen) -> None:
    """Add what is seen, if it changed."""
    if not trace or trace[-1][1:] != seen[1:]:
        trace.append(seen)
