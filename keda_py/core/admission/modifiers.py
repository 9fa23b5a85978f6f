"""scalingModifiers -> findings: denies formulas and targets that no metric can be built from.

Pure. `composite.py` decides; behaviour reference, section 9.
"""

from collections.abc import Iterator

from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning, Denial, Finding, deny
from keda_py.core.composite import build_composite
from keda_py.core.spec import ScalingSpec
from keda_py.errors import ConfigError

_LATE = "spec.advanced.scalingModifiers.activationTarget"
"""KEDA reads this field after admission, so a wrong value is only a warning."""


def check_modifiers(spec: ScalingSpec) -> Iterator[Finding]:
    """Yield at most one finding: of several faults the first hides the others, as in KEDA."""
    if spec.modifiers is None:
        if spec.fallback is not None and spec.fallback.behavior == "scalingModifiers":
            yield _without_formula()
        return
    try:
        build_composite(spec)
    except ConfigError as error:
        late = error.field == _LATE
        yield _warn_late(error) if late else _in_kedas_form(error)


def _warn_late(error: ConfigError) -> AdmissionWarning:
    return AdmissionWarning(message=str(error), field=_LATE, code=codes.ACTIVATION_TARGET)


def _in_kedas_form(error: ConfigError) -> Denial:
    """Put the step on its own line, as KEDA does: "error validating formula in ScalingModifiers", then the fault."""
    step, _, text = str(error).partition(": ")
    lines = f"{step}\n{text}" if step.endswith("in ScalingModifiers") else str(error)
    return deny(ConfigError(lines, field=error.field), "scaling-modifiers")


def _without_formula() -> Denial:
    return Denial(
        message="scalingModifiers fallback behavior requires scalingModifiers.formula to be defined",
        reason="scaling-modifiers-fallback",
        field="spec.fallback.behavior",
    )
