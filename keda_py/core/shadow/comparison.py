"""Both sides of each matter: scaled out or not, active, ready, in fallback, the HPA, and the replicas for its metrics.

Pure. A matter about which one side says nothing is not compared. `value` is a side's action, `why` its reason in its
own words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from keda_py.apis.foreign import list_at, map_at, maps_at, text_at
from keda_py.core.conditions import ConditionValue, read_condition
from keda_py.core.decision import Decision
from keda_py.core.evaluation import Evaluation
from keda_py.core.hpa.external import count_if_all_ready
from keda_py.core.hpa.manifest import differs
from keda_py.core.hpa.metrics import MetricTarget, TargetType, Tolerance
from keda_py.core.jobs.decision import JobDecision
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.quantity import parse_milli
from keda_py.errors import ConfigError

MOST_CHARACTERS = 300


class Matter(StrEnum):
    """The matters on which the two sides may disagree."""

    REPLICAS = "Replicas"
    ACTIVE = "Active"
    READY = "Ready"
    FALLBACK = "Fallback"
    HPA = "HPA"
    METRIC = "Metric"
    JOBS = "Jobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The action of one side, and its reason if it gives one."""

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
class OwnSide:
    """Our decision. `replicas` is the count that would result, `why` the reason and each trigger's reading.

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
class OtherSide:
    """The other side as the API server shows it: the count, the ScaledObject's status, the HPA."""

    replicas: int | None
    status: Mapping[str, Any]
    hpa: Mapping[str, Any] | None


def at_work(spec: ScalingSpec, replicas: int) -> bool:
    """Whether the HPA rules a count: it is above idleReplicaCount, or above 0."""
    return replicas > (spec.idle_replicas or 0)


def own_replicas(spec: ScalingSpec, own: int | None, theirs: int | None) -> int | None:
    """Return the count that we would find: ours if only one side has scaled between zero (or idle) and more, else the
    real one.

    While both sides are scaled out, the HPA's count is as good as ours would be.
    """
    if theirs is None or own is None or at_work(spec, own) == at_work(spec, theirs):
        return theirs
    return own


def compare(ours: OwnSide, theirs: OtherSide) -> tuple[Claim, ...]:
    """Compare every matter about which both sides say something."""
    return (*_replicas(ours, theirs), *_conditions(ours, theirs), *_hpa(ours, theirs), *_metrics(ours, theirs))


def compare_broken(why: str, theirs: OtherSide) -> tuple[Claim, ...]:
    """Return the single claim about an object that we would not scale at all."""
    ready = read_condition(theirs.status.get("conditions") or (), "Ready")
    ours = Side(value="not ready", why=why[:MOST_CHARACTERS])
    return (claim_of(Matter.READY, ours, _ready_side(ready)),)


def claim_of(matter: Matter, ours: Side, theirs: Side) -> Claim:
    """Build a claim; the sides agree if their values are equal."""
    return Claim(matter=matter, ours=ours, theirs=theirs, agree=ours.value == theirs.value)


def _replicas(ours: OwnSide, theirs: OtherSide) -> Iterator[Claim]:
    if ours.replicas is None or theirs.replicas is None:
        return
    active = read_condition(theirs.status.get("conditions") or (), "Active")
    agree = at_work(ours.spec, ours.replicas) == at_work(ours.spec, theirs.replicas)
    own, other = (Side(value=f"{count} replicas", why=why) for count, why in (
        (ours.replicas, ours.why), (theirs.replicas, words_of(active))
    ))  # fmt: skip
    yield Claim(matter=Matter.REPLICAS, ours=own, theirs=other, agree=agree)


