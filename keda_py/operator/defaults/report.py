"""Condition and Event of an object whose spec is changed by bounds of KedaDefaults; for both kinds with triggers."""

from keda_py.core.conditions import BOUNDED, ConditionValue, bounded_condition, read_condition
from keda_py.core.spec import TriggersSpec
from keda_py.kube.resources import Obj
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.controller.state import Remembered


def report_bounds(shared: Dependencies, state: Remembered, spec: TriggersSpec, live: Obj) -> dict[str, ConditionValue]:
    """Return the condition to write, and record an Event when what it says is new."""
    known = state.status.get("conditions") or ()
    value = bounded_condition(spec.defaults, known)
    if value is None:
        return {}
    if value.status == "True" and value != read_condition(known, BOUNDED):
        shared.tell(live, "Warning", f"{spec.kind}Bounded", value.message)
    return {BOUNDED: value}
