"""Evaluation of a round under a formula."""

import pytest

from keda_py.core.evaluation import evaluate
from keda_py.core.metric_names import name_metrics
from keda_py.core.metric_specs import ExternalMetric
from keda_py.core.reading import MetricReading, Round
from keda_py.core.spec import ScalingSpec
from keda_py.errors import ConfigError
from tests.external_metrics.rounds import DOWN, FALLBACK, NOW, composite, metrics_of, read, see, spec_with


def composed(formula: str, *, fallback: dict | None = None, **modifiers) -> ScalingSpec:
    """Make a spec with two triggers named jobs and rate, and one without a name."""
    triggers = [{"type": "redis", "name": "jobs"}, {"type": "api", "name": "rate"}, {"type": "cron"}]
    advanced = {"scalingModifiers": {"formula": formula, "target": "4", **modifiers}}
    return spec_with(
        triggers=[{**one, "metadata": {}} for one in triggers],
        advanced=advanced,
        **({"fallback": fallback} if fallback else {}),
    )


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