def _conditions(ours: OwnSide, theirs: OtherSide) -> Iterator[Claim]:
    listed = theirs.status.get("conditions") or ()
    active, ready, fallback = (read_condition(listed, kind) for kind in ("Active", "Ready", "Fallback"))
    decided = ours.decision
    if decided.active is not None and active.status in ("True", "False"):
        own = Side(value=yes(decided.active.status, "active"), why=ours.why)
        yield claim_of(Matter.ACTIVE, own, Side(value=yes(active.status, "active"), why=words_of(active)))
    if ready.status in ("True", "False"):
        failures = "; ".join(str(error) for _, error in ours.evaluation.errors)
        why = ": ".join(filter(None, (decided.ready.message, failures)))[:MOST_CHARACTERS]
        yield claim_of(Matter.READY, Side(value=yes(decided.ready.status, "ready"), why=why), _ready_side(ready))
    standing_in = yes("True" if ours.in_fallback else "False", "in fallback")
    other = Side(value=yes(fallback.status, "in fallback"), why=fallback.message[:MOST_CHARACTERS])
    yield claim_of(Matter.FALLBACK, Side(value=standing_in, why=ours.why), other)


def _ready_side(ready: ConditionValue) -> Side:
    return Side(value=yes(ready.status, "ready"), why=words_of(ready))


def yes(status: str, word: str) -> str:
    """Word a condition's status: the word itself for True, else with a "not" before it."""
    return word if status == "True" else f"not {word}"


def words_of(condition: ConditionValue) -> str:
    """The message or reason of a condition of the other side, in its own words."""
    text = ": ".join(filter(None, (condition.reason, condition.message)))
    return text[:MOST_CHARACTERS] or "its status does not say"


def _hpa(ours: OwnSide, theirs: OtherSide) -> Iterator[Claim]:
    own = Side(value=_summary(ours.hpa), why="what the ScaledObject asks for")
    if theirs.hpa is None:
        yield Claim(matter=Matter.HPA, ours=own, theirs=Side(value="no HPA"), agree=False)
        return
    there = Side(value=_summary(theirs.hpa), why=f"HPA {text_at(theirs.hpa, 'metadata', 'name')} as it is")
    yield Claim(matter=Matter.HPA, ours=own, theirs=there, agree=_hpa_matches(ours.hpa, theirs.hpa))


def _hpa_matches(desired: Mapping[str, Any], live: Mapping[str, Any]) -> bool:
    """Compare only what an HPA does; owners and labels differ by nature."""
    metadata = {"labels": {}, "annotations": {}, "ownerReferences": [{"uid": ""}]}
    return not differs({**desired, "metadata": metadata}, {**live, "metadata": metadata})


def _summary(hpa: Mapping[str, Any]) -> str:
    spec = map_at(hpa, "spec")
    metrics = [_metric_words(metric) for metric in maps_at(spec, "metrics")]
    behavior = ", behavior" if spec.get("behavior") else ""
    text = f"{spec.get('minReplicas', 1)} to {spec.get('maxReplicas')} replicas on {', '.join(metrics)}{behavior}"
    return text[:MOST_CHARACTERS]


def _metric_words(metric: Mapping[str, Any]) -> str:
    for kind in ("external", "resource", "containerResource"):
        if body := map_at(metric, kind):
            name = text_at(body, "metric", "name") or text_at(body, "name")
            target = map_at(body, "target")
            amounts = (target.get(field) for field in ("value", "averageValue", "averageUtilization"))
            return f"{name} {target.get('type')} {next((amount for amount in amounts if amount is not None), '?')}"
    return text_at(metric, "type")


