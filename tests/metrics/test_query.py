"""What a round means, and what the HPA is told."""

import contextlib
import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.fallback import FallbackState, count_outcome, has_valid_fallback
from keda_py.core.metric_names import MetricSet, name_metrics
from keda_py.core.metric_specs import ExternalMetric, ResourceMetric
from keda_py.core.spec import ScalingSpec, build_spec
from keda_py.errors import ConfigError, ScalerError
from keda_py.metrics.meters import MetricReading
from keda_py.metrics.query import Evaluation, MetricValue, Query, QueryError, evaluate, to_milli
from keda_py.metrics.readings import Round
from keda_py.scaler import Reading

NOW = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)
KEY = ("shop", "app")
DOWN = ScalerError("down")
FALLBACK = {"failureThreshold": 3, "replicas": 6}
CPU = ResourceMetric(name="cpu", target_type="Utilization", target="50")


def spec_with(*types: str, **spec) -> ScalingSpec:
    triggers = [{"type": one, "metadata": {}} for one in types or ("redis",)]
    body = {"scaleTargetRef": {"name": "app"}, "triggers": triggers, **spec}
    return build_spec(ScaledObject.model_validate({"metadata": {"name": "app", "namespace": "shop"}, "spec": body}))


def metrics_of(spec: ScalingSpec) -> MetricSet:
    listed = [[CPU] if one.type == "cpu" else [ExternalMetric(name=one.type, target=5)] for one in spec.triggers]
    return name_metrics(spec, listed)


def see(spec: ScalingSpec, *outcomes, failures=0, replicas=None, ready_pods=None) -> Evaluation:
    metrics = metrics_of(spec)
    readings = tuple(
        MetricReading(metric=metric, outcome=outcome, taken_at=NOW)
        for metric, outcome in zip(metrics.external, outcomes, strict=False)
    )
    health = {metric.name: FallbackState(failures=failures) for metric in metrics.external}
    return evaluate(spec, metrics, Round(readings=readings), health, replicas, ready_pods)


def read(value: float, *, active: bool = True, **more) -> Reading:
    return Reading(value=value, active=active, **more)


@pytest.mark.parametrize(
    ("types", "outcomes", "active", "failing"),
    [
        pytest.param(["redis"], [read(1)], True, False, id="active trigger"),
        pytest.param(["redis"], [read(0, active=False)], False, False, id="inactive trigger"),
        pytest.param(["redis", "api"], [read(0, active=False), read(1)], True, False, id="one active of two"),
        pytest.param(["redis", "api"], [DOWN, read(1)], True, True, id="active and failing"),
        pytest.param(["redis", "api"], [DOWN, read(0, active=False)], False, True, id="inactive and failing"),
        pytest.param(["cpu"], [], True, False, id="only resources: always active"),
        pytest.param(["cpu", "redis"], [read(0, active=False)], False, False, id="mixed: the external one decides"),
        pytest.param(["cpu", "redis"], [DOWN], False, True, id="mixed: the external one fails"),
        pytest.param(["redis", "api"], [read(0, active=False)], False, True, id="a metric nobody read is not inactive"),
    ],
)
def test_activity_follows_the_external_triggers(types, outcomes, active, failing):
    seen = see(spec_with(*types), *outcomes)
    assert (seen.active, seen.failing) == (active, failing)


def test_an_evaluation_names_active_metrics_errors_and_the_next_change():
    later = NOW + timedelta(hours=2)
    seen = see(spec_with("cron", "redis", "api"), read(3, changes_at=later), DOWN, read(0, active=False))
    assert seen.values == (MetricValue(name="s0-cron", milli=3000), MetricValue(name="s2-api", milli=0))
    assert (seen.active_metrics, seen.errors, seen.changes_at) == (("s0-cron",), ((1, DOWN),), later)


@pytest.mark.parametrize(
    ("value", "milli"),
    [
        (3.0, 3000),
        (1.5, 1500),
        (0.0004, 0),
        (1.0005, 1000),  # the float is 1.000499999999999989...
        (2.0116, 2012),
        (0.1 + 0.2, 300),
        (float("nan"), 0),
        (float("inf"), 0),
        (float("-inf"), 0),
        (-7.0, 0),
        (1e300, 2**63 - 1),
    ],
)
def test_a_value_becomes_milli_with_three_decimals_and_never_overflows(value, milli):
    assert to_milli(value) == milli


def test_a_value_counted_as_zero_says_why():
    assert see(spec_with(), read(float("nan"), active=False)).notes == ("s0-redis: nan counts as 0",)


def test_a_fallback_counts_as_active_and_stands_in_for_poll_and_hpa_alike():
    seen = see(spec_with(fallback=FALLBACK), DOWN, failures=4)
    assert seen.values == (MetricValue(name="s0-redis", milli=30_000),)
    assert (seen.active, seen.failing, seen.in_fallback) == (True, False, ("s0-redis",))


def test_up_to_the_threshold_a_failure_is_an_error():
    seen = see(spec_with(fallback=FALLBACK), DOWN, failures=3)
    assert (seen.values, seen.active, seen.failing) == ((), False, True)


def test_a_fallback_that_cannot_be_computed_leaves_the_error():
    seen = see(spec_with(fallback={**FALLBACK, "behavior": "currentReplicas"}), DOWN, failures=9)
    assert (seen.values, seen.failing, seen.errors) == ((), True, ((0, DOWN),))


