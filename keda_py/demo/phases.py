"""Phases of an Environment while it is watched: the reason of each change of a member, and phases for the picture."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from keda_py.apis.foreign import list_at, map_at, maps_at, text_at
from keda_py.clock import Clock
from keda_py.core.environment.decision.observation import OUR_MANAGER
from keda_py.demo.picture import Strip, draw
from keda_py.demo.play import Play
from keda_py.demo.timeline import Announcement, Timeline
from keda_py.localkube.store.store import Store
from keda_py.localkube.store.subscriptions import Event
from keda_py.schema.resources import Obj
from keda_py.terminal.times import Times

_SAID = {"Waking": "wakes", "FallingAsleep": "falls asleep", "Awake": "is awake", "Asleep": "is asleep"}
_DOING = {"Waking": "wakes", "FallingAsleep": "falls asleep"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPhase:
    """Phase from one instant to another; `note` names what is out of the ordinary."""

    at: datetime
    until: datetime
    name: str
    because: str = ""
    note: str = ""


class Phases:
    """Recorder of the Environment of that name; with an empty name it records nothing.

    `elsewhere` are workloads of other namespaces, with the reason why they change.
    """

    def __init__(
        self, store: Store, clock: Clock, name: str, zone: ZoneInfo, elsewhere: Mapping[str, str] | None = None
    ) -> None:
        self._clock, self._name, self._zone, self._elsewhere = clock, name, zone, elsewhere or {}
        self._status: Obj = {}
        self._phases: list[WatchedPhase] = []
        self._late: list[str] = []
        self._announcements: list[Announcement] = []
        if name:
            store.listen(self._on_event)

    def until(self, end: datetime) -> list[WatchedPhase]:
        """Return the phases without gaps, from the first one to `end`."""
        ends = [phase.at for phase in self._phases[1:]] + [end]
        return [replace(phase, until=at) for phase, at in zip(self._phases, ends, strict=True) if at > phase.at]

    def reason(self, live: Obj) -> str:
        """Explain the latest change of a workload's count; "" if its Event will explain it."""
        if known := self._elsewhere.get(live["metadata"]["name"]):
            return known
        writer, phase = _writer_of(live), text_at(self._status, "phase")
        if writer and not writer.startswith(OUR_MANAGER):
            return f"put back by {writer}"
        if phase in ("", "Awake"):
            return ""
        text = self._localised(text_at(self._status, "because"))
        wave = live["metadata"].get("labels", {}).get("wave", "")
        if phase not in _DOING or _rests(self._status):
            return f"sent to sleep again: {text}"
        return f"wave {wave} {_DOING[phase]}: {text}"

    def _on_event(self, event: Event) -> None:
        if event.resource.kind != "Environment" or event.name != self._name:
            return
        self._status = map_at(event.object, "status")
        name, because = text_at(self._status, "phase"), text_at(self._status, "because")
        now = self._clock.now()
        phase = WatchedPhase(at=now, until=now, name=name, because=because, note=_note(self._status, self._name))
        last = self._phases[-1] if self._phases else None
        if name and (last is None or (last.name, last.note) != (phase.name, phase.note)):
            self._phases.append(phase)
            self._announce(f"{_phase_sentence(self._status)}: {_why(self._status, phase.note)}")
        late = [str(wave) for wave in list_at(self._status, "transition", "timedOut")]
        for wave in late[len(self._late) :]:
            self._announce(f"does not wait for wave {wave} any longer: it was not ready in time")
        self._late = late

    def _announce(self, text: str) -> None:
        self._announcements.append(Announcement(at=self._clock.now(), name=self._name, text=self._localised(text)))

    def _localised(self, text: str) -> str:
        return Times(now=self._clock.now(), zone=self._zone, reader=self._zone).localised(text)

    def take(self) -> list[Announcement]:
        """Return the sentences since the last call."""
        taken, self._announcements = self._announcements, []
        return taken


def _writer_of(live: Obj) -> str:
    """Return the field manager that wrote the count last."""
    entries = maps_at(live["metadata"], "managedFields")
    found = [entry for entry in entries if "f:replicas" in map_at(entry, "fieldsV1", "f:spec")]
    return max(((text_at(one, "time"), text_at(one, "manager")) for one in found), default=("", ""))[1]


def _rests(status: Obj) -> bool:
    """Whether its waves are over while a member is still up."""
    return text_at(status, "phase") == "FallingAsleep" and not map_at(status, "transition")


def _phase_sentence(status: Obj) -> str:
    if _rests(status):
        return f"is asleep, {status.get('membersUp', 0)} still up"
    phase = text_at(status, "phase")
    return _SAID.get(phase, phase)


def _why(status: Obj, note: str) -> str:
    """Explain the phase: who contests a count, and while awake, which members are not ready."""
    because = text_at(status, "because")
    conditions = {text_at(condition, "type"): condition for condition in maps_at(status, "conditions")}
    if note == "contested":
        return f"{because}; {text_at(conditions.get('Contested'), 'message')}"
    ready = conditions.get("Ready")
    if text_at(status, "phase") == "Awake" and text_at(ready, "status") == "False":
        return f"{because}; {text_at(ready, 'message')}"
    return because


def _note(status: Obj, name: str) -> str:
    contested = [condition for condition in maps_at(status, "conditions") if condition.get("type") == "Contested"]
    if any(one.get("status") == "True" for one in contested):
        return "contested"
    if text_at(status, "override", "request"):
        return "request"
    if text_at(status, "override", "name"):
        return "override"
    return "holiday" if "holiday" in text_at(status, "because").lower() else ""


# The picture of an environment: one lane of all its replicas, and over it its phases and what was out of the ordinary.
#
# Pure.

COLOURS = {"Asleep": "#8c959f", "Waking": "#d4a72c", "Awake": "#4a9d6e", "FallingAsleep": "#bc6c25"}
NOTES = {"override": "kept awake", "request": "woken by a request", "contested": "a count was put back"}


def draw_environment(timeline: Timeline, phases: Sequence[WatchedPhase], play: Play) -> str:
    """Draw the picture as SVG text."""
    members = timeline.without(play.elsewhere)
    together = members.together(play.environment)
    strips, replicas = list(_strips(phases)), play.replicas * len(play.names)
    return draw(together, [play.environment], play.zone, title=play.title, replicas=replicas, strips=strips)


def _strips(phases: Sequence[WatchedPhase]) -> Iterator[Strip]:
    last_note = ""
    for phase in phases:
        text = NOTES.get(phase.note, phase.because) if phase.note and phase.note != last_note else ""
        last_note = phase.note
        title = f"{phase.name}: {phase.because}"
        yield Strip(at=phase.at, until=phase.until, colour=COLOURS[phase.name], title=title, text=text)
