"""The round: facts are judged, and what came of the decision is concluded."""

import ast
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.activity import ActivityState
from keda_py.core.decision import Keep, Reason, ScaleTo
from keda_py.core.metric_names import MetricSet, name_metrics
from keda_py.core.metric_specs import ExternalMetric
from keda_py.core.reading import MetricReading, Outcome, Reading, Round
from keda_py.core.round import Facts, conclude, judge
from keda_py.core.round import Outcome as Applied
from keda_py.core.spec import ScalingSpec, build_spec
from keda_py.errors import ScalerError
from tests.places import ROOT

NOW = datetime(2026, 11, 20, 10, 30, tzinfo=UTC)
CREATED = "2026-11-20T09:00:00Z"
IDLE, BUSY = Reading(value=0.0, active=False), Reading(value=5.0, active=True)
CLOSES = NOW + timedelta(hours=9)


def spec_of(**fields: Any) -> ScalingSpec:
    trigger = {"type": "redis", "name": "jobs", "metadata": {"listName": "jobs"}}
    body = {"scaleTargetRef": {"name": "web"}, "triggers": [trigger], **fields}
    meta = {"name": "web", "namespace": "shop", "creationTimestamp": CREATED}
    return build_spec(ScaledObject.model_validate({"metadata": meta, "spec": body}))


SPEC = spec_of()


def metrics_of(spec: ScalingSpec) -> MetricSet:
    return name_metrics(spec, [(ExternalMetric(name="redis-jobs", target=5),)])


def facts_of(outcome: Outcome, replicas: int | None, spec: ScalingSpec = SPEC, **known: Any) -> Facts:
    metrics = metrics_of(spec)
    readings = Round(readings=(MetricReading(metric=metrics.external[0], outcome=outcome, taken_at=NOW),))
    return Facts(now=NOW, monotonic=100.0, metrics=metrics, readings=readings, replicas=replicas, **known)


def test_work_lifts_a_workload_from_zero_and_the_activity_begins() -> None:
    judgement = judge(SPEC, facts_of(BUSY, 0))
    assert judgement.decision.action == ScaleTo(replicas=1, activates=True)
    conclusion = conclude(judgement, Applied(before=0))
    assert conclusion.activity == ActivityState(active=True, last=100.0)
    assert conclusion.settled.event is not None


@pytest.mark.parametrize(
    ("spec", "replicas", "outcome", "waits"),
    [({}, 0, BUSY, True), ({"minReplicaCount": 2}, 0, IDLE, True), ({}, 3, BUSY, False), ({}, 3, IDLE, False)],
    ids=["from zero", "from zero to min", "up already", "going down"],
)
def test_only_what_wakes_waits_for_its_turn(spec: Any, replicas: int, outcome: Outcome, waits: bool) -> None:
    known = spec_of(**spec)
    judgement = judge(known, facts_of(outcome, replicas, known))
    assert judgement.wakes is waits
    decision, waiting = judgement.decision, judgement.postponed().decision
    assert (waiting.action, waiting.reason, waiting.active) == (Keep(), Reason.AWAITING_TURN, decision.active)


def test_a_scale_that_was_refused_begins_no_activity() -> None:
    conclusion = conclude(judge(SPEC, facts_of(BUSY, 0)), Applied(before=0, error="quota"))
    assert conclusion.activity == ActivityState(active=False)


def test_an_action_that_waits_for_its_turn_is_not_taken() -> None:
    judgement = judge(SPEC, facts_of(BUSY, 0)).postponed()
    assert (judgement.decision.action, judgement.decision.reason) == (Keep(), Reason.AWAITING_TURN)


def test_a_shadow_decides_on_its_own_count_and_evaluates_with_the_one_that_is_there() -> None:
    judgement = judge(SPEC, facts_of(BUSY, 3, own_replicas=0))
    assert judgement.decision.reason is Reason.ACTIVATED
    assert (judgement.seen.replicas, judgement.facts.replicas) == (0, 3)


def test_an_inherited_activity_lasts_until_every_trigger_was_read() -> None:
    inherited = ActivityState(active=True, last=0.0, inherited=True)
    failed = facts_of(ScalerError("down"), 1, activity=inherited)
    assert conclude(judge(SPEC, failed), None).activity is inherited
    complete = facts_of(IDLE, 1, activity=inherited)
    judgement = judge(SPEC, complete)
    assert judgement.decision.reason is Reason.COOLING_DOWN
    assert conclude(judgement, None).activity == ActivityState(active=True, last=100.0)


def test_a_count_that_cannot_be_read_is_no_zero() -> None:
    judgement = judge(SPEC, facts_of(BUSY, None, replicas_error="not found"))
    assert (judgement.decision.action, judgement.decision.reason) == (Keep(), Reason.REPLICAS_UNKNOWN)


FORMULA = spec_of(advanced={"scalingModifiers": {"formula": "jobs + 1", "target": "2"}})
STANDING = [
    ("at rest", facts_of(IDLE, 0), None),
    ("active, until the window closes", facts_of(replace(BUSY, changes_at=CLOSES), 2), CLOSES),
    (
        "cooling down, until the cooldown ends",
        facts_of(IDLE, 1, activity=ActivityState(last=40.0)),
        NOW + timedelta(seconds=240),
    ),
    ("something to do", facts_of(BUSY, 0), NOW),
    ("a failed reading, which counts", facts_of(ScalerError("down"), 1), NOW),
]


@pytest.mark.parametrize(("facts", "until"), [row[1:] for row in STANDING], ids=[row[0] for row in STANDING])
def test_a_decision_stands_until_time_alone_may_change_it(facts: Facts, until: datetime | None) -> None:
    assert conclude(judge(SPEC, facts), None).stands_until == until


def test_a_decision_of_a_formula_does_not_stand_since_it_may_ask_for_the_time() -> None:
    facts = facts_of(IDLE, 0, FORMULA)
    assert facts.metrics.composite is not None
    assert conclude(judge(FORMULA, facts), None).stands_until == NOW


def importers(name: str, home: str) -> set[str]:
    """Files of keda_py that import it from a module of the core."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "keda_py").rglob("*.py")}
    return {
        str(path.relative_to(ROOT / "keda_py"))
        for path, text in texts.items()
        if f"from keda_py.core.{home} " in text  # to parse all takes a second of CPU
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module == f"keda_py.core.{home}"
        if any(alias.name == name for alias in node.names)
    }


@pytest.mark.parametrize(
    ("function", "home"),
    [("decide", "decision"), ("settle", "round"), ("note_activity", "activity")],
)
def test_the_steps_of_a_round_have_one_caller(function: str, home: str) -> None:
    assert importers(function, home) <= {"core/round.py"}


@pytest.mark.parametrize(
    ("name", "home", "file"), [("judge", "round", "looks.py"), ("Walk", "hpa.walk", "autoscaler.py")]
)
def test_preview_and_simulation_run_one_engine(name: str, home: str, file: str) -> None:
    assert {path for path in importers(name, home) if not path.startswith("operator/")} == {f"replay/engine/{file}"}
