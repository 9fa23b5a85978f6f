"""The HorizontalPodAutoscaler controller's arithmetic (Kubernetes 1.36 and 1.37, autoscaling/v2), without it.

A caller (the embedded cluster's HPA controller, a simulator) reads the scale and its pods, asks for the metrics and
calls `sync`; when the verdict says `rescale` it writes the scale and calls `record_rescale` or `report_failed_rescale`.
Conditions, Events and metrics are then written as the verdict tells. Nothing is remembered here: the history goes in
and comes out. `desired_replicas` is what the metrics ask for, `behavior.py` what becomes of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import assert_never

from keda_py.core.hpa.behavior import (
    Behavior,
    Bounds,
    ExplainedCount,
    HpaHistory,
    Recommendation,
    limit,
    remember_change,
    stabilise,
)
from keda_py.core.hpa.conditions import HpaCondition, HpaEvent, able_to_scale, scaled_to_zero, scaling_active
from keda_py.core.hpa.custom import ObjectSample, PodsSample, propose_object, propose_pods
from keda_py.core.hpa.external import ExternalSample, count_external, propose_external
from keda_py.core.hpa.metrics import MetricError, MetricFailure, MetricProposal, MetricValue, Tolerance
from keda_py.core.hpa.pods import ScaleTarget, Warmup
from keda_py.core.hpa.resources import ResourceSample, propose_resource

MetricSample = ExternalSample | ResourceSample | PodsSample | ObjectSample

_BELOW_MINIMUM = "Current number of replicas below Spec.MinReplicas"


@dataclass(frozen=True, slots=True, kw_only=True)
class HpaSpec:
    """The part of an HPA's spec that decides; its metrics come as samples beside it."""

    min_replicas: int = 1
    max_replicas: int
    behavior: Behavior | None = None
    """None when the HPA has no `behavior`: then one sync goes no further up than max(2 x current, 4)."""
    measured_without_pods: bool = False
    """One of its metrics is of type Object or External: the others have no value while there is no pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """Flags of kube-controller-manager. `scale_to_zero` is the feature gate HPAScaleToZero, on by default from 1.37."""

    tolerance: float = 0.1
    downscale_stabilization: timedelta = timedelta(minutes=5)
    warmup: Warmup = field(default_factory=Warmup)
    scale_to_zero: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaProposal:
    """What the metrics together ask for."""

    replicas: int | None
    """None: do not scale, too little is known."""
    metric: str
    """The metric that asks for most."""
    values: tuple[MetricValue | None, ...]
    """One per metric, None where it failed."""
    condition: HpaCondition
    events: tuple[HpaEvent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """All that one sync decides."""

    history: HpaHistory
    current: int
    desired: int | None
    """status.desiredReplicas; None: leave it as it is, the metrics could not be had."""
    rescale: bool = False
    """Write `desired` to the scale."""
    reason: str = ""
    """Why the replica count changes."""
    conditions: tuple[HpaCondition, ...]
    """In the order in which they are set; a later one of the same type wins, types not named keep what they had."""
    events: tuple[HpaEvent, ...] = ()
    metrics: tuple[MetricValue | None, ...] = ()
    """status.currentMetrics, one per metric; empty when none was looked at."""


def sync(
    spec: HpaSpec,
    target: ScaleTarget,
    metrics: Sequence[MetricSample],
    history: HpaHistory,
    options: ControllerOptions,
    now: datetime,
) -> SyncResult:
    """Decide once, as the controller does each sync period (15 s)."""
    current = target.replicas
    history = begin(history, current, now)
    got_scale = able_to_scale("SucceededGetScale", "the HPA controller was able to get the target's current scale")
    verdict = SyncResult(history=history, current=current, desired=current, conditions=(got_scale,))
    if current == 0 and not ends_zero(spec, history, options):
        message = "scaling is disabled since the replica count of the target is zero"
        disabled = scaling_active("ScalingDisabled", message, active=False)
        return replace(verdict, conditions=(got_scale, disabled))
    if current > spec.max_replicas:
        reason = "Current number of replicas above Spec.MaxReplicas"
        return replace(verdict, desired=spec.max_replicas, rescale=True, reason=reason)
    if 0 < current < spec.min_replicas:
        return replace(verdict, desired=spec.min_replicas, rescale=True, reason=_BELOW_MINIMUM)
    tolerance = choose_tolerance(spec, options)
    proposal = desired_replicas(target, metrics, tolerance, options.warmup, now)
    measured = replace(
        verdict, metrics=proposal.values, events=proposal.events, conditions=(got_scale, proposal.condition)
    )
    if proposal.replicas is None:
        return replace(measured, desired=None)
    return _normalise(measured, spec, proposal.replicas, proposal.metric, options, now)


def needs_metrics(spec: HpaSpec, replicas: int, history: HpaHistory, options: ControllerOptions) -> bool:
    """Whether `sync` will look at metrics: not at another client's zero, nor outside the bounds, which decide alone."""
    if replicas == 0:
        return ends_zero(spec, history, options)
    return spec.min_replicas <= replicas <= spec.max_replicas


