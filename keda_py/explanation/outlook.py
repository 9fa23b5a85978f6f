"""What comes next, with its direction and its result: "sleeps at 19:35 KST (11:35 CET), in 5 h". Pure.

The replay of `keda-py preview` tells when; here it is put into words, with what may come before. What only a source
knows, and what a formula decides, is not foretold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from keda_py.core.cron.windows import CronWindow, is_open, next_change, parse_window
from keda_py.core.cron.words import window_in_words
from keda_py.core.decision import Reason
from keda_py.core.environment.overrides import Overrides, TargetKey
from keda_py.core.environment.scaling.overlays import paused_by_owner
from keda_py.core.meaning.causes import type_of
from keda_py.core.meaning.wake_services import describe_requests
from keda_py.core.metric_specs import CRON
from keda_py.core.spec import FORCE_ACTIVATION, RESOURCE_TRIGGERS, ScalingSpec
from keda_py.errors import ConfigError
from keda_py.replay.next_change import AHEAD, Search, kept_active, next_step
from keda_py.replay.plan import CurrentState, NamespacePlan
from keda_py.replay.reading.current_state import plan_of
from keda_py.replay.reading.manifests import ManifestSource
from keda_py.replay.timeline import Step
from keda_py.sdk.registry import wake_spec_of
from keda_py.terminal.times import Times, spoken_duration

Fields = Mapping[str, Any]
STEPS = 60
"""Bound on the boundaries of one window that are searched for its opening."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Knowledge about a ScaledObject: the plan of its namespace, and what the last look saw.

    `is_ruled`: something lies over its manifest; `is_stopped`: its triggers are not read.
    """

    plan: NamespacePlan
    spec: ScalingSpec
    last: Fields
    times: Times
    is_ruled: bool = False
    is_stopped: bool = False

    @property
    def now(self) -> datetime:
        return self.times.now

    @property
    def key(self) -> str:
        return f"ScaledObject/{self.spec.name}"

    @property
    def count(self) -> int | None:
        known = (self.plan.now or {}).get(self.key)
        return known.replicas if known is not None else None

    @property
    def lowest(self) -> int:
        """Replicas without work."""
        idle = self.spec.idle_replicas
        return self.spec.min_replicas if idle is None else idle

    @property
    def polled(self) -> list[Fields]:
        """Readings of sources, without schedules."""
        return [one for one in self.last.get("triggers", ()) if type_of(one["metric"], self.spec) != CRON]

    @property
    def wakers(self) -> list[str]:
        """Names of the triggers whose sources may wake it, also while they are not read."""
        kinds = [one for one in self.spec.triggers if one.type not in (CRON, *RESOURCE_TRIGGERS)]
        return [_name(one) for one in self.polled] or [one.name or f"its trigger {one.type}" for one in kinds]

    @property
    def resources(self) -> list[str]:
        """Resource triggers, `cpu` and `memory`, that it has."""
        return sorted({one.type for one in self.spec.triggers if one.type in RESOURCE_TRIGGERS})

    @property
    def windows(self) -> list[CronWindow]:
        """Cron windows that its triggers open."""
        found = []
        for trigger in self.spec.triggers:
            if trigger.type == CRON:
                data = trigger.metadata
                try:
                    found.append(parse_window(data.get("start", ""), data.get("end", ""), data.get("timezone", "")))
                except ConfigError:
                    continue
        return found

    def find(self, plan: NamespacePlan, *, above: int | None = None, below: int | None = None) -> Search:
        """Find the first step to more than `above`, or to less than `below`."""

        def is_wanted(step: Step) -> bool:
            return step.replicas > above if above is not None else below is not None and step.replicas < below

        return next_step(plan, self.key, self.now, is_wanted)


def scene_of(insight: Fields, sources: Sequence[ManifestSource], times: Times) -> Scene | None:
    """Build the scene; None without a forecast: no look yet, a ScaledJob, an invalid or unreadable manifest."""
    last, is_ruled = insight.get("last") or {}, bool(insight.get("ruledBy"))
    is_stopped = "nextPoll" not in insight["now"]
    if insight.get("kind") == "ScaledJobInsight" or (is_stopped and not is_ruled) or not (last or is_ruled):
        return None
    key = f"ScaledObject/{map_of(insight, 'metadata').get('name', '')}"
    plan = plan_of(sources, key, times.now)
    spec = next((one.spec for one in plan.objects if f"ScaledObject/{one.spec.name}" == key), None) if plan else None
    if plan is None or spec is None or paused_by_owner(spec):
        return None
    known, sentence = (plan.now or {}).get(key), map_of(last, "replicas").get("after")
    count = known.replicas if known is not None else sentence
    if count is not None:
        seen = CurrentState(replicas=count, last_active=_last_active(last, spec, times.now))
        plan = replace(plan, now={**(plan.now or {}), key: seen})
    return Scene(plan=plan, spec=spec, last=last, times=times, is_ruled=is_ruled, is_stopped=is_stopped)


def map_of(fields: Fields, name: str) -> Fields:
    """Return a part that is an object; {} if it is another value."""
    found = fields.get(name)
    return found if isinstance(found, Mapping) else {}


def _last_active(last: Fields, spec: ScalingSpec, now: datetime) -> datetime | None:
    """Return the start of the cooldown; this moment if a trigger is active."""
    if last.get("reason") == Reason.COOLING_DOWN and "cooldownLeftSeconds" in last:
        looked = datetime.fromisoformat(last["time"])
        return looked + timedelta(seconds=last["cooldownLeftSeconds"]) - spec.cooldown
    active = any(one.get("active") or one.get("fallback") for one in last.get("triggers", ()))
    return now if active else None


def foretell(scene: Scene) -> Iterator[str]:
    """Yield sentences: when it sleeps or wakes, what may prevent that, and each window."""
    count = scene.count
    if count is not None:
        is_up = count > 0 if scene.spec.idle_replicas is None else count > scene.spec.idle_replicas
        yield from _going_down(scene, count) if is_up else _coming_up(scene, count)
    for window in scene.windows:
        yield f"window {window_words(window)}: {_window_in_words(scene, window)}"


def window_words(window: CronWindow) -> str:
    """ "Mon-Fri 08:30-19:30 Asia/Seoul, 55 h a week"; as it is written where that is too much to be told."""
    return window_in_words(window) or f"from {window.start} to {window.end} {window.timezone}"


@dataclass(frozen=True, slots=True)
class _OwnForecast:
    """Forecast by its own spec and triggers, in words; `at` is the time if that is known."""

    sentence: str
    at: datetime | None = None
    depends: bool = False
    """When it sleeps depends on its sources, so that this may come before the sleep that a rule brings."""


def _going_down(scene: Scene, count: int) -> Iterator[str]:
    ruled = _ruled_sleep(scene, count)
    own = _ruled_own_sleep(scene) if scene.is_ruled else _own_sleep(scene)
    if own.sentence and (ruled is None or own.depends or (own.at is not None and own.at < ruled.at)):
        yield own.sentence
        if ruled is not None:
            yield f"{_count_in_words(ruled.replicas)} at the latest {_at(scene, ruled)}"
    elif ruled is not None:
        yield f"{_count_in_words(ruled.replicas)} {_at(scene, ruled)}"
    if scene.resources and (own.at or own.depends):
        names = _listed(scene.resources)
        scale, do = ("scales", "does") if len(scene.resources) == 1 else ("scale", "do")
        yield f"{names} {scale} it while it is awake, and {do} not keep it awake"


def _ruled_sleep(scene: Scene, count: int) -> Step | None:
    """Find the sleep by an Environment, an Override or a ScalingSchedule, whatever its triggers say."""
    if not scene.plan.is_ruled:
        return None
    step = scene.find(kept_active(scene.plan), below=min(count, max(scene.spec.min_replicas, 1))).step
    return step if step is not None and step.ruled else None


def _ruled_own_sleep(scene: Scene) -> _OwnForecast:
    """Forecast under other bounds than the manifest's, or held: what the replay finds, unless that is a rule's step."""
    step = scene.find(scene.plan, below=1).step
    if step is None or step.ruled:
        return _OwnForecast("")
    return _OwnForecast(f"sleeps {_at(scene, step)}{_unless(scene)}", at=step.at)


def _own_sleep(scene: Scene) -> _OwnForecast:
    spec = scene.spec
    if spec.modifiers is not None and spec.modifiers.formula:
        return _OwnForecast("whether it sleeps is decided by its formula at each poll", depends=True)
    if spec.force_activation:
        return _OwnForecast(f"stays awake while annotation {FORCE_ACTIVATION} is there")
    if spec.resource_only:
        return _OwnForecast(f"does not sleep: {_listed(scene.resources)} alone cannot wake it again")
    if spec.idle_replicas is None and scene.lowest > 0:
        return _OwnForecast(f"does not sleep: minReplicaCount is {scene.lowest}")
    if spec.pause.scale_in:
        return _OwnForecast("does not sleep: scaling in is paused by annotation")
    failing = [_name(one) for one in scene.polled if "error" in one and "fallback" not in one]
    if failing and spec.fallback is None:
        return _OwnForecast(f"does not sleep while {_listed(failing)} cannot be read")
    return _timed_sleep(scene)


def _timed_sleep(scene: Scene) -> _OwnForecast:
    reason, goes = scene.last.get("reason"), _count_in_words(scene.lowest)
    # What a source says decides about all triggers together, also while a window is open.
    is_unknown = scene.spec.needs_all and bool(scene.wakers)
    if reason == Reason.SCALING_IN:
        left, floor = spoken_duration(scene.spec.cooldown), max(scene.spec.min_replicas, 1)
        return _OwnForecast(f"{goes} {left} after its HPA has scaled it in to {floor}", depends=True)
    if reason != Reason.COOLING_DOWN and (is_unknown or not any(is_open(one, scene.now) for one in scene.windows)):
        return _OwnForecast(f"{goes} once {_idle(scene)} for {spoken_duration(scene.spec.cooldown)}", depends=True)
    found = scene.find(scene.plan, below=scene.lowest + 1)
    if found.step is None:
        return _OwnForecast("does not sleep: a window is always open" if found.is_known else "")
    if found.step.ruled:
        return _OwnForecast("")
    return _OwnForecast(f"{goes} {_at(scene, found.step)}{_unless(scene)}", at=found.step.at)


def _idle(scene: Scene) -> str:
    """Describe what has to last for the cooldown before it sleeps."""
    busy = [_name(one) for one in scene.polled if one.get("active") or one.get("fallback")]
    if scene.spec.needs_all:
        what = "one of its triggers has not been active"
    else:
        what = f"{_listed(busy)} {_has(busy)} nothing to do" if busy else "there is nothing to do"
    return f"{what}, and its HPA has scaled it in," if scene.spec.after_scale_in else what


def _count_in_words(count: int) -> str:
    return "sleeps" if count == 0 else f"goes down to {count}"


def _at(scene: Scene, step: Step) -> str:
    """Write the time of a step and the rule behind it."""
    by = f", {scene.times.localised(step.because)}" if step.ruled and step.because else ""
    return f"{scene.times.moment(step.at)}, in {scene.times.until(step.at)}{by}"


def _unless(scene: Scene) -> str:
    """Name the triggers that may keep it awake longer."""
    names = [_name(one) for one in scene.polled]
    return f", unless {_listed(names, 'or')} is active" if names else ""


def _coming_up(scene: Scene, count: int) -> Iterator[str]:
    soon = f"as soon as {_listed(scene.wakers, 'or')} is active" if scene.wakers else ""
    if scene.wakers and scene.spec.needs_all:
        soon = "as soon as all of its triggers are active"
    if scene.spec.pause.scale_out:
        yield "does not wake: scaling out is paused by annotation"
        return
    by_formula = scene.spec.modifiers is not None and bool(scene.spec.modifiers.formula)
    if by_formula and not scene.is_stopped:
        yield "whether it wakes is decided by its formula at each poll"
        return
    if scene.is_ruled:
        yield from _requests(scene)
    found = scene.find(scene.plan, above=count)
    if found.step is not None and (found.step.ruled or not by_formula):
        also = f", or {soon}" if soon and not scene.is_stopped else ""
        yield f"wakes {_at(scene, found.step)}{also}"
    elif scene.is_stopped:
        yield from _rule_ends(scene)
    elif soon:
        yield f"wakes {soon}"
    elif found.is_known:
        yield f"does not wake: no window opens within {AHEAD.days} days"
    if not scene.is_stopped and not scene.spec.needs_all and not by_formula:
        yield from _own_requests(scene)


def _own_requests(scene: Scene) -> Iterator[str]:
    """Say which requests wake it by a trigger of its own."""
    if (wake := wake_spec_of(scene.spec.triggers)) is not None:
        yield describe_requests(wake, whose="its pods")


def _requests(scene: Scene) -> Iterator[str]:
    """Say which requests wake its Environment, and itself unless an Override of its own keeps it at 0."""
    woken = [one for one in scene.plan.environments if one.spec.wake is not None]
    target = scene.spec.target
    names = (TargetKey("ScaledObject", scene.spec.name), TargetKey(target.kind, target.name))
    rules = Overrides(scene.plan.overrides).verdict(names, scene.now).rules
    if rules is not None and rules.keeps_down(0):
        if woken or wake_spec_of(scene.spec.triggers) is not None:
            why = f"requests end no Override of a workload, so delete Override {rules.name} first"
            yield f"no request wakes it: {why}"
        return
    for environment in woken:
        if environment.spec.wake is not None:
            yield describe_requests(environment.spec.wake, what=f"environment {environment.spec.name}")


def _rule_ends(scene: Scene) -> Iterator[str]:
    """Say when its Environment gives it back, so that its triggers decide again."""
    for environment in scene.plan.environments:
        key = f"Environment/{environment.spec.name}"
        step = next_step(scene.plan, key, scene.now, lambda step: step.replicas > 0).step
        if step is not None:
            by = f"with environment {environment.spec.name}"
            wakes = f"it wakes as soon as {_listed(scene.wakers, 'or')} is active" if scene.wakers else "it may wake"
            yield f"{wakes} from {scene.times.spoken(step.at)} on, in {scene.times.until(step.at)}, {by}"


def _window_in_words(scene: Scene, window: CronWindow) -> str:
    if is_open(window, scene.now):
        end = next_change(window, scene.now)
        return "open" if end is None else f"open until {scene.times.spoken(end)}"
    opening = _opening_of(window, scene.now)
    return "closed" if opening is None else f"closed until {scene.times.spoken(opening)}"


def _opening_of(window: CronWindow, after: datetime) -> datetime | None:
    at = next_change(window, after)
    for _ in range(STEPS):
        if at is None or is_open(window, at):
            return at
        at = next_change(window, at)
    return None


def _name(trigger: Fields) -> str:
    return str(trigger.get("name") or trigger["metric"])


def _has(names: Sequence[str]) -> str:
    return "has had" if len(names) == 1 else "have had"


def _listed(names: Sequence[str], word: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
