"""A ScalingSchedule for a ScaledObject whose minimum is above what its triggers asked for in regular hours.

The hours come from the replicas that were needed at each moment. The schedule is read as the operator reads it, and
replayed over the same weeks: with it and without it, how long fewer replicas were ready than the triggers asked for.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from keda_py.advice.proposals.advise import Advice
from keda_py.advice.proposals.environment import API_VERSION
from keda_py.advice.proposals.manifest_workloads import Body
from keda_py.advice.proposals.places import Place, PlaceRule, holidays_of
from keda_py.advice.proposals.workload import MinimumSchedule, Shortage, TriggerHistory, WorkloadKey
from keda_py.apis.environments.scaling_schedule import ScalingSchedule
from keda_py.apis.foreign import name_of, namespace_of, texts_at
from keda_py.apis.parsing import parse_object
from keda_py.core.advice.candidates import NoCandidate, candidates, look_at, refuse_history
from keda_py.core.advice.history import History
from keda_py.core.advice.hours import AwakeHours
from keda_py.core.advice.marks import USED, runs_of
from keda_py.core.advice.needs import Tier, choices, levels_below, marks_above, needed_replicas, saved_by
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.scaling.schedules import BoundsSpec, build_schedule, in_force, lay_bounds_over
from keda_py.core.reading import Reading
from keda_py.core.values.quantity import target_milli
from keda_py.core.values.selecting import build_selector
from keda_py.errors import ConfigError
from keda_py.replay.engine.setting import Cluster, Setting
from keda_py.replay.engine.subject import Subject, subject_of
from keda_py.simulation.recording import Figures, Recording
from keda_py.simulation.runs.run import Plan, simulate

_WORTH = 7.0
"""Replica hours a week for which nothing is proposed, as for hours of an Environment."""
_TOGETHER = timedelta(hours=1)
_READY_AFTER = 30.0
"""Seconds until a new pod is Ready, as `keda-py simulate` takes it."""
_EPOCH = "1970-01-01T00:00:00Z"
Found = MinimumSchedule | NoCandidate


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """[start, end) with these bounds; None: those of the manifest."""

    start: datetime
    end: datetime
    bounds: BoundsSpec | None


def minimum_schedule(advice: Advice, written: Sequence[Body], places: PlaceRule, most_waits: float) -> Found | None:
    """Find the schedule that saves most, or say why it is missing. Return None if no trigger was asked.

    At most `most_waits` moments a week may need more than the lowered minimum. Raises ConfigError for a country that
    is unknown.
    """
    triggers, workload = advice.observed.triggers, advice.observed.workload
    if triggers is None or isinstance(triggers, NoCandidate):
        return triggers
    ruling = _ruling(workload, written)
    if ruling:
        return NoCandidate(f"ScalingSchedule {ruling} has its bounds already")
    need = _need(triggers)
    refused = refuse_history(need)
    if refused is not None:
        return refused
    return _best(workload, triggers, need, _Limits(advice.place, places, most_waits))


@dataclass(frozen=True, slots=True)
class _Limits:
    """Where people use it, if that is known, how it is found else, and how many moments a week may need more."""

    place: Place | None
    places: PlaceRule
    most_waits: float


def _ruling(workload: WorkloadKey, written: Sequence[Body]) -> str:
    """Name the ScalingSchedule that takes it: a second one would be a conflict."""
    own = next((each for each in written if WorkloadKey.of(each) == workload), None)
    labels = texts_at(own, "metadata", "labels") if own else {}
    for body in written:
        if body["kind"] == "ScalingSchedule" and namespace_of(body) == workload.namespace:
            with suppress(ConfigError):  # the operator does not apply one that it cannot read either
                spec = parse_object(ScalingSchedule, body).spec
                selector = build_selector(spec.selector, "spec.selector")
                if workload.name in spec.names or (selector and selector.matches({"metadata": {"labels": labels}})):
                    return name_of(body)
    return ""


def _need(triggers: TriggerHistory) -> History:
    subject = triggers.subject
    targets = {metric.trigger_index: target_milli(metric.target) for metric in subject.metrics.external}
    parts = [(history, targets[index]) for index, history in enumerate(triggers.histories)]
    return needed_replicas(parts, subject.spec.max_replicas)


def _best(workload: WorkloadKey, triggers: TriggerHistory, need: History, limits: _Limits) -> Found:
    spec = triggers.subject.spec
    least = 1 if spec.idle_replicas is None else spec.idle_replicas + 1  # a minimum down there would drop idleReplicas
    levels = levels_below(need, spec.min_replicas, max(least, 1))
    if not levels:
        return NoCandidate(f"its triggers asked for {spec.min_replicas} replicas or more at all times")
    middle = marks_above(need, levels[len(levels) // 2])[1]
    place = limits.place or limits.places.find(need, middle.steps)
    tiers, because = _tiers(need, levels, place)
    for chosen in choices(tiers, spec.min_replicas):
        if saved_by(chosen, spec.min_replicas) < _WORTH:
            break
        body = _schedule(workload, spec.min_replicas, place, chosen)
        spans = list(_spans(body, need))
        shortages = tuple(_shortages(need, spans, spec.min_replicas))
        weeks = (need.ends - need.origin) / timedelta(days=7)
        if len(shortages) <= limits.most_waits * weeks:
            found = _prove(triggers, need, body, spans)
            return replace(found, shortages=shortages, place=place)
        because = f"more than a lower minimum was needed {len(shortages) / weeks:.1f} times a week"
    return NoCandidate(because or f"fewer than {_WORTH:.0f} replica hours a week would be saved")


def _tiers(need: History, levels: Sequence[int], place: Place) -> tuple[list[Tier], str]:
    """Every level with its hours, from the shortest ones on; and why there are none."""
    holidays, found, because = holidays_of(place, need), [], ""
    for level in levels:
        use = look_at(need, marks_above(need, level), place.zone, holidays)
        for candidate in candidates(use):
            if isinstance(candidate, NoCandidate):
                because = f"there are no regular hours in which {level} are enough: {candidate.because}"
            else:
                found.append(Tier(level=level, candidate=candidate))
    return found, because


def _schedule(workload: WorkloadKey, minimum: int, place: Place, tiers: Sequence[Tier]) -> dict[str, Any]:
    """The first period that matches rules: the one of the manifest's own minimum, then the lower ones."""
    periods = []
    counts = [*(tier.level for tier in tiers[1:]), minimum]
    for tier, count in reversed(list(zip(tiers, counts, strict=True))):
        if tier.candidate.hours:
            hours = [_hours(each) for each in tier.candidate.hours]
            periods.append({"name": f"at-least-{count}", "hours": hours, "minReplicas": count})
    lowest = {"minReplicas": tiers[0].level}
    if not periods:
        periods = [{"name": "always", "hours": [{"days": "Mon-Sun", "from": "00:00", "to": "24:00"}], **lowest}]
    return {
        "apiVersion": API_VERSION,
        "kind": "ScalingSchedule",
        "metadata": {"name": f"{workload.name}-minimum", "namespace": workload.namespace},
        "spec": {"names": [workload.name], "timeZone": place.zone.key, "periods": periods, "otherwise": lowest},
    }