def ends_zero(spec: HpaSpec, history: HpaHistory, options: ControllerOptions) -> bool:
    """Whether metrics may end a count of zero: the controller has set it, and a metric, or a minimum that was raised
    meanwhile, asks for more."""
    by_controller = options.scale_to_zero and history.scaled_to_zero
    return by_controller and (spec.min_replicas != 0 or spec.measured_without_pods)


def begin(history: HpaHistory, current: int, now: datetime) -> HpaHistory:
    """With the count as a first recommendation, where none is remembered."""
    return history if history.recommendations else replace(history, recommendations=(Recommendation(current, now),))


def desired_replicas(
    target: ScaleTarget, metrics: Sequence[MetricSample], tolerance: Tolerance, warmup: Warmup, now: datetime
) -> ReplicaProposal:
    """The most that any metric asks for. A failed metric lets the others scale up, never down.

    Raises ValueError without metrics: the API server gives each HPA at least one.
    """
    if not metrics:
        raise ValueError("metrics: none given; an HPA has at least one")
    results = [_propose(sample, target, tolerance, warmup, now) for sample in metrics]
    failures = [result for result in results if isinstance(result, MetricFailure)]
    proposals = [result for result in results if isinstance(result, MetricProposal)]
    values = tuple(result.value if isinstance(result, MetricProposal) else None for result in results)
    events = tuple(HpaEvent("Warning", failure.reason, failure.message) for failure in failures)
    count = _highest([proposal.replicas for proposal in proposals], target.replicas, failed=bool(failures))
    if count is None:
        return _give_up(failures, len(metrics), values, events)
    # The first one with that count, as in the controller: its name goes into condition and Event.
    highest = next(proposal for proposal in proposals if proposal.replicas == count)
    message = f"the HPA was able to successfully calculate a replica count from {highest.metric}"
    return ReplicaProposal(
        replicas=highest.replicas,
        metric=highest.metric,
        values=values,
        condition=scaling_active("ValidMetricFound", message),
        events=events,
    )


def desired_count(
    target: ScaleTarget, metrics: Sequence[MetricSample], tolerance: Tolerance, warmup: Warmup, now: datetime
) -> int | None:
    """`desired_replicas` without its words, for those who ask a hundred thousand times."""
    counts, failed = [], False
    for sample in metrics:
        count = _count(sample, target, tolerance, warmup, now)
        if count is None:
            failed = True
        else:
            counts.append(count)
    return _highest(counts, target.replicas, failed=failed)


def _count(
    sample: MetricSample, target: ScaleTarget, tolerance: Tolerance, warmup: Warmup, now: datetime
) -> int | None:
    if isinstance(sample, ExternalSample):
        try:
            return None if sample.error else count_external(sample, target, tolerance)
        except MetricError:
            return None
    proposal = _propose(sample, target, tolerance, warmup, now)
    return proposal.replicas if isinstance(proposal, MetricProposal) else None


def _highest(counts: Sequence[int], current: int, *, failed: bool) -> int | None:
    """A failed metric lets the others scale up, never down; None: do not scale."""
    highest = max(counts, default=None)
    # The metric that failed might have asked for more than all others: a fall could undo what it holds up.
    return None if highest is None or (failed and highest < current) else highest


def resize(
    spec: HpaSpec, current: int, proposal: int, history: HpaHistory, options: ControllerOptions, now: datetime
) -> tuple[HpaHistory, ExplainedCount, ExplainedCount]:
    """What stabilisation, and then policies and bounds, make of a proposal: the second outcome is the new count, but
    for `leave_zero`."""
    history, stable = stabilise(history, proposal, spec.behavior, options.downscale_stabilization, current, now)
    bounds = Bounds(current=current, minimum=spec.min_replicas, maximum=spec.max_replicas)
    return history, stable, limit(history, stable.replicas, spec.behavior, bounds, now)


def leave_zero(spec: HpaSpec, current: int, replicas: int) -> int:
    """The new count, which from zero is not below a minimum that was raised meanwhile. The rules of a behavior do not
    see to that: they apply the minimum to a count that falls."""
    return max(replicas, spec.min_replicas) if current == 0 else replicas


