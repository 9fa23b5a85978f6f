"""What a round means, and what the HPA is told."""

import contextlib
import random
from datetime import UTC, datetime, timedelta
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.evaluation import Evaluation, MetricValue, evaluate
from keda_py.core.fallback import FallbackState, count_outcome, has_valid_fallback
from keda_py.core.metric_names import MetricSet, name_metrics
from keda_py.core.metric_specs import ExternalMetric, ResourceMetric
from keda_py.core.reading import MetricReading, Round
from keda_py.core.spec import ScalingSpec, build_spec
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.quantity import to_milli
from keda_py.errors import ConfigError, ScalerError
from keda_py.external_metrics.query import TURN_SECONDS, Query, QueryError
from keda_py.readings.formula_turns import CREDIT_SECONDS, SHARE
from keda_py.sdk.scaler import Reading

NOW = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)
KEY = ObjectKey("ScaledObject", "shop", "app")
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


def composed(formula: str, *, fallback: dict | None = None, **modifiers) -> ScalingSpec:
    """Two triggers, named jobs and rate, and one without a name."""
    triggers = [{"type": "redis", "name": "jobs"}, {"type": "api", "name": "rate"}, {"type": "cron"}]
    advanced = {"scalingModifiers": {"formula": formula, "target": "4", **modifiers}}
    return spec_with(
        triggers=[{**one, "metadata": {}} for one in triggers],
        advanced=advanced,
        **({"fallback": fallback} if fallback else {}),
    )


def composite(milli: int) -> tuple[MetricValue, ...]:
    return (MetricValue(name="composite-metric", milli=milli),)


def test_a_formula_stands_for_all_metrics_and_the_triggers_own_activity_counts_for_nothing():
    seen = see(composed("jobs / 2 + rate"), read(3), read(2.5), read(9))
    assert (seen.values, seen.active, seen.active_metrics) == (composite(4000), True, ("composite-metric",))
    idle = see(composed("jobs - 3"), read(3), read(1), read(1))
    assert (idle.values, idle.active, idle.failing, idle.active_metrics) == (composite(0), False, False, ())


@pytest.mark.parametrize(
    ("formula", "milli", "active"),
    [
        pytest.param("jobs", 2000, False, id="at activationTarget: inactive"),
        pytest.param("jobs + 0.001", 2001, True, id="just above"),
        pytest.param("jobs - 10", -8000, False, id="negative values are served as they are"),
        pytest.param("jobs / 3", 666, False, id="cut to milli, not rounded"),
        pytest.param("jobs / 0", 0, False, id="an infinity counts as 0"),
        pytest.param("0 / (jobs - 2)", 0, False, id="what is no number counts as 0"),
        pytest.param("jobs ** 90", 2**63 - 1, True, id="too large for an int64 of milli"),
        pytest.param("now().Year() - 2000", 26_000, True, id="now is the instant of the reading"),
    ],
)
def test_the_formulas_value_is_milli_and_active_above_the_activation_target(formula, milli, active):
    seen = see(composed(formula, activationTarget="2"), read(2), read(1), read(1))
    assert (seen.values, seen.active, seen.failing) == (composite(milli), active, False)


def test_a_failing_trigger_makes_the_composite_inactive_and_failing():
    seen = see(composed("jobs"), read(5), DOWN, read(1))
    assert (seen.values, seen.active, seen.failing) == ((), False, True)


def test_a_formula_that_fails_gives_the_hpa_no_item_and_the_poll_nothing_active():
    seen = see(composed("jobs > 0 ? [jobs][int(jobs)] : 1"), read(5), read(1), read(1))
    assert (seen.values, seen.active, seen.failing, seen.errors) == ((), False, False, ())
    assert "there is no element 5 in an array of 1 (1:18)" in seen.notes[0]


def test_under_scaling_modifiers_a_fallback_bypasses_the_formula():
    spec = composed("jobs", fallback=FALLBACK)
    seen = see(spec, read(1), DOWN, read(1), failures=4)
    assert (seen.values, seen.active, seen.failing) == (composite(24_000), True, False)
    failing = see(spec, read(1), DOWN, read(1), failures=1)
    assert (failing.values, failing.active, failing.failing) == ((), False, True)
    nothing = see(composed("jobs", fallback={**FALLBACK, "replicas": 0}), read(1), DOWN, read(1), failures=4)
    assert (nothing.values, nothing.active) == (composite(0), False)


@pytest.mark.parametrize(
    ("formula", "milli"),
    [
        pytest.param("jobs ?? rate ?? 8", 7000, id="the first that is there"),
        pytest.param("(jobs ?? 0) + rate", 7000, id="a default for one"),
        pytest.param("jobs ?? 8", 8000, id="a number at the end"),
        pytest.param("jobs ?? nil", 24_000, id="nil: the fallback's replicas times the target"),
        pytest.param("jobs == nil ? 1 : 2", 1000, id="nil can be asked for"),
    ],
)
def test_a_trigger_beyond_its_threshold_is_nil_in_the_formula(formula, milli):
    spec = composed(formula, fallback={**FALLBACK, "behavior": "scalingModifiers"})
    seen = see(spec, DOWN, read(7), read(1), failures=4)
    assert (seen.values, seen.active, seen.failing, seen.in_fallback) == (composite(milli), True, False, ())


