"""A formula is judged before it is stored."""

import pytest

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.admission.scaled_object import check_modifiers
from keda_py.core.spec import ScalingSpec, build_spec


def spec_of(modifiers: dict, **fields) -> ScalingSpec:
    triggers = [{"type": "redis", "name": "jobs", "metadata": {}}, {"type": "cpu", "name": "heat", "metadata": {}}]
    advanced = {"scalingModifiers": modifiers}
    body = {"scaleTargetRef": {"name": "app"}, "triggers": triggers, "advanced": advanced, **fields}
    return build_spec(ScaledObject.model_validate({"metadata": {"name": "app", "namespace": "shop"}, "spec": body}))


@pytest.mark.parametrize(
    ("modifiers", "field", "message"),
    [
        ({"target": "4"}, "formula", "error ScalingModifiers.Formula is mandatory"),
        (
            {"formula": "jobs"},
            "target",
            "error validating formula in ScalingModifiers\nformula is given but target is empty",
        ),
        (
            {"formula": "jobs +* 2", "target": "4"},
            "formula",
            "error validating formula in ScalingModifiers\n"
            'unexpected "*"; expected a value (1:7)\n | jobs +* 2\n | ......^',
        ),
        (
            {"formula": "heat", "target": "4"},
            "formula",
            "error validating formula in ScalingModifiers\n"
            "unknown name heat: the triggers' names are jobs (1:1)\n | heat\n | ^",
        ),
        (
            {"formula": "jobs", "target": "0"},
            "target",
            "error validating target in ScalingModifiers\nerror converting target for scalingModifiers "
            '(string->float) to valid target: "0" is not a number above 0; write for example "5"',
        ),
    ],
    ids=["no formula", "no target", "syntax", "cpu takes no part", "target of zero"],
)
def test_a_wrong_formula_or_target_is_denied_in_kedas_words_and_ours(modifiers, field, message):
    (denial,) = check_modifiers(spec_of(modifiers))
    assert (denial.message, denial.reason) == (message, "scaling-modifiers")
    assert denial.field == f"spec.advanced.scalingModifiers.{field}"


@pytest.mark.parametrize("formula", ["jobs", "jobs ?? 1", "float(jobs) * 2", "5", "jobs > 2 ? jobs * 2 : 1"])
def test_a_right_formula_is_admitted(formula):
    assert list(check_modifiers(spec_of({"formula": formula, "target": "4.5", "activationTarget": "1"}))) == []


def test_the_fallback_named_after_formulas_needs_one():
    fallback = {"failureThreshold": 1, "replicas": 1, "behavior": "scalingModifiers"}
    (denial,) = check_modifiers(spec_of({}, fallback=fallback))
    assert denial.reason == "scaling-modifiers-fallback"