def test_under_scaling_modifiers_a_fallback_bypasses_the_formula():
    spec = spec_with(fallback=FALLBACK, advanced={"scalingModifiers": {"formula": "redis", "target": "2"}})
    assert see(spec, DOWN, failures=4).values == (MetricValue(name="composite-metric", milli=12_000),)
    failing = see(spec, DOWN, failures=1)
    assert (failing.values, failing.active, failing.failing) == ((), False, True)


def test_a_formula_is_refused_in_plain_words():
    with pytest.raises(ConfigError, match="formulas are not evaluated"):
        see(spec_with(advanced={"scalingModifiers": {"formula": "redis", "target": "2"}}), read(1))


@given(
    outcomes=st.lists(st.booleans(), min_size=1, max_size=12),
    threshold=st.integers(min_value=0, max_value=5),
    replicas=st.integers(min_value=0, max_value=100),
    behavior=st.sampled_from([None, "static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"]),
)
def test_no_sequence_of_failures_yields_a_value_that_is_not_the_fallbacks(outcomes, threshold, replicas, behavior):
    fallback = {"failureThreshold": threshold, "replicas": replicas, "behavior": behavior} if behavior else None
    spec = spec_with(**({"fallback": fallback} if fallback else {}))
    state, in_a_row = FallbackState(), 0
    for failed in outcomes:
        state = count_outcome(state, failed=failed)
        in_a_row = in_a_row + 1 if failed else 0
        seen = see(spec, DOWN if failed else read(7), failures=state.failures, replicas=50)
        if not failed:
            assert seen.values == (MetricValue(name="s0-redis", milli=7000),)
        elif has_valid_fallback(spec) and in_a_row > threshold:
            assert seen.in_fallback == ("s0-redis",)
        else:
            assert (seen.values, seen.active, seen.failing) == ((), False, True)


class Targets:
    """A scale target of 4 replicas, 2 of them ready; counts how often it was looked at."""

    def __init__(self) -> None:
        self.looks = 0

    async def replicas(self, spec: ScalingSpec) -> int | None:
        self.looks += 1
        return 4

    async def ready_pods(self, spec: ScalingSpec) -> int | None:
        self.looks += 1
        return 2


@pytest.fixture
def targets() -> Targets:
    return Targets()


@pytest.fixture
def query(world, targets) -> Query:
    specs = {("shop", "late"): world.spec(name="late")}
    return Query(readings=world.readings, targets=targets, specs=specs.get)


async def test_the_hpa_gets_the_value(world, query, targets):
    await world.build()
    world.taps["a"].value = 12.5
    assert await query.answer("shop", "s0-a-x", "app") == (MetricValue(name="s0-a-x", milli=12_500),)
    assert targets.looks == 0


async def test_an_object_that_is_not_built_yet_is_built_for_the_question(query):
    assert await query.answer("shop", "s0-a-x", "late") == (MetricValue(name="s0-a-x", milli=1000),)


@pytest.mark.parametrize(
    ("metric", "name", "text"),
    [
        ("s0-a-x", "app", "metric:s0-a-x encountered error"),
        ("s9-a-x", "app", "no matching metrics found for s9-a-x"),
        ("s0-a-x", "nobody", 'error getting scalers ScaledObject.keda.sh "nobody" not found'),
    ],
    ids=["failed read", "no such metric", "no such object"],
)
async def test_refusals_are_kedas_words(world, query, metric, name, text):
    await world.build()
    world.taps["a"].value = DOWN
    with pytest.raises(QueryError) as refused:
        await query.answer("shop", metric, name)
    assert str(refused.value) == f"rpc error: code = Unknown desc = error when getting metric values {text}"


async def test_a_fallback_of_the_current_replicas_looks_at_the_target(world, query):
    fallback = {"failureThreshold": 0, "replicas": 1, "behavior": "currentReplicasIfHigher"}
    await world.build({"metricType": "Value"}, fallback=fallback)
    world.taps["a"].value = DOWN
    assert await query.answer("shop", "s0-a-x", "app") == (MetricValue(name="s0-a-x", milli=10_000),)


async def test_poll_and_hpa_see_the_same_fallback(world, query):
    spec = await world.build(fallback={"failureThreshold": 1, "replicas": 2})
    world.taps["a"].value = DOWN
    for _ in range(2):
        await world.clock.advance(30)
        seen = await world.readings.poll(KEY)
    metrics = world.readings.built(KEY).metrics
    polled = evaluate(spec, metrics, seen, world.readings.health(KEY), None, None)
    assert polled.values == await query.answer("shop", "s0-a-x", "app") == (MetricValue(name="s0-a-x", milli=10_000),)


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_happened_before_a_source_that_is_down_gives_the_hpa_no_value(world, query, seed):
    chance = random.Random(seed)
    await world.build()
    for generation in range(2, 40):
        match chance.choice(["up", "down", "wait", "poll", "ask", "rebuild"]):
            case "up":
                world.taps["a"].value = 7
            case "down":
                world.taps["a"].value = chance.choice([DOWN, KeyError("x"), None])
            case "wait":
                await world.clock.advance(chance.choice([0.5, 1, 2, 30]))
            case "poll":
                await world.readings.poll(KEY)
            case "rebuild":
                await world.build(generation=generation)
            case "ask":
                with contextlib.suppress(QueryError):
                    await query.answer("shop", "s0-a-x", "app")
    world.taps["a"].value = DOWN
    await world.clock.advance(2)
    with pytest.raises(QueryError):
        await query.answer("shop", "s0-a-x", "app")
    assert [str(outcome) for outcome in await world.outcomes()] == ["down"]
