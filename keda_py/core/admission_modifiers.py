"""scalingModifiers -> findings: a formula that compiles, and a target above zero.

Pure. What a formula may say is `formula.py`'s; here it is judged before it is stored. Behaviour reference, section 9.
"""

from collections.abc import Iterator

from keda_py.core.admission import Denial
from keda_py.core.spec import ScalingSpec

_FIELD = "spec.advanced.scalingModifiers"


def check_modifiers(spec: ScalingSpec) -> Iterator[Denial]:
    """At most one denial: of several faults the first hides the others, as in KEDA."""
    modifiers = spec.modifiers
    if modifiers is None:
        if spec.fallback is not None and spec.fallback.behavior == "scalingModifiers":
            yield _without_formula()
        return
    if not modifiers.formula:
        yield _deny("error ScalingModifiers.Formula is mandatory", "formula")
    elif not modifiers.target:
        yield _deny("error validating formula in ScalingModifiers\nformula is given but target is empty", "target")
    elif not _positive(modifiers.target):
        yield _deny(
            "error validating target in ScalingModifiers\nerror converting target for scalingModifiers "
            f'(string->float) to valid target: "{modifiers.target}" is not a number above 0; write for example "5"',
            "target",
        )


def _without_formula() -> Denial:
    return Denial(
        message="scalingModifiers fallback behavior requires scalingModifiers.formula to be defined",
        reason="scaling-modifiers-fallback",
        field="spec.fallback.behavior",
    )


def _deny(message: str, field: str) -> Denial:
    return Denial(message=message, reason="scaling-modifiers", field=f"{_FIELD}.{field}")


def _positive(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False
