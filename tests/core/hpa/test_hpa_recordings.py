"""162 decisions of the real HPA controller, replayed; see the readMe of tests/golden/hpa_controller.json.

The cluster around the arithmetic is the smallest that the readMe describes: pods that a step adds are there at once,
Ready after 4 s, and report usage with a window of 15 s; pods that it takes away are gone by the next sync.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keda_py.core.hpa.behavior import HpaHistory
from keda_py.core.hpa.controller import (
    ControllerOptions,
    HpaSpec,
    MetricSample,
    SyncResult,
    desired_count,
    desired_replicas,
    record_rescale,
    sync,
)
from keda_py.core.hpa.external import ExternalSample
from keda_py.core.hpa.metrics import MetricValue, Tolerance
from keda_py.core.hpa.pods import Pod, ScaleTarget, UsageSample
from keda_py.core.hpa.resources import ResourceSample
from keda_py.core.hpa.wire import read_behavior, read_target
from keda_py.core.values.quantity import parse_milli
from tests.places import GOLDEN

Json = dict[str, Any]

RECORDING = json.loads((GOLDEN / "hpa_controller.json").read_text())
CASES: list[Json] = RECORDING["cases"]

START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
SYNC_PERIOD, RECORDED_FOR = timedelta(seconds=5), timedelta(seconds=45)
READY_AFTER, WINDOW = timedelta(seconds=4), timedelta(seconds=15)
OPTIONS = ControllerOptions(downscale_stabilization=timedelta(seconds=10))
REQUESTS = {name: {"cpu": parse_milli("100m"), "memory": parse_milli("100Mi")} for name in ("app", "sidecar")}


def read_metric(metric: Json) -> MetricSample:
    if metric["type"] == "External":
        name, target = metric["external"]["metric"]["name"], read_target(metric["external"]["target"])
        if name.startswith("err-"):
            return ExternalSample(name=name, target=target, error="it fails")
        values = tuple(parse_milli(each) for each in name.split("-")[1:])
        return ExternalSample(name=name, target=target, values=values)
    body = metric.get("resource") or metric["containerResource"]
    container = body.get("container", "")
    return ResourceSample(resource=body["name"], container=container, target=read_target(body["target"]))


def read_spec(case: Json) -> HpaSpec:
    behavior = case.get("behavior")
    return HpaSpec(
        min_replicas=case["min"], max_replicas=case["max"], behavior=read_behavior(behavior) if behavior else None
    )


class Workload:
    """Pods that come and go as the readMe says; the newest go first."""

    def __init__(self, case: Json) -> None:
        annotations = case.get("podAnnotations", {"lab/cpu": "0", "lab/memory": "0"})
        used = {"cpu": parse_milli(annotations["lab/cpu"]), "memory": parse_milli(annotations["lab/memory"])}
        self.usage = {"app": used, "sidecar": used}
        self.created = [START - timedelta(seconds=45)] * case["replicas"]

    def scale(self, replicas: int, now: datetime) -> None:
        self.created = self.created[:replicas] + [now] * (replicas - len(self.created))

    def look(self, now: datetime) -> ScaleTarget:
        pods = tuple(self.look_at_pod(index, created, now) for index, created in enumerate(self.created))
        return ScaleTarget(namespace="lab", replicas=len(pods), status_replicas=len(pods), pods=pods)

    def look_at_pod(self, index: int, created: datetime, now: datetime) -> Pod:
        ready_at = created + READY_AFTER
        sample = UsageSample(timestamp=now, window=WINDOW, usage=self.usage) if now >= ready_at else None
        return Pod(
            name=f"pod-{index}",
            ready=now >= ready_at,
            ready_changed_at=max(created, ready_at) if now >= ready_at else created,
            started_at=created,
            requests=REQUESTS,
            sample=sample,
        )


def replay(case: Json) -> list[SyncResult]:
    spec, workload, history = read_spec(case), Workload(case), HpaHistory()
    metrics = tuple(read_metric(metric) for metric in case["metrics"])
    verdicts = []
    for step in range(1, RECORDED_FOR // SYNC_PERIOD + 1):
        now = START + step * SYNC_PERIOD
        verdict = sync(spec, workload.look(now), metrics, history, OPTIONS, now)
        if verdict.rescale and verdict.desired is not None:
            verdict = record_rescale(spec, verdict, OPTIONS, now)
            workload.scale(verdict.desired or 0, now)
        history = verdict.history
        verdicts.append(verdict)
    return verdicts


def list_desired(verdicts: list[SyncResult]) -> list[int]:
    desired: list[int] = []
    for verdict in verdicts:
        if verdict.desired is not None and desired[-1:] != [verdict.desired]:
            desired.append(verdict.desired)
    return desired


def show_metric(metric: Json, value: MetricValue | None) -> Json:
    if value is None:
        return {"type": ""}
    key = metric["type"][0].lower() + metric["type"][1:]
    current = {
        "value": value.value,
        "averageValue": value.average_value,
        "averageUtilization": value.average_utilization,
    }
    named = {name: metric[key][name] for name in ("metric", "name", "container") if name in metric[key]}
    return {"type": metric["type"], key: named | {"current": {k: v for k, v in current.items() if v is not None}}}


def name_case(case: Json) -> str:
    names = [
        m["external"]["metric"]["name"] if m["type"] == "External" else m[m["type"][0].lower() + m["type"][1:]]["name"]
        for m in case["metrics"]
    ]
    return f"{case['replicas']} replicas, {' and '.join(names)}, {case.get('note', 'wants ' + str(case['desired']))}"


@pytest.mark.parametrize("case", CASES, ids=name_case)
def test_the_replica_count_moves_as_recorded(case: Json) -> None:
    desired = list_desired(replay(case))
    assert (desired if case["complete"] else desired[: len(case["desired"])]) == case["desired"]


@pytest.mark.parametrize("case", CASES, ids=name_case)
def test_the_first_status_says_what_was_recorded(case: Json) -> None:
    first = replay(case)[0]
    assert {each.type: [each.status, each.reason] for each in first.conditions} == case["conditions"]
    if first.metrics:
        shown = [show_metric(*pair) for pair in zip(case["metrics"], first.metrics, strict=True)]
        assert shown == case["currentMetrics"]
    else:
        assert not case["currentMetrics"]


def test_the_count_without_words_is_the_count_with_words() -> None:
    for case in CASES:
        now = START + SYNC_PERIOD
        metrics = tuple(read_metric(metric) for metric in case["metrics"])
        asked = (Workload(case).look(now), metrics, Tolerance(), OPTIONS.warmup, now)
        assert desired_count(*asked) == desired_replicas(*asked).replicas, name_case(case)


def test_all_recorded_decisions_are_judged() -> None:
    assert len(CASES) == 162
