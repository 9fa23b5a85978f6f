"""What comes next, with its direction and its result: "sleeps at 19:35 KST (10:35 UTC), in 5 h". Pure.

It follows `core/decision.py`: windows and polled triggers keep a workload awake, cpu and memory scale it while it is
awake and do neither wake it nor keep it so. What a formula decides is not foretold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from keda_py.core.cron.windows import CronWindow, is_open, next_change, parse_window
from keda_py.core.cron.words import window_in_words
from keda_py.core.decision import Reason
from keda_py.core.spec import AS_WRITTEN, FORCE_ACTIVATION, RESOURCE_TRIGGERS, ScalingSpec
from keda_py.errors import ConfigError
from keda_py.explanation.zones import CRON
from keda_py.terminal.times import Times, spoken_duration

Fields = Mapping[str, Any]
STEPS = 60
"""Boundaries of windows looked at; a schedule of every minute is not followed further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is known of a ScaledObject: its spec, its windows, and what the last look saw."""

    spec: ScalingSpec
    windows: Sequence[CronWindow]
    last: Fields
    times: Times

    @property
    def now(self) -> datetime:
        return self.times.now

    @property
    def lowest(self) -> int:
        """Replicas where nothing is to be done."""
        idle = self.spec.idle_replicas
        return self.spec.min_replicas if idle is None else idle

    @property
    def polled(self) -> list[Fields]:
        """What was read of a source, schedules aside."""
        return [one for one in self.last["triggers"] if not self._is_window(one["metric"])]

    @property
    def resources(self) -> list[str]:
        """`cpu`, `memory`."""
        return sorted({one.type for one in self.spec.triggers if one.type in RESOURCE_TRIGGERS})

    def _is_window(self, metric: str) -> bool:
        digits = metric.partition("-")[0].removeprefix("s")
        index = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 6 else len(self.spec.triggers)
        return index < len(self.spec.triggers) and self.spec.triggers[index].type == CRON


def scene_of(insight: Fields, manifest: Fields | None, times: Times) -> Scene | None:
    """None where nothing can be foretold: not looked at, a ScaledJob, a manifest that is wrong or could not be read."""
    last = insight.get("last")
    if not manifest or not last or "replicas" not in last or "nextPoll" not in insight["now"]:
        return None
    try:
        spec = AS_WRITTEN.read(dict(manifest))
    except ConfigError:
        return None
    return Scene(spec=spec, windows=_windows(spec), last=last, times=times)


def foretell(scene: Scene) -> Iterator[str]:
    """Sentences: when it sleeps or wakes, what may prevent that, and each window."""
    yield from _direction(scene)
    for window in scene.windows:
        yield f"window {window_words(window)}: {_standing(scene, window)}"


def window_words(window: CronWindow) -> str:
    """ "Mon-Fri 08:30-19:30 Asia/Seoul, 55 h a week"; as it is written where that is too much to be told."""
    return window_in_words(window) or f"from {window.start} to {window.end} {window.timezone}"


def _windows(spec: ScalingSpec) -> list[CronWindow]:
    found = []
    for trigger in spec.triggers:
        if trigger.type == CRON:
            data = trigger.metadata
            try:
                found.append(parse_window(data.get("start", ""), data.get("end", ""), data.get("timezone", "")))
            except ConfigError:
                continue
    return found


def _direction(scene: Scene) -> Iterator[str]:
    spec, count = scene.spec, scene.last["replicas"].get("after")
    if spec.modifiers is not None and spec.modifiers.formula:
        yield "whether it sleeps is decided by its formula at each poll"
    elif spec.force_activation:
        yield f"stays awake while annotation {FORCE_ACTIVATION} is there"
    elif spec.resource_only:
        yield f"does not sleep: {_listed(scene.resources)} alone cannot wake it again"
    elif spec.idle_replicas is None and scene.lowest > 0:
        yield f"does not sleep: minReplicaCount is {scene.lowest}"
    elif count is not None and count > scene.lowest:
        yield from _going_down(scene)
    elif count is not None:
        yield from _coming_up(scene)


def _going_down(scene: Scene) -> Iterator[str]:
    goes = "sleeps" if scene.lowest == 0 else f"goes down to {scene.lowest}"
    failing = [_name(one) for one in scene.polled if "error" in one and "fallback" not in one]
    if scene.spec.pause.scale_in:
        yield "does not sleep: scaling in is paused by annotation"
    elif failing and scene.spec.fallback is None:
        yield f"does not sleep while {_listed(failing)} cannot be read"
    else:
        when = _when_down(scene)
        yield f"{goes} {when}{_unless(scene)}" if when else "does not sleep: a window is always open"
    if scene.resources:
        names = _listed(scene.resources)
        scale, do = ("scales", "does") if len(scene.resources) == 1 else ("scale", "do")
        yield f"{names} {scale} it while it is awake, and {do} not keep it awake"


def _when_down(scene: Scene) -> str:
    """ "" where no end of its windows is in sight."""
    spec, busy = scene.spec, [_name(one) for one in scene.polled if one.get("active") or one.get("fallback")]
    if scene.last["reason"] == Reason.COOLING_DOWN and "cooldownLeftSeconds" in scene.last:
        looked = datetime.fromisoformat(scene.last["time"])
        over = looked + timedelta(seconds=scene.last["cooldownLeftSeconds"])
        opening = _opening(scene.windows, scene.now)
        at = over if opening is None or opening > over else _end_of_windows(scene, opening)
    elif any(is_open(window, scene.now) for window in scene.windows):
        at = _end_of_windows(scene, scene.now)
    else:
        what = f"{_listed(busy)} {_has(busy)} nothing to do" if busy else "there is nothing to do"
        return f"once {what} for {spoken_duration(spec.cooldown)}"
    if at is None:
        return ""
    return f"{scene.times.moment(at)}, in {scene.times.until(at)}"


def _unless(scene: Scene) -> str:
    """The triggers that may keep it awake, where a time was said."""
    names = [_name(one) for one in scene.polled]
    if not names or not (scene.windows or scene.last["reason"] == Reason.COOLING_DOWN):
        return ""
    return f", unless {_listed(names, 'or')} is active"


def _coming_up(scene: Scene) -> Iterator[str]:
    names = [_name(one) for one in scene.polled]
    soon = f"as soon as {_listed(names, 'or')} is active" if names else ""
    opening = _opening(scene.windows, scene.now)
    if scene.spec.pause.scale_out:
        yield "does not wake: scaling out is paused by annotation"
    elif opening is not None:
        also = f", or {soon}" if soon else ""
        yield f"wakes {scene.times.moment(opening)}, in {scene.times.until(opening)}{also}"
    else:
        yield f"wakes {soon}" if soon else "does not wake: no window opens within five years"


def _end_of_windows(scene: Scene, at: datetime) -> datetime | None:
    """When no window has been open for the whole cooldown; None: never, or not to be foretold."""
    for _ in range(STEPS):
        ends = [next_change(window, at) for window in scene.windows if is_open(window, at)]
        if ends:
            known = [end for end in ends if end is not None]
            if not known:
                return None
            at = min(known)
            continue
        over, opening = at + scene.spec.cooldown, _opening(scene.windows, at)
        if opening is None or opening > over:
            return over
        at = opening
    return None


def _opening(windows: Sequence[CronWindow], after: datetime) -> datetime | None:
    """When the first of them, all closed at `after`, opens."""
    found = [at for window in windows if (at := _opening_of(window, after)) is not None]
    return min(found, default=None)


def _opening_of(window: CronWindow, after: datetime) -> datetime | None:
    at = next_change(window, after)
    for _ in range(STEPS):
        if at is None or is_open(window, at):
            return at
        at = next_change(window, at)
    return None


def _standing(scene: Scene, window: CronWindow) -> str:
    if is_open(window, scene.now):
        end = next_change(window, scene.now)
        return "open" if end is None else f"open until {scene.times.spoken(end)}"
    opening = _opening_of(window, scene.now)
    return "closed" if opening is None else f"closed until {scene.times.spoken(opening)}"


def _name(trigger: Fields) -> str:
    return str(trigger.get("name") or trigger["metric"])


def _has(names: Sequence[str]) -> str:
    return "has had" if len(names) == 1 else "have had"


def _listed(names: Sequence[str], word: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
