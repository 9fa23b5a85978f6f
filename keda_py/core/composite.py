"""scalingModifiers: one metric instead of all external ones, with the value of a formula.

Pure. `metric_names.py` builds a Composite once per generation, `hpa/manifest.py` shows its target to the HPA, and
`evaluation.py` computes its value. Behaviour reference, section 9.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from keda_py.apis.go_values import parse_float
from keda_py.apis.scaled_object import ScalingModifiers
from keda_py.core.formula.syntax.limits import FormulaError
from keda_py.core.spec import RESOURCE_TRIGGERS, TriggersSpec
from keda_py.core.values.quantity import LARGEST_MILLI
from keda_py.errors import ConfigError

if TYPE_CHECKING:
    from keda_py.core.formula.formula import Formula

_FIELD = "spec.advanced.scalingModifiers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Composite:
    """A formula over the triggers' names, the target of its value, and the value above which it is active.

    `if_nil` is the value used when the formula gives nil: the fallback's replicas times the target.
    """

    formula: "Formula"
    target: float
    activation: float
    if_nil: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeValue:
    """A value in milli; `note` says why it differs from what the formula gave."""

    milli: int
    note: str = ""


def build_composite(spec: TriggersSpec) -> Composite | None:
    """Build the composite; None without scalingModifiers. Raises ConfigError."""
    if spec.modifiers is None:
        return None
    formula, target = check_formula(spec, spec.modifiers)
    return Composite(
        formula=formula,
        target=target,
        activation=_read_activation(spec.modifiers.activation_target),
        if_nil=spec.fallback.replicas * target if spec.fallback else None,
    )


def check_formula(spec: TriggersSpec, modifiers: ScalingModifiers) -> tuple["Formula", float]:
    """Compile and try the formula, and read its target. Raises ConfigError, its first line in KEDA's words."""
    if not modifiers.formula:
        raise ConfigError("error ScalingModifiers.Formula is mandatory", field=f"{_FIELD}.formula")
    if not modifiers.target:
        message = "error validating formula in ScalingModifiers\nformula is given but target is empty"
        raise ConfigError(message, field=f"{_FIELD}.target")
    from keda_py.core.formula.formula import compile_formula, try_formula  # 1 MB, and few objects have a formula

    names = frozenset(one.name for one in spec.triggers if one.name and one.type not in RESOURCE_TRIGGERS)
    formula = compile_formula(modifiers.formula, names)
    try_formula(formula, names)
    return formula, _read_target(modifiers.target)


def compute(composite: Composite, values: Mapping[str, float | None], now: datetime) -> CompositeValue:
    """Compute the formula with these values by trigger name. Raises FormulaError.

    float64, cut to milli as in KEDA: a formula that gives 2.009 serves int(2.009 * 1000) = 2008m.
    """
    result = composite.formula.evaluate(values, now)
    if result is None:
        if composite.if_nil is None:
            raise FormulaError("the formula gives nil and there is no fallback; end it with a number: ... ?? 0")
        return CompositeValue(milli=_cut(composite.if_nil), note="the formula gives nil: the fallback's replicas count")
    if not math.isfinite(result):
        return CompositeValue(milli=0, note=f"the formula gives {result}, which counts as 0")
    return CompositeValue(milli=_cut(result))


def is_active(composite: Composite, milli: int) -> bool:
    """Whether the value is above activationTarget."""
    return milli * 1e-3 > composite.activation


def _cut(value: float) -> int:
    return max(-LARGEST_MILLI, min(int(value * 1000) if math.isfinite(value * 1000) else LARGEST_MILLI, LARGEST_MILLI))


def _read_target(text: str) -> float:
    target = _read_number(text)
    if target is None or target <= 0:
        message = (
            "error validating target in ScalingModifiers\nerror converting target for scalingModifiers "
            f'(string->float) to valid target: "{text}" is not a number above 0; write for example "5"'
        )
        raise ConfigError(message, field=f"{_FIELD}.target")
    return target


def _read_activation(text: str) -> float:
    activation = _read_number(text or "0")
    if activation is None:
        message = f'scalingModifiers.ActivationTarget parsing error: "{text}" is not a number; write for example "0"'
        raise ConfigError(message, field=f"{_FIELD}.activationTarget")
    return activation


def _read_number(text: str) -> float | None:
    try:
        number = parse_float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
