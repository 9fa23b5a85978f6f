"""Both sides of each matter: at work or at rest, active, ready, in fallback, the HPA, and what its metrics ask for.

Pure. A side that says nothing about a matter is not compared. The value says what it does, `why` gives its reason in
its own words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from keda_py.apis.foreign import list_at, map_at, maps_at, text_at
from keda_py.core.conditions import ConditionValue, read_condition
from keda_py.core.decision import Decision
from keda_py.core.evaluation import Evaluation
from keda_py.core.hpa.external import ExternalSample, propose_external
from keda_py.core.hpa.manifest import differs
from keda_py.core.hpa.metrics import MetricFailure, MetricTarget, TargetType, Tolerance
from keda_py.core.hpa.pods import ScaleTarget
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.quantity import parse_milli
from keda_py.errors import ConfigError

MOST_CHARACTERS = 300


class Matter(StrEnum):
    """What the two sides may disagree about."""

    REPLICAS = "Replicas"
    ACTIVE = "Active"
    READY = "Ready"
    FALLBACK = "Fallback"
    HPA = "HPA"
    METRIC = "Metric"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one side does, and why as far as it says."""

    value: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Both sides of one matter; `subject` is the metric's name, "" for the others."""

    matter: Matter
    subject: str = ""
    ours: Side
    theirs: Side
    agree: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """What we would do. `replicas` is the count that there would be, `why` the reason and what each trigger said.

    `hpa` is the manifest that we would write.
    """

    spec: ScalingSpec
    replicas: int | None
    decision: Decision
    evaluation: Evaluation
    in_fallback: bool
    hpa: Mapping[str, Any]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Theirs:
    """What the other side did, as the API server shows it: the count, the ScaledObject's status, the HPA."""

    replicas: int | None
    status: Mapping[str, Any]
    hpa: Mapping[str, Any] | None


def at_work(spec: ScalingSpec, replicas: int) -> bool:
    """Whether a count is in the HPA's hands: above idleReplicaCount, or above 0."""
    return replicas > (spec.idle_replicas or 0)


def own_replicas(spec: ScalingSpec, own: int | None, theirs: int | None) -> int | None:
    """The count that we would find: ours where only we would have gone to work or to rest, else what is there.

    While both are at work the HPA's count is as good as ours would be.
    """
    if theirs is None or own is None or at_work(spec, own) == at_work(spec, theirs):
        return theirs
    return own


def compare(ours: Ours, theirs: Theirs) -> tuple[Claim, ...]:
    """Every matter that both sides say something about."""
    return (*_replicas(ours, theirs), *_conditions(ours, theirs), *_hpa(ours, theirs), *_metrics(ours, theirs))


def compare_broken(why: str, theirs: Theirs) -> tuple[Claim, ...]:
    """The one matter of an object that we would not scale at all."""
    ready = read_condition(theirs.status.get("conditions") or (), "Ready")
    ours = Side(value="not ready", why=why[:MOST_CHARACTERS])
    return (_claim(Matter.READY, ours, _ready_side(ready)),)


def _claim(matter: Matter, ours: Side, theirs: Side) -> Claim:
    return Claim(matter=matter, ours=ours, theirs=theirs, agree=ours.value == theirs.value)


def _replicas(ours: Ours, theirs: Theirs) -> Iterator[Claim]:
    if ours.replicas is None or theirs.replicas is None:
        return
    active = read_condition(theirs.status.get("conditions") or (), "Active")
    agree = at_work(ours.spec, ours.replicas) == at_work(ours.spec, theirs.replicas)
    own, other = (Side(value=f"{count} replicas", why=why) for count, why in (
        (ours.replicas, ours.why), (theirs.replicas, _words(active))
    ))  # fmt: skip
    yield Claim(matter=Matter.REPLICAS, ours=own, theirs=other, agree=agree)


def _conditions(ours: Ours, theirs: Theirs) -> Iterator[Claim]:
    listed = theirs.status.get("conditions") or ()
    active, ready, fallback = (read_condition(listed, kind) for kind in ("Active", "Ready", "Fallback"))
    decided = ours.decision
    if decided.active is not None and active.status in ("True", "False"):
        own = Side(value=_yes(decided.active.status, "active"), why=ours.why)
        yield _claim(Matter.ACTIVE, own, Side(value=_yes(active.status, "active"), why=_words(active)))
    if ready.status in ("True", "False"):
        failures = "; ".join(str(error) for _, error in ours.evaluation.errors)
        why = ": ".join(filter(None, (decided.ready.message, failures)))[:MOST_CHARACTERS]
        yield _claim(Matter.READY, Side(value=_yes(decided.ready.status, "ready"), why=why), _ready_side(ready))
    standing_in = _yes("True" if ours.in_fallback else "False", "in fallback")
    told = Side(value=_yes(fallback.status, "in fallback"), why=fallback.message[:MOST_CHARACTERS])
    yield _claim(Matter.FALLBACK, Side(value=standing_in, why=ours.why), told)


