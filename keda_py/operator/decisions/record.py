"""The decision record: why each object was scaled or not, and what comes next; in memory, bounded.

Both scale loops note every decision here, as an entry that `entry_of` of their kind makes; `explain/insight.py` serves
what was noted. Kept are the last changes of reason of each object, as they are served, and what its last look saw.
Nothing here is needed for scaling: after a restart it begins anew, and what was before is told from `history.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import isfinite

import orjson

from keda_py.core.decision import Reason
from keda_py.core.jobs.decision import JobReason
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.times import write_time
from keda_py.operator.decisions.changes import Changes

Fields = Mapping[str, object]

OBJECT_ENTRIES = 50
ALL_ENTRIES = 20_000
LONGEST = 4096
MOST_TRIGGERS, CUT = 10, 120
"""Bytes of one as it is served; of a longer one the first triggers are kept, and so many characters of each text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerNote:
    """What one trigger said: a value, or why it has none. `failures` in a row, of triggers with a fallback."""

    metric: str
    name: str = ""
    value: float | None = None
    error: str = ""
    active: bool = False
    in_fallback: bool = False
    failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """Unfinished Jobs before a look, those of them that no pod works for yet, and what the look added."""

    running: int
    pending: int
    created: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One decision. `formula` is scalingModifiers' result; `after` differs from `before` where we scaled.

    A ScaledObject has `before` and `after`, None where they could not be read; a ScaledJob has `jobs`.

    `cooldown_left` None: nothing is cooling down. `next_change` is known in advance: a schedule's boundary, or the end
    of the cooldown. `notes` say why a value is not what its source said.

    `because` says why the count was changed; `ruled`: an Environment, Override or ScalingSchedule asked for it.
    """

    at: datetime
    reason: Reason | JobReason
    triggers: tuple[TriggerNote, ...] = ()
    formula: float | None = None
    before: int | None = None
    after: int | None = None
    error: str = ""
    cooldown_left: timedelta | None = None
    next_change: datetime | None = None
    notes: tuple[str, ...] = ()
    jobs: JobCounts | None = None
    because: str = ""
    ruled: bool = False

    @property
    def scaled(self) -> bool:
        """Whether something was changed."""
        return self.before != self.after or (self.jobs is not None and self.jobs.created > 0)


class DecisionRecord:
    """The entries of all objects, the oldest of all dropped first."""

    def __init__(self, object_entries: int = OBJECT_ENTRIES, all_entries: int = ALL_ENTRIES) -> None:
        self._changes = Changes(object_entries, all_entries)
        self._last: dict[ObjectKey, Entry] = {}
        self._confirmed: dict[ObjectKey, datetime] = {}

    def note(self, key: ObjectKey, entry: Entry) -> bool:
        """Remember a decision: as the last one, and for longer where its reason differs from the one before: True."""
        before = self._last.get(key)
        self._last[key] = entry
        self._confirmed.pop(key, None)
        if before is not None and before.reason == entry.reason and not entry.scaled:
            return False
        self._changes.add(key, _text_of(entry))
        return True

    def confirm(self, key: ObjectKey, at: datetime) -> None:
        """A look that saw and decided the same as the one before."""
        self._confirmed[key] = at

    def last(self, key: ObjectKey) -> Entry | None:
        """What the last look saw and decided."""
        last, at = self._last.get(key), self._confirmed.get(key)
        return last if last is None or at is None else replace(last, at=at)

    def changes(self, key: ObjectKey) -> Sequence[Fields]:
        """Changes of reason, and everything that scaled, oldest first."""
        return self._changes.of(key)

    def forget(self, key: ObjectKey) -> None:
        """An object is gone."""
        self._last.pop(key, None)
        self._confirmed.pop(key, None)
        self._changes.forget(key)

    def __len__(self) -> int:
        return len(self._changes)


def _text_of(entry: Entry) -> bytes:
    text = orjson.dumps(describe(entry))
    return text if len(text) <= LONGEST else orjson.dumps(describe(_shortened(entry)))


def _shortened(entry: Entry) -> Entry:
    first = (replace(note, metric=note.metric[:CUT], error=note.error[:CUT]) for note in entry.triggers[:MOST_TRIGGERS])
    notes = tuple(note[:CUT] for note in entry.notes[:MOST_TRIGGERS])
    return replace(entry, triggers=tuple(first), error=entry.error[:CUT], notes=notes, because=entry.because[:CUT])


def describe(entry: Entry) -> Fields:
    """Times are UTC, durations seconds; absent is unknown or does not apply."""
    return present(
        {
            "time": write_time(entry.at),
            "reason": entry.reason.value,
            "triggers": [present(dict(_trigger_fields(trigger))) for trigger in entry.triggers],
            "formula": entry.formula,
            **(_job_fields(entry.jobs) if entry.jobs else _replica_fields(entry)),
            "because": entry.because or None,
            "ruled": entry.ruled or None,
            "error": entry.error or None,
            "cooldownLeftSeconds": _seconds(entry.cooldown_left),
            "nextChange": _time(entry.next_change),
            "notes": list(entry.notes) or None,
        }
    )


def _replica_fields(entry: Entry) -> Fields:
    return {"replicas": present({"before": entry.before, "after": entry.after})}


def _job_fields(counts: JobCounts) -> Fields:
    fields = {"running": counts.running, "pending": counts.pending, "created": counts.created}
    return {"jobs": fields | ({"refused": counts.refused} if counts.refused else {})}


def _trigger_fields(trigger: TriggerNote) -> Iterator[tuple[str, object]]:
    yield "metric", trigger.metric
    yield "name", trigger.name or None
    yield "value", trigger.value if trigger.value is not None and isfinite(trigger.value) else None
    yield "error", trigger.error or None
    yield "active", trigger.active
    yield "fallback", trigger.in_fallback or None
    yield "failures", trigger.failures or None


def present(fields: Fields) -> Fields:
    """Without what is None."""
    return {name: value for name, value in fields.items() if value is not None}


def _time(at: datetime | None) -> str | None:
    return write_time(at) if at else None


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else round(duration.total_seconds(), 3)
