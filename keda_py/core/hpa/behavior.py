"""The behaviour rules of autoscaling/v2: what becomes of a proposal, by stabilisation, policies and limits, and why.

`hpa/controller.py` brings the proposal that the metrics make and the history that its caller keeps. `stabilise` looks
back over recent proposals, `limit` applies policies, minimum and maximum. An HPA without `behavior` follows older,
simpler rules: only scaling down is stabilised, and one sync goes no further up than max(2 x current, 4).

Percentages are float64 in Kubernetes' order: 100 pods + 10 % are ceil(100 * (1 + 10/100)) = ceil(110.00000000000001),
so 111.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from keda_py.core.hpa.conditions import HpaCondition, able_to_scale, scaling_limited


class PolicyType(StrEnum):
    """`policies[].type`."""

    PODS = "Pods"
    PERCENT = "Percent"


class SelectPolicy(StrEnum):
    """Which of several policies of one direction applies; Disabled forbids that direction."""

    MAX = "Max"
    MIN = "Min"
    DISABLED = "Disabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPolicy:
    """How much may change within a period."""

    type: PolicyType
    value: int
    period: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingRules:
    """`behavior.scaleUp` or `behavior.scaleDown`, defaults filled in."""

    policies: tuple[ScalingPolicy, ...]
    select_policy: SelectPolicy = SelectPolicy.MAX
    stabilization: timedelta | None = timedelta(0)
    """None (scaleDown only): the controller's own down-scale stabilisation, 300 s unless a flag says otherwise."""
    tolerance: float | None = None
    """None: the controller's own tolerance, 0.1 unless a flag says otherwise."""