def _hours(each: AwakeHours) -> dict[str, str]:
    return {"days": each.days_text, "from": each.from_text, "to": each.to_text}


def _spans(body: Mapping[str, Any], need: History) -> Iterator[_Span]:
    """The bounds that the operator would have laid over the ScaledObject in these weeks."""
    stamped = {**body, "metadata": {**body["metadata"], "uid": "advised", "creationTimestamp": _EPOCH}}
    schedule = build_schedule(parse_object(ScalingSchedule, stamped), _no_calendar)
    at = need.origin
    while at < need.ends:
        now = in_force(schedule, at)
        end = min(now.changes_at or need.ends, need.ends)
        yield _Span(start=at, end=end, bounds=now.bounds)
        at = end


def _no_calendar(ref: object) -> Calendar:
    raise ConfigError(f"calendarRef: {ref} is not known here; give hours")


def _shortages(need: History, spans: Sequence[_Span], minimum: int) -> Iterator[Shortage]:
    """Moments that needed more than a lowered minimum; those within an hour are one."""
    steps, kept = bytearray(len(need.values)), [minimum] * len(need.values)
    for span in spans:
        first, last = (int((at - need.origin).total_seconds()) // need.step for at in (span.start, span.end))
        least = span.bounds.min_replicas if span.bounds and span.bounds.min_replicas is not None else minimum
        for at in range(first, min(last, len(steps))):
            kept[at] = least
            steps[at] = USED if least < minimum and need.values[at] > least else 0  # NaN is not above
    together: list[tuple[int, int]] = []
    for start, end in runs_of(steps, USED):
        if together and (start - together[-1][1]) * need.step < _TOGETHER.total_seconds():
            together[-1] = (together[-1][0], end)
        else:
            together.append((start, end))
    for start, end in together:
        used = [at for at in range(start, end) if steps[at] == USED]
        yield Shortage(
            at=need.origin + timedelta(seconds=start * need.step),
            seconds=len(used) * need.step,
            kept=min(kept[at] for at in used),
            needed=int(max(need.values[at] for at in used)),
        )


def _prove(triggers: TriggerHistory, need: History, body: Mapping[str, Any], spans: Sequence[_Span]) -> MinimumSchedule:
    instead = _replay(triggers, [_Span(start=need.origin, end=need.ends, bounds=None)])
    figures = _replay(triggers, spans)
    return MinimumSchedule(
        body=body,
        minimum=triggers.subject.spec.min_replicas,
        begins=need.origin,
        ends=need.ends,
        missing=1 - need.known,
        replica_hours=figures.replica_hours,
        replica_hours_instead=instead.replica_hours,
        seconds_short=figures.seconds_short,
        seconds_short_instead=instead.seconds_short,
    )


def _replay(triggers: TriggerHistory, spans: Sequence[_Span]) -> Figures:
    """The operator's decisions and the HPA's arithmetic over the values that the triggers read."""
    subject, origin = triggers.subject, triggers.histories[0].origin
    bounded: dict[BoundsSpec | None, Subject] = {}
    versions = []
    for span in spans:
        if span.bounds not in bounded:
            spec = lay_bounds_over(subject.spec, span.bounds)
            bounded[span.bounds] = subject_of(spec, subject.metrics, subject.activations)
        versions.append(((span.start - origin).total_seconds(), bounded[span.bounds]))
    sources = {index: _RecordedValues(history) for index, history in enumerate(triggers.histories)}
    replicas = versions[0][1].spec.min_replicas
    cluster = Cluster(ready_after=_READY_AFTER)
    # A recorded value says when the next one comes: 200 000 polls that would find nothing new are left out.
    setting = Setting(sources=sources, origin=origin, replicas=replicas, cluster=cluster, foreseen=True)
    recording, end = Recording(replicas), (spans[-1].end - origin).total_seconds()
    simulate(Plan(versions=versions, setting=setting, end=end), recording)
    return recording.figures(end)


class _RecordedValues:
    """What one trigger read; in a gap the value before it holds, as the HPA then holds its count."""

    def __init__(self, history: History) -> None:
        self._origin, self._times, self._values = history.origin, [0.0], [0.0]
        for number, value in enumerate(history.values):
            if value == value and value != self._values[-1]:
                self._times.append(float(number * history.step))
                self._values.append(value)

    def read(self, at: float) -> Reading:
        """Read the value that holds, and when another one comes."""
        following = bisect_right(self._times, at)
        last = following == len(self._times)
        changes_at = None if last else self._origin + timedelta(seconds=self._times[following])
        self._since = self._times[following - 1]
        return Reading(value=self._values[following - 1], changes_at=changes_at)

    def rose(self, above: float) -> float:
        """Return when the value that was read last began."""
        return self._since
