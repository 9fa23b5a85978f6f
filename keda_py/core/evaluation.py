"""Evaluate a round of readings: values, activity and errors, with fallbacks and the formula applied.

Pure, and the same for poll and HPA, so that the two never disagree: a metric has a value, or it has failed, or its
fallback replaces it. Behaviour reference, sections 5.1 (activity) and 8 (fallback).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import is_

from keda_py.core.composite import Composite, CompositeValue, compute, is_active
from keda_py.core.fallback import (
    FallbackState,
    TargetCounts,
    exceeds_threshold,
    fallback_milli,
    leaves_to_formula,
)
from keda_py.core.formula.formula import FormulaError
from keda_py.core.metric_names import COMPOSITE_METRIC, MetricSet
from keda_py.core.reading import MetricReading, Round
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.own_annotations import ACTIVE_WHEN, MOST_PER_TRIGGER
from keda_py.core.values.quantity import counts_as_zero, target_milli, to_milli
from keda_py.errors import ScalerError

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValue:
    """One value as the HPA receives it."""

    name: str
    milli: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownValues:
    """Values that were computed from good readings under a spec, as long as both are the same objects."""

    spec: ScalingSpec
    readings: tuple[MetricReading, ...]
    values: tuple[MetricValue, ...]

    def holds(self, spec: object, readings: tuple[MetricReading, ...]) -> bool:
        """Whether these are the values of `spec` and `readings`."""
        return self.spec is spec and all(map(is_, self.readings, readings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """An evaluated round. `errors` are (trigger index, error) that no fallback covers; `failing`: there are some."""

    values: tuple[MetricValue, ...]
    active: bool
    failing: bool
    active_metrics: tuple[str, ...] = ()
    errors: tuple[tuple[int, ScalerError], ...] = ()
    in_fallback: tuple[str, ...] = ()
    changes_at: datetime | None = None
    notes: tuple[str, ...] = ()

    @property
    def refuses(self) -> bool:
        """Whether an HPA's request gets an error instead of `values`."""
        return bool(self.errors) and not self.in_fallback


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """One evaluated reading: a value (perhaps its fallback's), an error, or (`is_nil`) nil for the formula."""

    reading: MetricReading
    milli: int = 0
    active: bool = False
    in_fallback: bool = False
    is_nil: bool = False
    error: ScalerError | None = None
    note: str = ""

    @property
    def name(self) -> str:
        return self.reading.metric.name


def evaluate(
    spec: ScalingSpec,
    metrics: MetricSet,
    seen: Round,
    health: Mapping[str, FallbackState],
    replicas: int | None,
    ready_pods: int | None,
) -> Evaluation:
    """Evaluate the values, the activity and the errors of a round. Pure."""
    workload = TargetCounts(replicas=replicas, ready_pods=ready_pods)
    verdicts = [_judge(spec, reading, health, workload) for reading in seen.readings]
    errors = tuple((one.reading.metric.trigger_index, one.error) for one in verdicts if one.error)
    unread = len(seen.readings) < len(metrics.external)
    active_metrics = tuple(one.name for one in verdicts if one.active)
    whole = Evaluation(
        values=tuple(MetricValue(name=one.name, milli=one.milli) for one in verdicts if not one.error),
        active=bool(active_metrics) or not metrics.external,
        failing=bool(errors) or unread,
        active_metrics=active_metrics,
        errors=errors,
        in_fallback=tuple(one.name for one in verdicts if one.in_fallback),
        changes_at=seen.changes_at,
        notes=tuple(f"{one.name}: {one.note}" for one in verdicts if one.note),
    )
    if spec.needs_all:
        return _require_all(verdicts, whole)
    if metrics.composite is None or not metrics.external:
        return whole
    return _compose(metrics.composite, verdicts, whole)


