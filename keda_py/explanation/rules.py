"""Explanations of Overrides and ScalingSchedules: what they rule now, why, and what comes next."""

from collections.abc import Iterator, Sequence
from typing import Any

from keda_py.apis.environments.override import Override
from keda_py.apis.environments.scaling_schedule import Bounds, ScalingSchedule
from keda_py.apis.foreign import Obj, name_of
from keda_py.apis.parsing import parse_object
from keda_py.apis.wire import Condition
from keda_py.core.values.selecting import build_selector
from keda_py.environments.words import override_asked, time_of
from keda_py.explanation.members import MemberExplanation
from keda_py.kube.resources import SCALED_OBJECTS
from keda_py.replay.next_change import next_step
from keda_py.replay.reading.current_state import plan_of
from keda_py.replay.reading.manifests import ManifestSource
from keda_py.replay.timeline import Step
from keda_py.terminal.times import Times

MOST_NAMED = 5
_NOT_LOOKED_AT = "the operator has not looked at it; does one run here, and does it watch this namespace?"


def tell_override(live: Obj, sources: Sequence[ManifestSource], times: Times) -> MemberExplanation:
    """Raises ConfigError for one that cannot be read."""
    override = parse_object(Override, live)
    meta, status = override.metadata, override.status
    phase = status.phase.lower() or "unknown"
    sentences = [f"{meta.namespace}/{meta.name}: {phase}: {override_asked(override, times)}"]
    if status.phase not in ("Active", "Pending"):  # else it is told already, with times that can be read
        sentences.append(f"  {times.localised(status.because)}" if status.because else f"  {_NOT_LOOKED_AT}")
    sentences += _ends(override, sources, times)
    return MemberExplanation(sentences=sentences, body=_body("Override", live))


def _ends(override: Override, sources: Sequence[ManifestSource], times: Times) -> Iterator[str]:
    starts, ends = time_of(override.status.starts), time_of(override.status.ends)
    if starts is not None and starts > times.now:
        yield f"next: begins {times.moment(starts)}, in {times.until(starts)}"
    if ends is None:
        yield "next: it does not end by itself; `keda-py end` ends it"
        return
    if ends <= times.now:
        yield "next: it is over, and is deleted a day after its end"
        return
    step = _step_of_target(override, sources, times)
    yield f"next: ends {times.moment(ends)}, in {times.until(ends)}"
    if step is not None:
        yield f"  what it is about {_count_in_words(step)} {times.moment(step.at)}, {times.localised(step.because)}"


def _step_of_target(override: Override, sources: Sequence[ManifestSource], times: Times) -> Step | None:
    """Find the next step of its target; the members of an Environment are the matter of `keda-py env`."""
    target = override.spec.target
    if target is None or target.kind == "Environment":
        return None
    plan = plan_of(sources, f"{target.kind}/{target.name}", times.now)
    return None if plan is None else next_step(plan, f"{target.kind}/{target.name}", times.now, lambda _: True).step


def _count_in_words(step: Step) -> str:
    return "sleeps" if not step.replicas else "wakes" if not step.before else f"goes to {step.replicas}"


def tell_schedule(live: Obj, sources: Sequence[ManifestSource], times: Times) -> MemberExplanation:
    """Raises ConfigError for one that cannot be read."""
    schedule = parse_object(ScalingSchedule, live)
    meta, status = schedule.metadata, schedule.status
    held = f"period {status.period}: {_bounds(schedule)}" if status.period else "unknown"
    sentences = [f"{meta.namespace}/{meta.name}: {held}"]
    sentences += [f"  wrong: {sentence}" for sentence in _wrong(status.conditions)]
    if status.period:
        sentences.append(f"  it rules {_ruled(schedule, sources)}")
    elif not status.conditions:
        sentences.append(f"  {_NOT_LOOKED_AT}")
    change = status.next_change
    at = time_of(change.at) if change is not None else None
    if change is not None and at is not None:
        sentences.append(f"next: period {change.to} {times.moment(at)}, in {times.until(at)}")
    elif status.period:
        sentences.append("next: no other period is known to come")
    return MemberExplanation(sentences=sentences, body=_body("ScalingSchedule", live))


def _body(kind: str, live: Obj) -> dict[str, Any]:
    meta = live["metadata"]
    return {"kind": kind, "namespace": meta["namespace"], "name": meta["name"], "status": live.get("status") or {}}


def _wrong(conditions: Sequence[Condition]) -> Iterator[str]:
    for one in conditions:
        if (one.type, one.status) in (("Valid", "False"), ("Conflict", "True")):
            yield f"{one.reason}: {one.message}"


def _bounds(schedule: ScalingSchedule) -> str:
    """Describe the bounds of the present period."""
    named = {period.name: period for period in schedule.spec.periods}
    bounds: Bounds | None = named.get(schedule.status.period, schedule.spec.otherwise)
    if bounds is None:
        return "the manifests hold"
    counts = {"replicas": bounds.replicas, "minReplicas": bounds.min_replicas, "maxReplicas": bounds.max_replicas}
    words = [f"{name} {count}" for name, count in counts.items() if count is not None]
    words += ["triggers are not asked"] if bounds.triggers else []
    return ", ".join(words)


def _ruled(schedule: ScalingSchedule, sources: Sequence[ManifestSource]) -> str:
    """Count and name the objects that it rules, unless an older schedule rules one of them."""
    selector, chosen = build_selector(schedule.spec.selector, "spec.selector"), schedule.spec.names
    bodies = [source.body for source in sources if source.body["kind"] == SCALED_OBJECTS.kind]
    names = [name_of(one) for one in bodies if name_of(one) in chosen or (selector and selector.matches(one))]
    count = schedule.status.scaled_objects
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    listed = f": {', '.join(sorted(names)[:MOST_NAMED])}{more}" if names and len(names) == count else ""
    return f"{count} ScaledObject{'' if count == 1 else 's'}{listed}"