def test_up_to_its_threshold_a_failing_trigger_is_an_error_and_not_nil():
    spec = composed("jobs ?? 8", fallback={**FALLBACK, "behavior": "scalingModifiers"})
    seen = see(spec, DOWN, read(7), read(1), failures=3)
    assert (seen.values, seen.active, seen.failing) == ((), False, True)


def test_a_nil_that_the_formula_does_not_catch_gives_no_value():
    spec = composed("jobs + 1", fallback={**FALLBACK, "behavior": "scalingModifiers"})
    seen = see(spec, DOWN, read(7), read(1), failures=4)
    assert (seen.values, seen.active, seen.failing) == ((), False, False)
    assert "beyond its failure threshold is nil, catch it with ??" in seen.notes[-1]


def test_of_several_metrics_of_one_trigger_the_last_has_the_name():
    spec = composed("jobs")
    twice = (ExternalMetric(name="one", target=5), ExternalMetric(name="two", target=5))
    metrics = name_metrics(spec, [twice, [ExternalMetric(name="api", target=5)], [ExternalMetric(name="c", target=5)]])
    readings = tuple(
        MetricReading(metric=metric, outcome=read(value), taken_at=NOW)
        for metric, value in zip(metrics.external, (1, 2, 3, 4), strict=True)
    )
    assert evaluate(spec, metrics, Round(readings=readings), {}, None, None).values == composite(2000)


def test_with_resource_triggers_only_a_formula_has_nothing_to_say():
    spec = spec_with("cpu", advanced={"scalingModifiers": {"formula": "5", "target": "2"}})
    assert (see(spec).values, see(spec).active) == ((), True)


@pytest.mark.parametrize(
    ("modifiers", "field", "words"),
    [
        ({"target": "4"}, "formula", "error ScalingModifiers.Formula is mandatory"),
        ({"formula": "jobs"}, "target", "formula is given but target is empty"),
        ({"formula": "jobs", "target": "lots"}, "target", '"lots" is not a number above 0'),
        ({"formula": "jobs", "target": "0"}, "target", '"0" is not a number above 0'),
        ({"formula": "jobs", "target": "4", "activationTarget": "some"}, "activationTarget", '"some" is not a number'),
        ({"formula": "jobz", "target": "4"}, "formula", "unknown name jobz: did you mean jobs\\?"),
        ({"formula": "jobs +* 2", "target": "4"}, "formula", 'unexpected "\\*"'),
        ({"formula": "heat", "target": "4"}, "formula", "unknown name heat"),
        ({"formula": "[1][int(jobs) - 1]", "target": "4"}, "formula", "tried with -1 for every trigger"),
    ],
    ids=["no formula", "no target", "words", "zero", "activation", "typo", "syntax", "cpu has no name", "dry run"],
)
def test_wrong_modifiers_are_refused_when_the_metrics_are_built(modifiers, field, words):
    triggers = [{"type": "redis", "name": "jobs", "metadata": {}}, {"type": "cpu", "name": "heat", "metadata": {}}]
    with pytest.raises(ConfigError, match=words) as refused:
        metrics_of(spec_with(triggers=triggers, advanced={"scalingModifiers": modifiers}))
    assert refused.value.field == f"spec.advanced.scalingModifiers.{field}"


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
def query(engine, targets) -> Query:
    specs = {ObjectKey("ScaledObject", "shop", "late"): engine.spec(name="late")}
    return Query(readings=engine.readings, targets=targets, specs=specs.get)


async def test_the_hpa_gets_the_value(engine, query, targets):
    await engine.build()
    engine.taps["a"].value = 12.5
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
async def test_refusals_are_kedas_words(engine, query, metric, name, text):
    await engine.build()
    engine.taps["a"].value = DOWN
    with pytest.raises(QueryError) as refused:
        await query.answer("shop", metric, name)
    assert str(refused.value) == f"rpc error: code = Unknown desc = error when getting metric values {text}"


async def test_what_was_said_of_a_reading_is_known_until_another_takes_its_place(engine, query):
    await engine.build()
    assert query.known("shop", "s0-a-x", "app") is None
    said = await query.answer("shop", "s0-a-x", "app")
    assert query.known("shop", "S0-A-X", "app") is said
    assert query.known("shop", "s1-a-x", "app") is None
    engine.taps["a"].value = 2.0
    await engine.clock.advance(5)
    assert query.known("shop", "s0-a-x", "app") is None  # too old to be shared
    await engine.readings.poll(KEY)
    assert query.known("shop", "s0-a-x", "app") is None
    assert await query.answer("shop", "s0-a-x", "app") == (MetricValue(name="s0-a-x", milli=2000),)
    assert engine.taps["a"].reads == 2


