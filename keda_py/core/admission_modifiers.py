"""scalingModifiers -> findings: a formula that compiles, and a target above zero.

Pure. `composite.py` says what is wrong; here it is judged before it is stored. As in KEDA, activationTarget is not.
Behaviour reference, section 9.
"""

from collections.abc import Iterator

from keda_py.core.admission import Denial
from keda_py.core.composite import check_formula
from keda_py.core.spec import ScalingSpec
from keda_py.errors import ConfigError


def check_modifiers(spec: ScalingSpec) -> Iterator[Denial]:
    """At most one denial: of several faults the first hides the others, as in KEDA."""
    if spec.modifiers is None:
        if spec.fallback is not None and spec.fallback.behavior == "scalingModifiers":
            yield _without_formula()
        return
    try:
        check_formula(spec, spec.modifiers)
    except ConfigError as error:
        yield Denial(message=str(error), reason="scaling-modifiers", field=error.field)


def _without_formula() -> Denial:
    return Denial(
        message="scalingModifiers fallback behavior requires scalingModifiers.formula to be defined",
        reason="scaling-modifiers-fallback",
        field="spec.fallback.behavior",
    )
