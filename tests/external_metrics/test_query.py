"""Values that the HPA gets."""

import contextlib
import random
from time import thread_time

import pytest

from keda_py.core.evaluation import MetricValue, evaluate
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.external_metrics.query import TURN_SECONDS, Query, QueryError
from keda_py.readings.formula_turns import CREDIT_SECONDS, SHARE
from tests.external_metrics.rounds import DOWN, composite

KEY = ObjectKey("ScaledObject", "shop", "app")


class Targets:
    """Scale target with 4 replicas, 2 of them ready; counts its reads."""

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


async def test_a_young_reading_is_answered_at_once_until_it_is_two_seconds_old(engine, query):
    await engine.build()
    assert query.answer_at_once("shop", "s0-a-x", "app") is None
    await engine.readings.poll(KEY)
    said = query.answer_at_once("shop", "s0-a-x", "app")
    assert said == await query.answer("shop", "s0-a-x", "app")
    assert query.answer_at_once("shop", "S0-A-X", "app") is said
    assert query.answer_at_once("shop", "s1-a-x", "app") is None
    engine.taps["a"].value = 2.0
    await engine.clock.advance(5)
    assert query.answer_at_once("shop", "s0-a-x", "app") is None
    await engine.readings.poll(KEY)
    assert query.answer_at_once("shop", "s0-a-x", "app") == (MetricValue(name="s0-a-x", milli=2000),)
    assert engine.taps["a"].reads == 2


async def test_with_use_cached_metrics_what_was_said_is_known_until_the_next_poll(engine, query):
    await engine.build({"useCachedMetrics": True})
    said = await query.answer("shop", "s0-a-x", "app")
    await engine.clock.advance(25)
    assert query.answer_at_once("shop", "s0-a-x", "app") == said
    engine.taps["a"].value = 2.0
    await engine.readings.poll(KEY)
    assert query.answer_at_once("shop", "s0-a-x", "app") == (MetricValue(name="s0-a-x", milli=2000),)


async def test_what_the_last_poll_said_is_known_by_the_replica_alone_that_polls(engine, query):
    await engine.build({"useCachedMetrics": True})
    said = await query.answer("shop", "s0-a-x", "app")
    await engine.clock.advance(25)
    engine.shared.leads = False
    assert query.answer_at_once("shop", "s0-a-x", "app") is None
    engine.shared.leads = True
    assert query.answer_at_once("shop", "s0-a-x", "app") == said


async def test_of_objects_that_are_gone_or_built_anew_nothing_is_known(engine, query):
    await engine.build()
    await query.answer("shop", "s0-a-x", "app")
    await engine.build(generation=2)
    assert query.answer_at_once("shop", "s0-a-x", "app") is None
    await query.answer("shop", "s0-a-x", "app")
    await engine.readings.forget(KEY)
    assert query.answer_at_once("shop", "s0-a-x", "app") is None


@pytest.mark.parametrize("fallback", [None, {"failureThreshold": 0, "replicas": 1}], ids=["error", "fallback"])
async def test_what_stands_in_for_a_failed_reading_is_never_answered_at_once(engine, query, fallback):
    await engine.build(**({"fallback": fallback} if fallback else {}))
    engine.taps["a"].value = DOWN
    with contextlib.suppress(QueryError):
        await query.answer("shop", "s0-a-x", "app")
    assert query.answer_at_once("shop", "s0-a-x", "app") is None


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