def record_rescale(spec: HpaSpec, verdict: SyncResult, options: ControllerOptions, now: datetime) -> SyncResult:
    """The verdict after the scale was written: its condition, its Event, and the change remembered for policies."""
    desired = verdict.current if verdict.desired is None else verdict.desired
    message = f"the HPA controller was able to update the target scale to {desired}"
    event = HpaEvent("Normal", "SuccessfulRescale", f"New size: {desired}; reason: {verdict.reason}")
    history = remember_rescale(spec, verdict.current, desired, verdict.history, options, now)
    marked = (scaled_to_zero(by_controller=history.scaled_to_zero),) if options.scale_to_zero else ()
    return replace(
        verdict,
        history=history,
        conditions=(*verdict.conditions, able_to_scale("SucceededRescale", message), *marked),
        events=(*verdict.events, event),
    )


def remember_rescale(
    spec: HpaSpec, current: int, desired: int, history: HpaHistory, options: ControllerOptions, now: datetime
) -> HpaHistory:
    """The history after the scale was written: the change for policies, and whether the controller set a zero."""
    zero = options.scale_to_zero and desired == 0 < current and spec.min_replicas == 0 and spec.measured_without_pods
    return replace(remember_change(history, spec.behavior, current, desired, now), scaled_to_zero=zero)


def report_failed_rescale(verdict: SyncResult, error: str) -> SyncResult:
    """The verdict after the API server refused the new scale; status.desiredReplicas stays."""
    message = f"the HPA controller was unable to update the target scale: {error}"
    text = f"New size: {verdict.desired}; reason: {verdict.reason}; error: {error}"
    return replace(
        verdict,
        desired=None,
        rescale=False,
        conditions=(*verdict.conditions, able_to_scale("FailedUpdateScale", message, able=False)),
        events=(*verdict.events, HpaEvent("Warning", "FailedRescale", text)),
    )


def report_failed_scale(error: str) -> tuple[HpaCondition, HpaEvent]:
    """Return the condition and Event of a scale that cannot be read; the rest of the status stays."""
    message = f"the HPA controller was unable to get the target's current scale: {error}"
    return able_to_scale("FailedGetScale", message, able=False), HpaEvent("Warning", "FailedGetScale", error)


def choose_tolerance(spec: HpaSpec, options: ControllerOptions) -> Tolerance:
    """Return the tolerance of the behavior, else the controller's own."""
    up = spec.behavior.scale_up.tolerance if spec.behavior else None
    down = spec.behavior.scale_down.tolerance if spec.behavior else None
    return Tolerance(
        scale_up=options.tolerance if up is None else up, scale_down=options.tolerance if down is None else down
    )


def _propose(
    sample: MetricSample, target: ScaleTarget, tolerance: Tolerance, warmup: Warmup, now: datetime
) -> MetricProposal | MetricFailure:
    match sample:
        case ExternalSample():
            return propose_external(sample, target, tolerance)
        case ResourceSample():
            return propose_resource(sample, target, tolerance, warmup, now)
        case PodsSample():
            return propose_pods(sample, target, tolerance, warmup, now)
        case ObjectSample():
            return propose_object(sample, target, tolerance)
        case _:
            assert_never(sample)


def _give_up(
    failures: Sequence[MetricFailure],
    total: int,
    values: tuple[MetricValue | None, ...],
    events: tuple[HpaEvent, ...],
) -> ReplicaProposal:
    first = failures[0]
    summary = f"invalid metrics ({len(failures)} invalid out of {total}), first error is: {first.summary}"
    message = f"the HPA was unable to compute the replica count: {first.message}"
    return ReplicaProposal(
        replicas=None,
        metric="",
        values=values,
        condition=scaling_active(first.reason, message, active=False),
        events=(*events, HpaEvent("Warning", "FailedComputeMetricsReplicas", summary)),
    )


def _normalise(
    verdict: SyncResult, spec: HpaSpec, proposal: int, metric: str, options: ControllerOptions, now: datetime
) -> SyncResult:
    current = verdict.current
    history, stable, limited = resize(spec, current, proposal, verdict.history, options, now)
    desired = leave_zero(spec, current, limited.replicas)
    return replace(
        verdict,
        history=history,
        desired=desired,
        rescale=desired != current,
        reason=_explain(proposal, current, metric) or ("" if desired == limited.replicas else _BELOW_MINIMUM),
        conditions=(*verdict.conditions, stable.condition, limited.condition),
    )


def _explain(replicas: int, current: int, metric: str) -> str:
    if replicas == current:
        return ""  # a recent recommendation moves the count, and the controller has no words for it
    return f"{metric} above target" if replicas > current else "All metrics below target"
