"""From readings to answers: what a round means for the decision, and what the HPA is told when it asks.

Sixth of the seven files (before: `operator/scaled_objects/look.py`, next: `operator/app.py`). `evaluate` is pure and
the same for both askers, so poll and HPA never disagree: a metric has a value, or it has failed, or its fallback stands
in. Behaviour reference, sections 5.1 (activity), 7.3 and 7.4 (the HPA's question), 8 (fallback).
"""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from keda_py.core.composite import Composite, CompositeValue, compute, is_active
from keda_py.core.fallback import (
    FallbackState,
    Workload,
    exceeds_threshold,
    fallback_milli,
    leaves_to_formula,
    needs_ready_pods,
    needs_replicas,
)
from keda_py.core.formula.formula import FormulaError
from keda_py.core.metric_names import COMPOSITE_METRIC, MetricSet
from keda_py.core.object_key import ObjectKey
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.quantity import to_milli
from keda_py.errors import ConfigError, KedaPyError, ScalerError
from keda_py.readings.readings import Readings, Round
from keda_py.readings.tracked_metrics import MetricReading

PREFIX = "rpc error: code = Unknown desc = error when getting metric values "
"""KEDA answers through gRPC, and its words end up in the HPA's conditions; people search for them."""
TURN_SECONDS = 2.0
"""The HPA controller asks for few HPAs at once: a namespace whose formulas wait must not hold it up."""
_NO_TURN = "formulas of this namespace take more than a tenth of the time; make them simpler or poll less often"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValue:
    """One value as the HPA gets it."""

    name: str
    milli: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What a round means. `errors` are (trigger index, error) beyond any fallback; `failing` says there are some."""

    values: tuple[MetricValue, ...]
    active: bool
    failing: bool
    active_metrics: tuple[str, ...] = ()
    errors: tuple[tuple[int, ScalerError], ...] = ()
    in_fallback: tuple[str, ...] = ()
    changes_at: datetime | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """What one reading means: a value, perhaps its fallback's, an error, or (`is_nil`) nothing for the formula."""

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


class QueryError(KedaPyError):
    """The HPA gets no value, and this text."""


class TargetReader(Protocol):
    """What a fallback may want to know of the scale target."""

    async def replicas(self, spec: ScalingSpec) -> int | None:
        """`spec.replicas`; None when it cannot be read now."""
        ...

    async def ready_pods(self, spec: ScalingSpec) -> int | None:
        """Pods of the /scale selector that are Running and Ready; None when they cannot be counted now."""
        ...


def evaluate(
    spec: ScalingSpec,
    metrics: MetricSet,
    seen: Round,
    health: Mapping[str, FallbackState],
    replicas: int | None,
    ready_pods: int | None,
) -> Evaluation:
    """The values, the activity and the errors of a round. Pure."""
    workload = Workload(replicas=replicas, ready_pods=ready_pods)
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
        changes_at=_first_change(seen),
        notes=tuple(f"{one.name}: {one.note}" for one in verdicts if one.note),
    )
    if metrics.composite is None or not metrics.external:
        return whole
    return _compose(metrics.composite, verdicts, whole)


def _judge(
    spec: ScalingSpec, reading: MetricReading, health: Mapping[str, FallbackState], workload: Workload
) -> _Verdict:
    outcome = reading.outcome
    if isinstance(outcome, ScalerError):
        return _judge_failure(spec, reading, outcome, health, workload)
    zeroed = not math.isfinite(outcome.value) or outcome.value < 0
    note = outcome.note or (f"{outcome.value:g} counts as 0" if zeroed else "")
    return _Verdict(reading=reading, milli=to_milli(outcome.value), active=bool(outcome.active), note=note)


def _judge_failure(
    spec: ScalingSpec,
    reading: MetricReading,
    error: ScalerError,
    health: Mapping[str, FallbackState],
    workload: Workload,
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


def _first_change(seen: Round) -> datetime | None:
    outcomes = [reading.outcome for reading in seen.readings]
    known = [one.changes_at for one in outcomes if not isinstance(one, ScalerError) and one.changes_at]
    return min(known, default=None)


def _compose(composite: Composite, verdicts: Sequence[_Verdict], parts: Evaluation) -> Evaluation:
    """One metric in place of all: the formula's value, or the first fallback's, which bypasses the formula.

    Each trigger's own activity counts for nothing. A formula that fails gives no value, and that is not a trigger's
    failure: the poll finds it inactive, and the HPA gets an empty list and keeps its replicas.
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
    # A trigger without a name takes no part; of a trigger's several metrics the last has the name.
    named = {one.reading.metric.trigger_name: one for one in verdicts if one.reading.metric.trigger_name}
    values = {name: None if one.is_nil else one.milli * 1e-3 for name, one in named.items()}
    # `now()` is the instant of the newest reading, so that poll and HPA compute the same from the same readings.
    now = max(one.reading.taken_at for one in verdicts)
    try:
        return compute(composite, values, now)
    except FormulaError as error:
        return error


class Query:
    """The HPA's question. `specs` finds the spec of an object whose scalers are not built yet."""

    def __init__(
        self, *, readings: Readings, targets: TargetReader, specs: Callable[[ObjectKey], ScalingSpec | None]
    ) -> None:
        self._readings, self._targets, self._specs = readings, targets, specs

    async def answer(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...]:
        """The values of a metric. Raises QueryError in KEDA's words."""
        key = ObjectKey(ScalingSpec.kind, namespace, scaled_object)
        spec, metrics = await self._find(key)
        try:
            readings = await self._readings.ask(key, metric)
            if not readings:
                raise QueryError(f"{PREFIX}no matching metrics found for {metric}")
            evaluation = await self._evaluate(spec, metrics, Round(readings=readings))
        except (ConfigError, ScalerError) as error:
            raise QueryError(f"{PREFIX}{error}") from None
        if evaluation.errors and not evaluation.in_fallback:
            raise QueryError(f"{PREFIX}metric:{metric} encountered error")
        return evaluation.values

    async def _find(self, key: ObjectKey) -> tuple[ScalingSpec, MetricSet]:
        built = self._readings.built(key)
        if built and isinstance(built.spec, ScalingSpec):
            return built.spec, built.metrics
        spec = self._specs(key)
        if spec is None:
            raise QueryError(f'{PREFIX}error getting scalers ScaledObject.keda.sh "{key.name}" not found')
        try:
            return spec, await self._readings.build(spec)
        except (ConfigError, ScalerError) as error:
            raise QueryError(f"{PREFIX}error getting scalers {error}") from None

    async def _evaluate(self, spec: ScalingSpec, metrics: MetricSet, seen: Round) -> Evaluation:
        failed = any(isinstance(reading.outcome, ScalerError) for reading in seen.readings)
        replicas = await self._targets.replicas(spec) if failed and needs_replicas(spec) else None
        ready = await self._targets.ready_pods(spec) if failed and needs_ready_pods(spec, metrics) else None
        health = self._readings.health(spec.key)
        if metrics.composite is None:
            return evaluate(spec, metrics, seen, health, replicas, ready)
        try:
            async with asyncio.timeout(TURN_SECONDS), self._readings.formulas.turn(spec.namespace):
                return evaluate(spec, metrics, seen, health, replicas, ready)
        except TimeoutError:
            raise QueryError(f"{PREFIX}{_NO_TURN}") from None