async def test_with_use_cached_metrics_what_was_said_is_known_until_the_next_poll(engine, query):
    await engine.build({"useCachedMetrics": True})
    said = await query.answer("shop", "s0-a-x", "app")
    await engine.clock.advance(25)
    assert query.known("shop", "s0-a-x", "app") is said
    await engine.readings.poll(KEY)
    assert query.known("shop", "s0-a-x", "app") is None


async def test_what_the_last_poll_said_is_known_by_the_replica_alone_that_polls(engine, query):
    await engine.build({"useCachedMetrics": True})
    said = await query.answer("shop", "s0-a-x", "app")
    await engine.clock.advance(25)
    engine.shared.leads = False
    assert query.known("shop", "s0-a-x", "app") is None
    engine.shared.leads = True
    assert query.known("shop", "s0-a-x", "app") is said


async def test_of_objects_that_are_gone_or_built_anew_nothing_is_known(engine, query):
    await engine.build()
    await query.answer("shop", "s0-a-x", "app")
    await engine.build(generation=2)
    assert query.known("shop", "s0-a-x", "app") is None
    await query.answer("shop", "s0-a-x", "app")
    await engine.readings.forget(KEY)
    assert query.known("shop", "s0-a-x", "app") is None


@pytest.mark.parametrize("fallback", [None, {"failureThreshold": 0, "replicas": 1}], ids=["error", "fallback"])
async def test_what_stands_in_for_a_failed_reading_is_never_known(engine, query, fallback):
    await engine.build(**({"fallback": fallback} if fallback else {}))
    engine.taps["a"].value = DOWN
    with contextlib.suppress(QueryError):
        await query.answer("shop", "s0-a-x", "app")
    assert query.known("shop", "s0-a-x", "app") is None


async def test_a_fallback_of_the_current_replicas_looks_at_the_target(engine, query):
    fallback = {"failureThreshold": 0, "replicas": 1, "behavior": "currentReplicasIfHigher"}
    await engine.build({"metricType": "Value"}, fallback=fallback)
    engine.taps["a"].value = DOWN
    assert await query.answer("shop", "s0-a-x", "app") == (MetricValue(name="s0-a-x", milli=10_000),)


async def test_whatever_metric_is_asked_for_the_hpa_gets_what_the_poll_computed(engine, query):
    modifiers = {"formula": "jobs * 2", "target": "4"}
    spec = await engine.build({"name": "jobs"}, advanced={"scalingModifiers": modifiers})
    engine.taps["a"].value = 2.5
    seen = await engine.readings.poll(KEY)
    polled = evaluate(spec, engine.readings.built(KEY).metrics, seen, {}, None, None)
    for name in ("composite-metric", "s0-a-x"):
        assert await query.answer("shop", name, "app") == polled.values == composite(5000)
    engine.taps["a"].value = DOWN
    await engine.clock.advance(2)
    with pytest.raises(QueryError, match="metric:composite-metric encountered error"):
        await query.answer("shop", "composite-metric", "app")


async def test_poll_and_hpa_see_the_same_fallback(engine, query):
    spec = await engine.build(fallback={"failureThreshold": 1, "replicas": 2})
    engine.taps["a"].value = DOWN
    for _ in range(2):
        await engine.clock.advance(30)
        seen = await engine.readings.poll(KEY)
    metrics = engine.readings.built(KEY).metrics
    polled = evaluate(spec, metrics, seen, engine.readings.health(KEY), None, None)
    assert polled.values == await query.answer("shop", "s0-a-x", "app") == (MetricValue(name="s0-a-x", milli=10_000),)


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_happened_before_a_source_that_is_down_gives_the_hpa_no_value(engine, query, seed):
    chance = random.Random(seed)
    await engine.build()
    for generation in range(2, 40):
        match chance.choice(["up", "down", "wait", "poll", "ask", "rebuild"]):
            case "up":
                engine.taps["a"].value = 7
            case "down":
                engine.taps["a"].value = chance.choice([DOWN, KeyError("x"), None])
            case "wait":
                await engine.clock.advance(chance.choice([0.5, 1, 2, 30]))
            case "poll":
                await engine.readings.poll(KEY)
            case "rebuild":
                await engine.build(generation=generation)
            case "ask":
                with contextlib.suppress(QueryError):
                    await query.answer("shop", "s0-a-x", "app")
    engine.taps["a"].value = DOWN
    await engine.clock.advance(2)
    with pytest.raises(QueryError):
        await query.answer("shop", "s0-a-x", "app")
    assert [str(outcome) for outcome in await engine.outcomes()] == ["down"]


async def test_a_question_does_not_wait_long_for_formulas_that_have_had_more_than_their_share(engine, query):
    modifiers = {"scalingModifiers": {"formula": "queue * 2", "target": "5"}}
    await engine.build({"name": "queue"}, advanced=modifiers)
    async with engine.readings.formulas.turn("shop"):
        until = thread_time() + (CREDIT_SECONDS + TURN_SECONDS + 0.5) * SHARE
        while thread_time() < until:
            pass
    with pytest.raises(QueryError, match="make them simpler or poll less often"):
        await query.answer("shop", "composite-metric", "app")