def _judge(
    spec: ScalingSpec, reading: MetricReading, health: Mapping[str, FallbackState], workload: TargetCounts
) -> _Verdict:
    outcome = reading.outcome
    if isinstance(outcome, ScalerError):
        return _judge_failure(spec, reading, outcome, health, workload)
    note = outcome.note or (f"{outcome.value:g} counts as 0" if counts_as_zero(outcome.value) else "")
    milli, index = to_milli(outcome.value), reading.metric.trigger_index
    if index in spec.most_per_trigger:
        # An HPA divides by the target as its manifest prints it: this is the largest value that asks for no more.
        most = target_milli(reading.metric.target) * spec.most_per_trigger[index]
        if milli > most:
            milli, note = most, f"asks for {spec.most_per_trigger[index]} at most ({MOST_PER_TRIGGER})"
    return _Verdict(reading=reading, milli=milli, active=bool(outcome.active), note=note)


def _judge_failure(
    spec: ScalingSpec,
    reading: MetricReading,
    error: ScalerError,
    health: Mapping[str, FallbackState],
    workload: TargetCounts,
) -> _Verdict:
    if not exceeds_threshold(spec, health.get(reading.metric.name, FallbackState())):
        return _Verdict(reading=reading, error=error)
    if leaves_to_formula(spec):
        return _Verdict(reading=reading, is_nil=True, note="nil in the formula: beyond its failure threshold")
    try:
        milli = fallback_milli(spec, reading.metric, workload, error)
    except ScalerError as failed:
        return _Verdict(reading=reading, error=failed)
    return _Verdict(reading=reading, milli=milli, active=True, in_fallback=True, note="fallback")


def _require_all(verdicts: Sequence[_Verdict], whole: Evaluation) -> Evaluation:
    """Let the object be active only if each trigger is; else the HPA is told 0 of all, so that none scales alone.

    While one cannot be read, nothing is known of all of them: there is no value, and the HPA keeps its count. A trigger
    in fallback counts as active.
    """
    if whole.failing:
        return replace(whole, values=(), active=False)
    idle = [one.name for one in verdicts if not one.active]
    if not idle:
        return whole
    values = tuple(MetricValue(name=one.name, milli=0) for one in verdicts)
    notes = [*whole.notes]
    if len(idle) < len(verdicts):
        notes.append(f"{whole.active_metrics[0]}: waits for {', '.join(idle[:_MOST_NAMED])} ({ACTIVE_WHEN})")
    return replace(whole, values=values, active=False, notes=tuple(notes))


def _compose(composite: Composite, verdicts: Sequence[_Verdict], parts: Evaluation) -> Evaluation:
    """Replace all metrics by one: the formula's value, or the first fallback's, which bypasses the formula.

    The triggers' own activity has no effect. A formula that fails gives no value, which is not a trigger's failure: the
    poll finds the object inactive, and the HPA gets an empty list and keeps its replicas.
    """
    value = _composite_value(composite, verdicts, parts)
    milli = value.milli if isinstance(value, CompositeValue) else None
    active = milli is not None and not parts.failing and is_active(composite, milli)
    note = value.note if isinstance(value, CompositeValue) else str(value or "")
    return replace(
        parts,
        values=() if milli is None else (MetricValue(name=COMPOSITE_METRIC, milli=milli),),
        active=active,
        active_metrics=(COMPOSITE_METRIC,) if active else (),
        notes=(*parts.notes, *([f"{COMPOSITE_METRIC}: {note}"] if note else [])),
    )


def _composite_value(
    composite: Composite, verdicts: Sequence[_Verdict], parts: Evaluation
) -> CompositeValue | FormulaError | None:
    stand_in = next((one for one in verdicts if one.in_fallback), None)
    if stand_in:
        return CompositeValue(milli=stand_in.milli)
    if parts.failing:
        return None
    # A trigger without a name is left out; if a trigger has several metrics, its name means the last one.
    named = {one.reading.metric.trigger_name: one for one in verdicts if one.reading.metric.trigger_name}
    values = {name: None if one.is_nil else one.milli * 1e-3 for name, one in named.items()}
    # `now()` is the instant of the newest reading, so that poll and HPA compute the same from the same readings.
    now = max(one.reading.taken_at for one in verdicts)
    try:
        return compute(composite, values, now)
    except FormulaError as error:
        return error
