"""136 first decisions of the real HPA controller over pods in every state; see the readMe of tests/golden/hpa_pods.json.

A decision follows 20 to 60 seconds after the pods were made; each case is judged at both ends of that.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keda_py.core.hpa.behavior import HpaHistory
from keda_py.core.hpa.controller import ControllerOptions, HpaSpec, MetricSample, SyncResult, record_rescale, sync
from keda_py.core.hpa.metrics import MetricValue
from keda_py.core.hpa.pods import Pod, ScaleTarget, UsageSample
from keda_py.core.hpa.resources import ResourceSample
from keda_py.core.hpa.wire import read_behavior, read_target
from keda_py.core.values.quantity import parse_milli
from tests.places import GOLDEN

Json = dict[str, Any]

RECORDING = json.loads((GOLDEN / "hpa_pods.json").read_text())
CASES: list[Json] = RECORDING["cases"]
BEHAVIOR = read_behavior(RECORDING["behavior"])
MADE = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
WINDOW = timedelta(seconds=15)
REQUESTS = {"cpu": parse_milli("100m"), "memory": parse_milli("100Mi")}


def read_pod(name: str, pod: Json, now: datetime) -> Pod:
    missing = pod.get("noRequest")
    requests = {} if missing is True else {each: milli for each, milli in REQUESTS.items() if each != missing}
    usage = {"c": {each: parse_milli(pod[each]) for each in REQUESTS}}
    sample = None if pod.get("noMetrics") else UsageSample(timestamp=now, window=WINDOW, usage=usage)
    if pod.get("pending"):
        return Pod(name=name, phase="Pending", requests={"c": requests}, sample=sample)
    return Pod(
        name=name,
        phase=pod.get("phase", "Running"),
        deleting=pod.get("deleting", False),
        ready=pod["ready"],
        ready_changed_at=MADE - timedelta(seconds=pod["changedAgo"]),
        started_at=MADE - timedelta(seconds=pod["startedAgo"]),
        requests={"c": requests},
        sample=sample,
    )


def read_metric(metric: Json) -> MetricSample:
    return ResourceSample(resource=metric["resource"]["name"], target=read_target(metric["resource"]["target"]))


def decide(case: Json, seconds: int) -> SyncResult:
    now = MADE + timedelta(seconds=seconds)
    pods = tuple(read_pod(f"c{CASES.index(case)}-{index}", pod, now) for index, pod in enumerate(case["pods"]))
    target = ScaleTarget(namespace="lab", replicas=case["replicas"], status_replicas=case["replicas"], pods=pods)
    spec = HpaSpec(min_replicas=case["min"], max_replicas=case["max"], behavior=BEHAVIOR)
    verdict = sync(spec, target, [read_metric(one) for one in case["metrics"]], HpaHistory(), ControllerOptions(), now)
    return record_rescale(spec, verdict, ControllerOptions(), now) if verdict.rescale else verdict


def listed(conditions: Json) -> Json:
    """Without the number of the pod that lacks a request: the real controller lists pods in any order."""
    cut = {
        kind: text.rpartition("-")[0] if "missing request" in text else text
        for kind, (_, _, text) in conditions.items()
    }
    return {kind: (status, reason, cut[kind]) for kind, (status, reason, _) in conditions.items()}


def show(metric: Json, value: MetricValue | None) -> Json:
    if value is None:
        return {"type": ""}
    current = {"averageValue": value.average_value, "averageUtilization": value.average_utilization}
    given = {name: amount for name, amount in current.items() if amount is not None}
    return {"type": "Resource", "resource": {"name": metric["resource"]["name"], "current": given}}


@pytest.mark.parametrize("seconds", [20, 60])
@pytest.mark.parametrize("case", CASES, ids=[case["note"] for case in CASES])
def test_the_first_decision_is_the_recorded_one(case: Json, seconds: int) -> None:
    verdict = decide(case, seconds)
    assert (verdict.desired or 0) == (case["desired"] or 0)
    told = {each.type: [each.status, each.reason, each.message] for each in verdict.conditions}
    assert listed(told) == listed(case["conditions"])
    shown = [show(*pair) for pair in zip(case["metrics"], verdict.metrics, strict=True)]
    assert shown == (case["currentMetrics"] or [])


def test_all_recorded_decisions_are_judged() -> None:
    assert len(CASES) == 136