def _ready_side(ready: ConditionValue) -> Side:
    return Side(value=_yes(ready.status, "ready"), why=_words(ready))


def _yes(status: str, word: str) -> str:
    return word if status == "True" else f"not {word}"


def _words(condition: ConditionValue) -> str:
    """A condition of the other side in its own words."""
    said = ": ".join(filter(None, (condition.reason, condition.message)))
    return said[:MOST_CHARACTERS] or "its status does not say"


def _hpa(ours: Ours, theirs: Theirs) -> Iterator[Claim]:
    own = Side(value=_summary(ours.hpa), why="what the ScaledObject asks for")
    if theirs.hpa is None:
        yield Claim(matter=Matter.HPA, ours=own, theirs=Side(value="no HPA"), agree=False)
        return
    there = Side(value=_summary(theirs.hpa), why=f"HPA {text_at(theirs.hpa, 'metadata', 'name')} as it is")
    yield Claim(matter=Matter.HPA, ours=own, theirs=there, agree=_same(ours.hpa, theirs.hpa))


def _same(desired: Mapping[str, Any], live: Mapping[str, Any]) -> bool:
    """Who owns it and how it is labelled differs by nature; only what it does is compared."""
    metadata = {"labels": {}, "annotations": {}, "ownerReferences": [{"uid": ""}]}
    return not differs({**desired, "metadata": metadata}, {**live, "metadata": metadata})


def _summary(hpa: Mapping[str, Any]) -> str:
    spec = map_at(hpa, "spec")
    metrics = [_metric_words(one) for one in maps_at(spec, "metrics")]
    behavior = ", behavior" if spec.get("behavior") else ""
    text = f"{spec.get('minReplicas', 1)} to {spec.get('maxReplicas')} replicas on {', '.join(metrics)}{behavior}"
    return text[:MOST_CHARACTERS]


def _metric_words(metric: Mapping[str, Any]) -> str:
    for kind in ("external", "resource", "containerResource"):
        if body := map_at(metric, kind):
            name = text_at(body, "metric", "name") or text_at(body, "name")
            target = map_at(body, "target")
            amounts = (target.get(field) for field in ("value", "averageValue", "averageUtilization"))
            return f"{name} {target.get('type')} {next((one for one in amounts if one is not None), '?')}"
    return text_at(metric, "type")


def _metrics(ours: Ours, theirs: Theirs) -> Iterator[Claim]:
    """What each external metric asks for, by our value and by theirs: the HPA's own arithmetic, without its history."""
    status = map_at(theirs.hpa, "status")
    pods = status.get("currentReplicas")
    if not isinstance(pods, int) or not theirs.replicas or not at_work(ours.spec, theirs.replicas):
        return
    values = {one.name: one.milli for one in ours.evaluation.values}
    for metric in maps_at(ours.hpa, "spec", "metrics"):
        name, target = text_at(metric, "external", "metric", "name"), _target(metric)
        if not name or target is None or name not in values:
            continue
        seen = _value_of(list_at(status, "currentMetrics"), name, pods)
        if seen is not None:
            scale = ScaleTarget(namespace=ours.spec.namespace, replicas=pods, status_replicas=pods)
            own, other = (_asked(ours.spec, name, target, milli, scale) for milli in (values[name], seen))
            told = Side(value=_asks(seen, other), why="the HPA's status")
            yield Claim(
                matter=Matter.METRIC,
                subject=name,
                ours=Side(value=_asks(values[name], own), why=ours.why),
                theirs=told,
                agree=own == other,
            )


def _target(metric: Mapping[str, Any]) -> MetricTarget | None:
    """AverageValue alone: a Value is multiplied with the ready pods, which only the HPA controller knows."""
    amount = text_at(metric, "external", "target", "averageValue")
    return MetricTarget(type=TargetType.AVERAGE_VALUE, amount=parse_milli(amount)) if amount else None


def _value_of(current: Sequence[Any], name: str, pods: int) -> int | None:
    """The whole metric in milli, as the HPA saw it; None where it has none."""
    for one in current:
        if text_at(one, "external", "metric", "name") == name:
            try:
                return parse_milli(text_at(one, "external", "current", "averageValue")) * max(pods, 1)
            except ConfigError:
                return None
    return None


def _asked(spec: ScalingSpec, name: str, target: MetricTarget, milli: int, scale: ScaleTarget) -> int | None:
    sample = ExternalSample(name=name, target=target, values=(milli,))
    proposed = propose_external(sample, scale, Tolerance())
    if isinstance(proposed, MetricFailure):
        return None
    return min(max(proposed.replicas, spec.min_replicas, 1), spec.max_replicas)


def _asks(milli: int, replicas: int | None) -> str:
    return f"{milli / 1000:g} asks for {replicas} replicas"