DEFAULT_SCALE_UP = ScalingRules(
    policies=(
        ScalingPolicy(type=PolicyType.PODS, value=4, period=timedelta(seconds=15)),
        ScalingPolicy(type=PolicyType.PERCENT, value=100, period=timedelta(seconds=15)),
    ),
)
DEFAULT_SCALE_DOWN = ScalingRules(
    policies=(ScalingPolicy(type=PolicyType.PERCENT, value=100, period=timedelta(seconds=15)),),
    stabilization=None,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behavior:
    """`spec.behavior`; a side that is not written has its defaults. An absent `behavior` is None, not this."""

    scale_up: ScalingRules = DEFAULT_SCALE_UP
    scale_down: ScalingRules = DEFAULT_SCALE_DOWN


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What the metrics asked for, before stabilisation."""

    replicas: int
    at: datetime


@dataclass(frozen=True, slots=True)
class ScaleEvent:
    """A change that was made: pods added or removed, always positive."""

    change: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HpaHistory:
    """What the controller remembers of one HPA between syncs; `HpaHistory()` when it sees the HPA first."""

    recommendations: tuple[Recommendation, ...] = ()
    scale_ups: tuple[ScaleEvent, ...] = ()
    scale_downs: tuple[ScaleEvent, ...] = ()
    scaled_to_zero: bool = False
    """The controller itself set the count of zero. A cluster stores it as the condition ScaledToZero of the HPA."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Where the replica count stands and between what it may move."""

    current: int
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class ExplainedCount:
    """A replica count and the condition that explains it."""

    replicas: int
    condition: HpaCondition


_WITHIN_RANGE = scaling_limited("DesiredWithinRange", "the desired count is within the acceptable range", limited=False)
_TOO_MANY = scaling_limited(
    "TooManyReplicas", "the desired replica count is more than the maximum replica count", limited=True
)
_TOO_FEW = scaling_limited(
    "TooFewReplicas", "the desired replica count is less than the minimum replica count", limited=True
)
_UP_LIMIT = scaling_limited(
    "ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate", limited=True
)
_DOWN_LIMIT = scaling_limited(
    "ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate", limited=True
)

_READY = able_to_scale("ReadyForNewScale", "recommended size matches current size")
_UP_STABILIZED = able_to_scale(
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)
_DOWN_STABILIZED = able_to_scale(
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)


def stabilise(
    history: HpaHistory, proposal: int, rules: Behavior | None, window: timedelta, current: int, now: datetime
) -> tuple[HpaHistory, ExplainedCount]:
    """Hold a proposal against the recent ones; `window` is the controller's own for scaling down (300 s).

    The history returned remembers the proposal as it came, and forgets what no window reaches any more.
    """
    if rules is None:
        cutoff = now - window
        kept = [each for each in history.recommendations if each.at >= cutoff]
        stabilised = max(proposal, *[each.replicas for each in kept]) if kept else proposal
        reason, only_highest = _DOWN_STABILIZED, True
    else:
        up, down = rules.scale_up.stabilization or timedelta(0), down_window(rules, window)
        cutoff = now - max(up, down)
        kept = [each for each in history.recommendations if each.at >= cutoff]
        lowest = min([proposal, *[each.replicas for each in kept if each.at > now - up]])
        highest = max([proposal, *[each.replicas for each in kept if each.at > now - down]])
        stabilised = min(max(current, lowest), highest)
        reason, only_highest = _UP_STABILIZED if proposal >= current else _DOWN_STABILIZED, not up
    while only_highest and kept and kept[-1].replicas <= proposal:
        kept.pop()  # where only the highest counts, one that is no higher and ends earlier never decides again
    history = replace(history, recommendations=(*kept, Recommendation(proposal, now)))
    return history, ExplainedCount(stabilised, _READY if stabilised == proposal else reason)


def limit(history: HpaHistory, replicas: int, rules: Behavior | None, bounds: Bounds, now: datetime) -> ExplainedCount:
    """Keep a stabilised count within policies, minimum and maximum."""
    if rules is None:
        return _limit_plainly(replicas, bounds)
    if replicas > bounds.current:
        ceiling = max(bounds.current, _policy_limit(history, rules.scale_up, bounds.current, now, direction=1))
        highest, reason = (ceiling, _UP_LIMIT) if bounds.maximum > ceiling else (bounds.maximum, _TOO_MANY)
        if replicas > highest:
            return ExplainedCount(highest, reason)
    elif replicas < bounds.current:
        floor = min(bounds.current, _policy_limit(history, rules.scale_down, bounds.current, now, direction=-1))
        lowest, reason = (floor, _DOWN_LIMIT) if bounds.minimum < floor else (bounds.minimum, _TOO_FEW)
        if replicas < lowest:
            return ExplainedCount(lowest, reason)
    return ExplainedCount(replicas, _WITHIN_RANGE)


def remember_change(history: HpaHistory, rules: Behavior | None, before: int, after: int, now: datetime) -> HpaHistory:
    """The history after the replica count was changed; policies count the changes of their period."""
    if rules is None or before == after:
        return history
    if after > before:
        events = _forget_old(history.scale_ups, rules.scale_up, now)
        return replace(history, scale_ups=(*events, ScaleEvent(after - before, now)))
    events = _forget_old(history.scale_downs, rules.scale_down, now)
    return replace(history, scale_downs=(*events, ScaleEvent(before - after, now)))


def is_by_policy(limited: ExplainedCount) -> bool:
    """Was it a policy that kept the count from where it should be?"""
    return limited.condition in (_UP_LIMIT, _DOWN_LIMIT)


def awaits_policies(history: HpaHistory, rules: Behavior | None, now: datetime) -> bool:
    """Will the policies allow more by themselves, when changes that were made leave their periods?"""
    if rules is None:
        return False
    policies = (*rules.scale_up.policies, *rules.scale_down.policies)
    since = now - max((policy.period for policy in policies), default=timedelta(0))
    return any(event.at > since for event in (*history.scale_ups, *history.scale_downs))


def down_window(rules: Behavior | None, window: timedelta) -> timedelta:
    """For how long a recommendation keeps a count from falling; `window` is the controller's own."""
    own = rules.scale_down.stabilization if rules is not None else None
    return window if own is None else own


def _limit_plainly(replicas: int, bounds: Bounds) -> ExplainedCount:
    # The controller's own scaleUpLimitFactor 2 and scaleUpLimitMinimum 4, from before there was a `behavior`.
    ceiling = max(2 * bounds.current, 4)
    highest, reason = (ceiling, _UP_LIMIT) if bounds.maximum > ceiling else (bounds.maximum, _TOO_MANY)
    if replicas < bounds.minimum:
        return ExplainedCount(bounds.minimum, _TOO_FEW)
    if replicas > highest:
        return ExplainedCount(highest, reason)
    return ExplainedCount(replicas, _WITHIN_RANGE)


def _policy_limit(history: HpaHistory, rules: ScalingRules, current: int, now: datetime, *, direction: int) -> int:
    """How far up (direction 1) or down (-1) the policies allow, from where each policy's period began."""
    if rules.select_policy is SelectPolicy.DISABLED or not rules.policies:
        return current
    limits = []
    for policy in rules.policies:
        since = now - policy.period
        began_with = current - _sum_since(history.scale_ups, since) + _sum_since(history.scale_downs, since)
        limits.append(_apply_policy(policy, began_with, direction))
    # `Max` selects the policy with the most change: downwards that is the lowest count.
    most = (rules.select_policy is SelectPolicy.MAX) == (direction > 0)
    return max(limits) if most else min(limits)


def _apply_policy(policy: ScalingPolicy, began_with: int, direction: int) -> int:
    if policy.type is PolicyType.PODS:
        return began_with + direction * policy.value
    if direction > 0:
        return math.ceil(began_with * (1 + policy.value / 100))  # up, so that one pod can become two
    return int(began_with * (1 - policy.value / 100))


def _sum_since(events: Sequence[ScaleEvent], since: datetime) -> int:
    return sum(event.change for event in events if event.at > since)


def _forget_old(events: Sequence[ScaleEvent], rules: ScalingRules, now: datetime) -> tuple[ScaleEvent, ...]:
    longest = max((policy.period for policy in rules.policies), default=timedelta(0))
    return tuple(event for event in events if event.at > now - longest)