def _metrics(ours: OwnSide, theirs: OtherSide) -> Iterator[Claim]:
    """Compare the replicas for each external metric, with the HPA's own arithmetic, but without its history."""
    status = map_at(theirs.hpa, "status")
    pods = status.get("currentReplicas")
    if not isinstance(pods, int) or not theirs.replicas or not at_work(ours.spec, theirs.replicas):
        return
    values = {value.name: value.milli for value in ours.evaluation.values}
    for metric in maps_at(ours.hpa, "spec", "metrics"):
        name, target = text_at(metric, "external", "metric", "name"), _target(metric)
        if not name or target is None or name not in values:
            continue
        possible = _value_of(list_at(status, "currentMetrics"), name, pods)
        if possible is not None:
            lowest, highest = possible
            seen = min(max(values[name], lowest), highest)
            own, other = (_replicas_for(ours.spec, target, milli, pods) for milli in (values[name], seen))
            their_side = Side(value=_replicas_in_words(seen, other), why="the HPA's status")
            yield Claim(
                matter=Matter.METRIC,
                subject=name,
                ours=Side(value=_replicas_in_words(values[name], own), why=ours.why),
                theirs=their_side,
                agree=own == other,
            )


def _target(metric: Mapping[str, Any]) -> MetricTarget | None:
    for field, kind in (("averageValue", TargetType.AVERAGE_VALUE), ("value", TargetType.VALUE)):
        if amount := text_at(metric, "external", "target", field):
            return MetricTarget(type=kind, amount=parse_milli(amount))
    return None


def _value_of(current: Sequence[Any], name: str, pods: int) -> tuple[int, int] | None:
    """Return the lowest and the highest whole metric, in milli, that the HPA can have seen; None if it shows none.

    The HPA rounds an average up to thousandths: 3 over 7 replicas is shown as 429m each, which is 3.003 in all.
    """
    for one in current:
        if text_at(one, "external", "metric", "name") == name:
            each, whole = (text_at(one, "external", "current", field) for field in ("averageValue", "value"))
            try:
                seen = parse_milli(whole) if whole else parse_milli(each) * max(pods, 1)
                return (seen, seen) if whole else (max(seen - max(pods, 1) + 1, 0), seen)
            except ConfigError:
                return None
    return None


def _replicas_for(spec: ScalingSpec, target: MetricTarget, milli: int, pods: int) -> int:
    """Compute the replicas. A Value is multiplied by the ready pods, not known here: all of them, for both sides."""
    replicas = count_if_all_ready(milli, target, pods, Tolerance())
    return min(max(replicas, spec.min_replicas, 1), spec.max_replicas)


def _replicas_in_words(milli: int, replicas: int) -> str:
    return f"{milli / 1000:g} asks for {replicas} replicas"


# ScaledJobs of both sides: the Jobs that we would create, and those that the other side has created since.
#
# Work arrives all the time, so at any look some Jobs may be missing that the other side creates at its own next poll.
# The sides disagree if Jobs were missing at one look, none was created until the next, and some are still missing. An
# other side that creates more than we would cannot be detected: running Jobs do not show when they were wanted. Pure.


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingJobs:
    """The Jobs that we would have created at a look, and the uids of those that existed."""

    wanted: int
    there: frozenset[str]


def compare_jobs(
    decision: JobDecision, why: str, before: MissingJobs | None, there: frozenset[str], status: Mapping[str, Any]
) -> Iterator[Claim]:
    """Compare every matter about which both sides say something; `before` is the previous look's, None at the first."""
    came = len(there - before.there) if before is not None else 0
    short = decision.create > 0 and before is not None and before.wanted > 0 and not came
    ours = Side(value=f"{decision.create} more Jobs", why=why[:MOST_CHARACTERS])
    listed = status.get("conditions") or ()
    active, ready = read_condition(listed, "Active"), read_condition(listed, "Ready")
    theirs = Side(value=f"none; {len(there)} there are", why=words_of(active))
    yield Claim(matter=Matter.JOBS, ours=ours, theirs=theirs, agree=not short)
    for matter, own, other, word in (
        (Matter.ACTIVE, decision.active, active, "active"),
        (Matter.READY, decision.ready, ready, "ready"),
    ):
        if other.status in ("True", "False") and own.status in ("True", "False"):
            side = Side(value=yes(own.status, word), why=own.message[:MOST_CHARACTERS] or why[:MOST_CHARACTERS])
            yield claim_of(matter, side, Side(value=yes(other.status, word), why=words_of(other)))
